"""Each error of the system is reported as what it is, and leaves the old file or the new one."""
from rows.faults import count_calls, fault
from rows.proofs import Broken

CODES = {"ENOSPC": (28, "noSpace"), "EDQUOT": (122, "noSpace"), "EFBIG": (27, "noSpace"), "EROFS": (30, "readOnly"),
         "EMFILE": (24, "io"), "EIO": (5, "io"), "EACCES": (13, "accessDenied")}


def prove(proofs, folder):
    total = count_calls(proofs, f"{folder}/count", "plist")
    seen = 0
    for name, (number, code) in CODES.items():
        codes = set()
        for index in range(1, total + 1, proofs.size(3, 1)):
            lines = fault(proofs, f"{folder}/plist", "plist", index, f"{index}:{number}:once", name)
            codes |= {line.rstrip(")").rsplit(".", 1)[1] for line in lines if line.startswith("error ") and "." in line}
            seen += 1
        if codes != {code}:
            raise Broken(f"{name} was reported as {sorted(codes)}")
    return f"{len(CODES)} errors, {seen} runs"
