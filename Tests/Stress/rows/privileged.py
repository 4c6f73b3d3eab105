"""What only root can try: a set-uid program goes by the user database, whatever the environment says, and what an
administrator has set in /etc is found by a store's name."""
import os
import plistlib
import pwd
import shutil
import subprocess

from rows.proofs import Broken


# proves: G74
def prove(proofs, folder):
    if os.geteuid() != 0:
        return "NOT RUN: only root can make another user's set-uid program"
    user = pwd.getpwnam("nobody")
    program = f"{folder}/program"
    shutil.copy(proofs.helper, program)
    os.chmod(folder, 0o755)
    environment = {**os.environ, "XDG_CONFIG_HOME": folder + "/evil", "HOME": folder + "/home"}
    said = {}
    for mode in (0o755, 0o4755):
        os.chown(program, user.pw_uid, user.pw_gid)
        os.chmod(program, mode)
        result = subprocess.run([program, "where", "com.example.app"], env=environment, text=True,
                                stdout=subprocess.PIPE)
        said[mode] = result.stdout.split()
    if said[0o755] != ["0", folder + "/evil/com.example.app.plist"]:
        raise Broken(f"an ordinary program opens {said[0o755]}")
    if said[0o4755][:1] == ["0"]:
        return "NOT RUN: set-uid programs have no effect on this file system"
    if said[0o4755] != ["1", user.pw_dir + "/.config/com.example.app.plist"]:
        raise Broken(f"a set-uid program opens {said[0o4755]}")
    managed(proofs, folder)
    mounted(proofs, folder)
    return "by XDG_CONFIG_HOME without the bit, by the user database with it; a managed file by its name; a mounted file"


# proves: G47
def managed(proofs, folder):
    """In a namespace of its own, whose /etc holds nothing else."""
    for name, value in (("theirs", 1), ("own", 2)):
        with open(f"{folder}/{name}.plist", "wb") as file:
            plistlib.dump({"key": value}, file)
    for mode, said in (("0644", "1 2"), ("0646", "what everybody may write")):
        script = ("mount -t tmpfs none /etc && mkdir -p /etc/kvcodable/managed && "
                  f"install -m {mode} \"$0/theirs.plist\" /etc/kvcodable/managed/com.example.app.plist && "
                  "exec \"$1\" managed com.example.app \"$0/own.plist\"")
        result = subprocess.run(["unshare", "-m", "sh", "-c", script, folder, proofs.helper], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env={**os.environ, "XDG_CONFIG_HOME": folder + "/config"})
        if said not in result.stdout:
            raise Broken(f"found {result.stdout}{result.stderr} of a file with mode {mode}")


def mounted(proofs, folder):
    """A file that is a mount point is read, and says of a set that it cannot be replaced."""
    path = f"{folder}/mounted.plist"
    for steps, outcome in (("", "ok 1"), ('mount --bind "$0" "$0" && ', "error 1 holds 0 Optional(DefaultsStorage.DefaultsError.Code.readOnly)")):
        with open(path, "wb") as file:
            plistlib.dump({"key": 1}, file)
        result = subprocess.run(["unshare", "-m", "sh", "-c", steps + 'exec "$1" attempt "$0" 1', path, proofs.helper],
                                text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with open(path, "rb") as file:
            found = plistlib.load(file)
        if result.stdout.split("\n")[0] != outcome or result.stderr or (len(found) == 1) != bool(steps):
            raise Broken(f"{steps}: {result.stdout}{result.stderr}, {found}")
