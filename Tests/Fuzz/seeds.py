"""Writes the seeds of a fuzz target: the vectors' inputs, and the files of the corpus where there is one."""
import glob
import hashlib
import json
import os
import sys

target, folder = sys.argv[1:]
LARGEST = 16 * 1024


def seeds():
    for path in sorted(glob.glob("Tests/Vectors/*.json")):
        with open(path, encoding="utf-8") as file:
            for row in json.load(file).get("rows", []):
                if "hex" in row:
                    yield bytes.fromhex(row["hex"])
                elif "text" in row:
                    yield row["text"].encode("utf-8")
    for path in sorted(glob.glob("Tests/Data/Commented/*")):
        with open(path, "rb") as file:
            yield file.read()
    corpus = os.environ.get("KVCODABLE_CORPUS")
    for path in sorted(glob.glob(f"{corpus}/*/*/*")) if corpus else []:
        with open(path, "rb") as file:
            yield file.read()


def belongs(data):
    is_binary = data.startswith(b"bplist")
    is_xml = data.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"<")
    return {
        "binary": is_binary,
        "xml": is_xml or data[:2] in (b"\xfe\xff", b"\xff\xfe"),
        "json": not is_binary and not is_xml,
        "openStep": not is_binary,
        "archive": b"archiver" in data,
        "roundTrip": len(data) < 1024,
    }[target]


for data in seeds():
    if len(data) <= LARGEST and belongs(data):
        with open(os.path.join(folder, hashlib.sha1(data).hexdigest()), "wb") as file:
            file.write(data)
