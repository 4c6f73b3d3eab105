"""Whatever has the file's name: no crash, and nothing of it is overwritten unread."""
import glob
import os
import pathlib
import plistlib
import subprocess

from rows.proofs import Broken


# proves: G29
def prove(proofs, folder):
    contents = [os.urandom(n) for n in (1, 7, 8, 40, 500)] + [b"\0" * 64, b"bplist00" + b"\xff" * 60, b"<plist>", b"{"]
    seeds = [plistlib.dumps({"a": [1, 2.5, "x", b"y"], "b": {"c": True}}, fmt=form)
             for form in (plistlib.FMT_XML, plistlib.FMT_BINARY)]
    corpus = os.environ.get("KVCODABLE_CORPUS")
    if corpus:
        for path in pathlib.Path(corpus).rglob("*"):
            if path.is_file() and path.stat().st_size < 300_000:
                contents.append(path.read_bytes())
    for _ in range(proofs.size(300, 5000)):
        data = bytearray(proofs.random.choice(seeds))
        for _ in range(proofs.random.randint(1, 6)):
            data[proofs.random.randrange(len(data))] = proofs.random.randrange(256)
        contents.append(bytes(data[: proofs.random.randint(1, len(data))] if proofs.random.random() < 0.3 else data))
    paths = []
    for number, data in enumerate(contents):
        os.makedirs(f"{folder}/{number}")
        paths.append(f"{folder}/{number}/store.plist")
        pathlib.Path(paths[-1]).write_bytes(data)
        os.utime(paths[-1], (1, 1))
    result = subprocess.run([proofs.helper, "visit"], input="\n".join(paths), stdout=subprocess.PIPE, text=True)
    answers = result.stdout.split("\n")[:-1]
    if result.returncode or len(answers) != len(paths):
        raise Broken(f"crashed at {contents[len(answers)][:80]!r}")
    for path, data, answer in zip(paths, contents, answers):
        check_hostile(proofs, path, data, answer)
    return f"{len(contents)} files" + ("" if corpus else ", NOT the corpus: KVCODABLE_CORPUS is not set")


def check_hostile(proofs, path, data, answer):
    kept = [pathlib.Path(p).read_bytes() for p in glob.glob(os.path.dirname(path) + "/*")]
    if answer.startswith("error"):
        if data not in kept:
            raise Broken(f"{data[:80]!r} was refused and is gone")
    elif int(answer.split()[1]) == 0 and data not in kept:
        raise Broken(f"{data[:80]!r} was taken for an empty store and is gone")
