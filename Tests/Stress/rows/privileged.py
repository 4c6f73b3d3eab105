"""A set-uid program goes by the user database, whatever the environment says."""
import os
import pwd
import shutil
import subprocess

from rows.proofs import Broken


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
    return "by XDG_CONFIG_HOME without the bit, by the user database with it"
