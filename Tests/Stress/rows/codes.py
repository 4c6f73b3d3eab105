"""Each error of the system is reported as what it is, and leaves the old file or the new one."""
from rows.faults import count_calls, fault
from rows.proofs import Broken

CODES = {"ENOSPC": (28, "noSpace"), "EDQUOT": (122, "noSpace"), "EFBIG": (27, "noSpace"), "EROFS": (30, "readOnly"),
         "EMFILE": (24, "io"), "EIO": (5, "io"), "EACCES": (13, "accessDenied")}


# proves: G41
def prove(proofs, folder):
    calls = count_calls(proofs, f"{folder}/count", "plist")
    told = runs = 0
    kinds = set()
    for name, (number, code) in CODES.items():
        for index, (_, call, file) in enumerate(calls, 1):
            lines, told_at = fault(proofs, f"{folder}/plist", "plist", index, f"{index}:{number}:once", name)
            runs += 1
            if told_at is not None:
                told += 1
                kinds.add(call)
            # The folder's, behind the rename: the new file is there.
            expected = "outcomeUnknown" if call == "sync" and not file.endswith(".tmp") else code
            for line in lines:
                if line.startswith("error ") and line.rstrip(")").rsplit(".", 1)[-1] != expected:
                    raise Broken(f"{name} of {call}, call {index}, was reported as {line!r}")
    if kinds != {"open", "write", "sync", "rename", "close", "lock"}:
        raise Broken(f"only {sorted(kinds)} were made to fail")
    return f"{len(CODES)} errors, {runs} runs, {told} of them with an error that had to be told"
