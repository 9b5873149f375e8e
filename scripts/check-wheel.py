"""Checks that a wheel runs on the systems of its platform tag. Examines all machine code in it, including
programs.

    scripts/check-wheel.py WHEEL

Needs auditwheel, in the version of python/requirements-dist.txt.

"""

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from elftools.elf.elffile import ELFFile

# Libraries that every system with Python has.
SYSTEM = {"ld-linux-x86-64.so.2", "libc.so.6", "libdl.so.2", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0",
          "librt.so.1"}
GLIBC = re.compile(r"^GLIBC_(\d+)\.(\d+)")
#: The newest C library that a wheel may need: that of Red Hat Enterprise Linux 9 and Ubuntu 22.04.
PROMISED = (2, 34)
TAG = re.compile(r"manylinux_(\d+)_(\d+)_")


def needs(file):
    """The libraries that a file is linked with, and the newest version of the C library that it requires."""
    elf = ELFFile(file)
    libraries, newest = set(), (0, 0)
    dynamic = elf.get_section_by_name(".dynamic")
    if dynamic is not None:
        libraries = {tag.needed for tag in dynamic.iter_tags("DT_NEEDED")}
    versions = elf.get_section_by_name(".gnu.version_r")
    if versions is not None:
        for _, wanted in versions.iter_versions():
            for version in wanted:
                if found := GLIBC.match(version.name):
                    newest = max(newest, tuple(map(int, found.groups())))
    return libraries, newest


def dots(version):
    """A version in the usual notation."""
    return ".".join(map(str, version))


def main(path):
    tags = [tuple(map(int, tag)) for tag in TAG.findall(path.name)]
    if not tags:
        return [f"{path.name} has no manylinux tag"]
    oldest = min(tags)
    wrong, files = [], 0
    if oldest > PROMISED:
        wrong.append(f"{path.name} needs version {dots(oldest)} of the C library, but may need at most "
                     f"{dots(PROMISED)}")
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(path) as wheel:
        for name in wheel.namelist():
            if wheel.read(name)[:4] != b"\x7fELF":
                continue
            files += 1
            with open(wheel.extract(name, folder), "rb") as file:
                libraries, newest = needs(file)
            if newest > oldest:
                wrong.append(f"{name} needs version {dots(newest)} of the C library, but the tag names "
                             f"{dots(oldest)}")
            if extra := libraries - SYSTEM:
                wrong.append(f"{name} is linked with {', '.join(sorted(extra))}")
    if files == 0:
        wrong.append("the wheel contains no machine code")
    shown = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", path], capture_output=True, text=True, check=False
    )
    said = " ".join((shown.stdout + shown.stderr).split())
    found = re.search(r'tag: "manylinux_(\d+)_(\d+)_', said)
    if found is None or tuple(map(int, found.groups())) > oldest:
        wrong.append(f"auditwheel finds another tag: {said}")
    return wrong


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: scripts/check-wheel.py WHEEL")
    problems = main(Path(sys.argv[1]))
    if problems:
        sys.exit("\n".join(problems))
