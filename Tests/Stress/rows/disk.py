"""On a full disk the old file stays whole, the error says so, and there is life after it."""
import os
import subprocess

from rows.proofs import ENGINES, Broken, read_store


# proves: G4, G7
def prove(proofs, folder):
    mount = folder + "/small"
    os.makedirs(mount)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "none", mount], stderr=subprocess.PIPE).returncode:
        return "NOT RUN: no right to mount a small file system"
    try:
        for engine in ENGINES:
            result = proofs.run("fill", f"{mount}/store.{engine}", f"{mount}/filler")
            if engine == "sqlite":  # its file may grow while it stays whole
                lines = [line for line in result.stdout.splitlines() if line not in ("whole", "damaged")]
                expected = ["full", "not kept", "works"]
            else:
                lines, expected = result.stdout.split("\n")[:-1], ["full", "not kept", "whole", "works"]
            if lines != expected:
                raise Broken(f"{engine}: {result.stdout} {result.stderr}")
            if read_store(f"{mount}/store.{engine}")["number"] != 2:
                raise Broken(f"{engine}: not written when there was room again")
            result = proofs.run("retry", f"{mount}/store.{engine}", f"{mount}/filler")
            if result.stdout != "patient\n":
                raise Broken(f"{engine}: {result.stdout} {result.stderr}")
            if read_store(f"{mount}/store.{engine}")["number"] != 59:
                raise Broken(f"{engine}: what was kept was not written at exit")
    finally:
        subprocess.run(["umount", mount], check=True)
    return "both engines"
