"""On a network file system the SQLite engine says that it cannot, and makes nothing; a property list works."""
import os

from rows.proofs import Broken

TYPES = {"NFS": 0x6969, "SMB": 0x517B, "CIFS": 0xFF534D42, "SMB2": 0xFE534D42, "AFS": 0x5346414F, "Ceph": 0x00C36400,
         "9P": 0x01021997, "FUSE": 0x65735546}
EXPECTED = "error unavailable: SQLite cannot share a file on a network file system"


# proves: G70
def prove(proofs, folder):
    refuse = proofs.compiled("refuse.c")
    for name, number in {**TYPES, "ext4": 0xEF53}.items():
        for engine in ("plist", "sqlite"):
            inner = f"{folder}/{name}-{engine}"
            os.makedirs(inner)
            said = proofs.run("probe", f"{inner}/store.{engine}", LD_PRELOAD=refuse, REFUSE="statfs",
                              REFUSE_TYPE=hex(number)).stdout
            if engine == "sqlite" and name in TYPES:
                if not said.startswith(EXPECTED) or os.listdir(inner):
                    raise Broken(f"{name}: {said}, {os.listdir(inner)}")
            elif said != "open 0\nset\n":
                raise Broken(f"{name}, {engine}: {said}")
    return ", ".join(TYPES)
