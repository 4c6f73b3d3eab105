#!/usr/bin/env python3
"""Makes the packages, and uses them in a clean Debian that has no Swift: installed, upgraded and removed by dpkg. Prints
TAP. That Debian comes from the mirror of this machine's apt, and is kept in build/debian."""
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from examples import snippets
from tap import ROOT, check, environment, finish, run, skip, version

DIST = ROOT / "build/dist"
PACKAGES = ["kvdefaults", "kvdefaults-page", "libkvcodable-dev", "libkvcodable1", "lua-kvcodable"]
LUAS = ["lua5.1", "lua5.2", "lua5.3", "lua5.4", "luajit"]
# Beside the smallest Debian: what runs the README's snippets.
TOOLS = LUAS + ["g++", "gcc", "libc6-dev", "pkg-config", "cmake", "make", "libsqlite3-0"]
# What dpkg itself keeps, whatever is installed.
KEPT = ("/var/lib/dpkg/", "/var/log/", "/var/cache/", "/etc/ld.so.cache", "/home/", "/proc/", "/dev/")

CMAKE = """cmake_minimum_required(VERSION 3.13)
project(minute LANGUAGES C CXX)
find_package(kvcodable %s REQUIRED)
add_executable(c minute.c)
target_link_libraries(c kvcodable::kvcodable)
add_executable(cpp minute.cpp)
set_target_properties(cpp PROPERTIES CXX_STANDARD 17)
target_link_libraries(cpp kvcodable::kvcodable)
"""


def minute(language):
    """The README's snippet, the very text."""
    return next(code for name, code in snippets(language) if name.startswith("README.md: "))


# ---- A clean Debian


def mirror():
    """The release and the mirror that this machine's apt has for its own Debian."""
    release = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    name, codename = release["ID"].strip('"'), release["VERSION_CODENAME"].strip('"')
    _, targets = run("apt-get", "indextargets", "--format", "$(ORIGIN) $(RELEASE) $(COMPONENT) $(REPO_URI)",
                     "Created-By: Packages")
    uris = [line.split()[3] for line in targets.splitlines()
            if line.lower().startswith(f"{name} {codename} main ")]
    return codename, uris[0] if uris else None


def clean_debian():
    """The folder of the clean Debian, made once for a release and a list of tools."""
    codename, uri = mirror()
    folder, wanted = ROOT / "build/debian", f"{codename} {uri} {' '.join(TOOLS)}\n"
    noted = folder / "made"
    if noted.exists() and noted.read_text() == wanted:
        return folder / "root"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    good, output = run("mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(TOOLS)}",
                       codename, folder / "root", uri or "no-mirror-in-apt")
    if check(good, f"a clean Debian {codename} is made", output):
        noted.write_text(wanted)
    return folder / "root"


class Root:
    """A copy of the clean Debian, and commands in it."""

    def __init__(self, clean, folder):
        self.folder = folder / "root"
        subprocess.run(["cp", "-a", "--reflink=auto", clean, self.folder], check=True)
        home = self.folder / "home/user"
        home.mkdir(parents=True)
        os.chown(home, 1000, 1000)

    def run(self, *command, user="1000:1000", **variables):
        """A command as a user who has nothing but a home; with /proc, which Swift has a program's arguments from."""
        given = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/home/user", "LC_ALL": "C.UTF-8", **variables}
        enter = f'mount -t proc proc "$0/proc" && exec chroot --userspec={user} "$0" env -C /home/user "$@"'
        return run("unshare", "--mount", "sh", "-c", enter, self.folder, *command, env=given)

    def dpkg(self, *arguments):
        return self.run("dpkg", *arguments, user="0:0", DEBIAN_FRONTEND="noninteractive")

    def write(self, name, text):
        file = self.folder / "home/user" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def take(self, *files):
        """The names inside of files that are copied into it."""
        (self.folder / "packages").mkdir(exist_ok=True)
        for file in files:
            shutil.copy(file, self.folder / "packages")
        return [f"/packages/{file.name}" for file in files]

    def listing(self):
        names = (f"/{path.relative_to(self.folder)}" for path in self.folder.rglob("*"))
        return {name for name in names if not name.startswith((*KEPT, "/packages"))}


# ---- The packages


def made():
    good, output = run("make", "-s", "dist", cwd=ROOT)
    files = sorted(DIST.glob("*.deb"))
    names = [path.name.split("_")[0] for path in files]
    check(good and sorted(names) == PACKAGES, "make dist makes the packages", output)
    archives = list(DIST.glob(f"kvcodable-{version()}*-linux-*.tar.gz"))
    check(len(archives) == 1 and len(list(DIST.glob("*.tar.*"))) == 1, "and the tarball", output)
    return files, archives[0] if archives else DIST / "none"


def the_same_twice():
    def digests():
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in DIST.iterdir()
                if path.suffix in (".deb", ".gz")}

    first, old = digests(), os.umask(0o077)
    try:
        good, output = run(ROOT / "tools/dist.sh", env=environment(TZ="Asia/Tokyo", LC_ALL="C.UTF-8"))
    finally:
        os.umask(old)
    second = digests()
    check(good and first == second and first, "what is packaged twice is the same twice",
          output + "\n".join(name for name in first if first[name] != second.get(name)))


def older(files, folder):
    """Packages as an earlier version would have had them: with another version, and another name of the library."""
    names = []
    (folder / "older").mkdir()
    for file in files:
        tree = folder / "older" / file.name
        run("dpkg-deb", "--raw-extract", file, tree)
        control = tree / "DEBIAN/control"
        text = re.sub(r"(?m)^Version: .*$", "Version: 0.1.0-1", control.read_text())
        control.write_text(re.sub(r"([(]>?= )[^)]*([)])", lambda found: f"{found[1]}0.1.0-1{found[2]}"
                                  if version() in found[0] else found[0], text))
        for library in tree.rglob(f"*.so.{version()}"):
            library.rename(library.with_name(library.name.replace(version(), "0.1.0")))
        for link in tree.rglob("*.so*"):
            if link.is_symlink() and version() in os.readlink(link):
                target = os.readlink(link).replace(version(), "0.1.0")
                link.unlink()
                link.symlink_to(target)
        names.append(folder / f"{file.name.split('_')[0]}_0.1.0-1.deb")
        run("dpkg-deb", "--root-owner-group", "-Znone", "--build", tree, names[-1])
    return names


def control(files):
    """What dpkg, apt and people read of a package."""
    for file in files:
        name = file.name.split("_")[0]
        _, depends = run("dpkg-deb", "--field", file, "Depends")
        if name != "libkvcodable-dev":
            check("libc6 (>= " in depends, f"{name} depends on the C library that it needs", depends)
        _, contents = run("dpkg-deb", "--contents", file)
        lines = [line for line in contents.splitlines() if " root/root " not in line]
        check(not lines and f"usr/share/doc/{name}/copyright" in contents, f"{name} is root's, with its licence",
              contents)
    _, recommends = run("dpkg-deb", "--field", DIST / next(file.name for file in files if "kvdefaults_" in file.name),
                        "Recommends")
    check("kvdefaults-page" in recommends.strip().split(", "), "the command line recommends the settings page", recommends)
    _, provides = run("dpkg-deb", "--field", DIST / next(file.name for file in files if "lua-" in file.name), "Provides")
    check(all(f"lua{number}-kvcodable" in provides for number in ("5.1", "5.2", "5.3", "5.4")),
          "the module is there for each Lua", provides)


# ---- Their use


def lua(root, folder="", **variables):
    code = minute("lua")
    root.write("minute.lua", code)
    promised = re.findall(r"--> (.*)$", code, flags=re.M)
    for program in LUAS:
        shutil.rmtree(root.folder / "home/user/.config", ignore_errors=True)
        number = "5.1" if program == "luajit" else program.removeprefix("lua")
        given = {name: value.replace("VERSION", number) for name, value in variables.items()}
        good, output = root.run(program, "minute.lua", **given)
        check(good and output.splitlines() == promised and promised,
              f"the README's minute runs in {program}{folder}", output)


def c(root):
    root.write("minute.c", minute("c"))
    good, output = root.run("sh", "-c", "gcc -Wall -Werror minute.c $(pkg-config --cflags --libs kvcodable) -o minute")
    check(good, "the README's C builds by pkg-config", output)
    good, output = root.run("./minute")
    check(good, "and runs", output)


def cmake(root):
    root.write("minute.c", minute("c"))
    root.write("minute.cpp", minute("cpp"))
    root.write("CMakeLists.txt", CMAKE % version())
    good, output = root.run("sh", "-c", "cmake -S . -B build && cmake --build build")
    check(good, "the README's C and C++ build by find_package(kvcodable)", output)
    for name in ("c", "cpp"):
        good, output = root.run(f"build/{name}")
        check(good, f"and its {name} runs", output)


def command_line(root, program="kvdefaults"):
    for words, wanted in (("set com.example.dist volume 3 window.width 800", ""), ("get com.example.dist volume", "3\n"),
                          ("get com.example.dist window", '{\n  "width": 800\n}\n'),
                          ("copy com.example.dist ./copy.sqlite", ""), ("get ./copy.sqlite volume", "3\n")):
        good, output = root.run(program, *words.split())
        check(good and output == wanted, f"{program} {words}", output)
    root.write(".local/share/kvcodable/types/com.example.dist.kvtypes", "root S\nstruct S { volume: Int = 7 }\n")
    good, output = root.run("sh", "-c", f"timeout 5 {program} page com.example.dist </dev/null")
    check(re.match(r"http://127\.0\.0\.1:\d+/\w{64}/\?token=\w+\n", output), f"{program} page serves the settings page", output)


def tarball(root, archive):
    """The tarball where no package is, unpacked into a folder of its own."""
    root.take(archive)
    good, output = root.run("sh", "-c", f"mkdir /opt/kvcodable && tar -C /opt/kvcodable --strip-components=1 -xf "
                            f"/packages/{archive.name}", user="0:0")
    check(good, "the tarball is unpacked", output)
    lua(root, " from the tarball", LUA_CPATH="/opt/kvcodable/lib/lua/VERSION/?.so")
    command_line(root, "/opt/kvcodable/bin/kvdefaults")
    root.write("minute.c", minute("c"))
    good, output = root.run("sh", "-c", "gcc minute.c $(pkg-config --define-prefix --cflags --libs kvcodable) -o minute "
                            "-Wl,-rpath,/opt/kvcodable/lib && ./minute",
                            PKG_CONFIG_PATH="/opt/kvcodable/lib/pkgconfig")
    check(good, "the README's C builds with the tarball, and runs", output)


# proves: G108
def installed(root, files, old):
    """Installed over an earlier version, used, removed: nothing is left, and nothing is wrong on the way."""
    before = root.listing()
    swift = [name for name in before if re.search(r"/(swiftc?|libswift[^/]*)$", name)]
    check(not swift, "the clean Debian has no Swift", "\n".join(swift))
    good, output = root.dpkg("--install", *root.take(*old))
    check(good, "dpkg installs an earlier version", output)
    good, output = root.dpkg("--install", *root.take(*files))
    check(good, "and upgrades to this one", output)
    _, output = root.dpkg("--audit")
    check(not output, "with nothing left to do", output)
    good, output = root.dpkg("--verify", *PACKAGES)
    check(good and not output, "every file is as it was packaged", output)
    left = [name for name in root.listing() if "kvcodable" in name and "0.1.0" in name]
    check(not left, "nothing is left of the earlier version", "\n".join(left))
    lua(root)
    c(root)
    cmake(root)
    command_line(root)
    documented(root)
    removed(root, before)


def documented(root):
    """The manual and the completions are where the system looks for them, as the shells of this machine say."""
    _, output = root.dpkg("--listfiles", "kvdefaults")
    files = output.splitlines()
    check("/usr/share/man/man1/kvdefaults.1.gz" in files, "the manual is installed", output)
    _, folders = run("zsh", "-fc", "print -l $fpath")
    check(any(f"{folder}/_kvdefaults" in files for folder in folders.splitlines()), "zsh finds its completion", folders)
    check("/usr/share/bash-completion/completions/kvdefaults" in files, "and bash has its own", output)


def removed(root, before):
    kept = root.folder / "home/user/.config/com.example.dist.plist"
    good, output = root.dpkg("--remove", "kvdefaults-page")
    check(good, "the settings page is removed alone", output)
    good, output = root.run("kvdefaults", "page", "com.example.dist")
    check(not good and output == "kvdefaults: There is no program kvdefaults-page in /usr/bin or /usr/libexec; install the "
          "package kvdefaults-page, or make page and make install-page\n", "and kvdefaults page names its package", output)
    good, output = root.dpkg("--remove", "libkvcodable1")
    check(not good and "dependency problems" in output, "the library stays while others need it", output)
    good, output = root.dpkg("--remove", *PACKAGES)
    check(good, "dpkg removes them", output)
    _, output = root.dpkg("--purge", *PACKAGES)
    after = root.listing()
    check(after == before, "and nothing of them is left", "\n".join(sorted(after ^ before)) + output)
    check(kept.exists(), "but the settings of users")
    good, output = root.run("lua5.4", "minute.lua")
    check(not good and "module 'kvcodable' not found" in output, "the module is gone", output)


def main():
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    try:
        files, archive = made()
        the_same_twice()
        control(files)
        if os.geteuid() == 0:
            root = Root(clean_debian(), folder)
            installed(root, files, older(files, folder))
            tarball(root, archive)
        else:
            skip("installing them into a clean Debian needs root")
    finally:
        shutil.rmtree(folder)
    finish()


if __name__ == "__main__":
    main()
