"""scripts/check-wheel.py on small wheels from a C compiler: valid ones pass, others are refused with the
right reason."""

import base64
import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "check-wheel.py"


def shared_object(folder, library="libc.so.6", version="GLIBC_2.2.5"):
    """The bytes of a shared object that imports a symbol of a version from a library."""
    folder.mkdir()
    (folder / "stub.map").write_text(f"{version} {{ global: needed; }};")
    (folder / "stub.c").write_text("int needed(void) { return 0; }")
    (folder / "made.c").write_text("int needed(void); int call(void) { return needed(); }")
    compiler = ["cc", "-shared", "-fPIC", "-nostdlib"]
    stub = ["stub.c", "-Wl,--version-script=stub.map", f"-Wl,-soname,{library}", "-o", library]
    subprocess.run([*compiler, *stub], cwd=folder, check=True)
    subprocess.run([*compiler, "made.c", f"./{library}", "-o", "made.so"], cwd=folder, check=True)
    return (folder / "made.so").read_bytes()


def wheel(folder, tag, files):
    """A wheel with these files."""
    tag = f"cp310-abi3-{tag}"
    files = files | {
        "small-1.dist-info/METADATA": b"Metadata-Version: 2.1\nName: small\nVersion: 1\n",
        "small-1.dist-info/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
    }
    hashes = {name: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
              for name, data in files.items()}
    record = "".join(f"{name},sha256={hashes[name].decode()},{len(data)}\n" for name, data in files.items())
    path = folder / f"small-1-{tag}.whl"
    with zipfile.ZipFile(path, "w") as made:
        for name, data in files.items():
            made.writestr(name, data)
        made.writestr("small-1.dist-info/RECORD", record + "small-1.dist-info/RECORD,,\n")
    return path


def refusals(path):
    """The script's output by lines; empty on success."""
    ran = subprocess.run([sys.executable, SCRIPT, path], capture_output=True, text=True, check=False)
    assert (ran.returncode == 0) == (ran.stderr == ""), ran.stderr
    return ran.stderr.splitlines()


MODULE, PROGRAM = "small/_native.abi3.so", "small-1.data/scripts/small"


@pytest.mark.parametrize("version", ["GLIBC_2.2.5", "GLIBC_2.34"])
def test_right_wheels_pass(tmp_path, version):
    module, program = shared_object(tmp_path / "module"), shared_object(tmp_path / "program", version=version)
    assert refusals(wheel(tmp_path, "manylinux_2_34_x86_64", {MODULE: module, PROGRAM: program})) == []


@pytest.mark.parametrize("name", [MODULE, PROGRAM])
def test_machine_code_that_needs_a_newer_system(tmp_path, name):
    files = {MODULE: shared_object(tmp_path / "module")} | {name: shared_object(tmp_path / "newer",
                                                                                version="GLIBC_2.35")}
    refused = refusals(wheel(tmp_path, "manylinux_2_34_x86_64", files))
    assert refused[0] == f"{name} needs version 2.35 of the C library, but the tag names 2.34"


def test_libraries_that_systems_may_lack(tmp_path):
    module = shared_object(tmp_path / "module", library="libLLVM.so.19.1", version="LLVM_19.1")
    refused = refusals(wheel(tmp_path, "manylinux_2_34_x86_64", {MODULE: module}))
    assert refused[0] == f"{MODULE} is linked with libLLVM.so.19.1"


def test_names_that_promise_nothing(tmp_path):
    path = wheel(tmp_path, "linux_x86_64", {MODULE: shared_object(tmp_path / "module")})
    assert refusals(path) == [f"{path.name} has no manylinux tag"]


def test_wheels_without_machine_code(tmp_path):
    assert refusals(wheel(tmp_path, "manylinux_2_34_x86_64", {}))[0] == "the wheel contains no machine code"


def test_wheels_for_newer_systems_than_promised(tmp_path):
    path = wheel(tmp_path, "manylinux_2_35_x86_64", {MODULE: shared_object(tmp_path / "module")})
    assert refusals(path)[0] == (f"{path.name} needs version 2.35 of the C library, but may need at most "
                                 "2.34")
