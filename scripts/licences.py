#!/usr/bin/env python3
"""Prints the licences of everything that is linked into the given crates, with LLVM.

    scripts/licences.py MANIFEST...

MANIFEST is the Cargo.toml of a crate.

"""

import json
import subprocess
import sys
from pathlib import Path

METADATA = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform",
            "x86_64-unknown-linux-gnu"]
FEATURES = ["--no-default-features", "--features", "llvm-static,lld"]
# System libraries that these features link, with Debian's copyright file of each.
SYSTEM = ["llvm-19-dev", "liblld-19-dev", "zlib1g-dev", "libzstd-dev", "libstdc++-12-dev"]


def linked(metadata):
    """The normal dependencies of a crate, without build and test dependencies."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    found, waiting = set(), [metadata["resolve"]["root"]]
    while waiting:
        package = waiting.pop()
        if package in found:
            continue
        found.add(package)
        for dependency in nodes[package]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                waiting.append(dependency["pkg"])
    return found


def packages_of(manifest):
    """The third-party dependencies of a crate, by name and version, and whether LLVM is among them."""
    begin = [*METADATA, "--manifest-path", manifest]
    bare = subprocess.run([*begin, "--no-deps"], capture_output=True, check=True).stdout
    own = [p for p in json.loads(bare)["packages"] if Path(p["manifest_path"]) == Path(manifest).resolve()]
    with_llvm = "llvm-static" in own[0]["features"]
    metadata = json.loads(subprocess.run(begin + FEATURES * with_llvm, capture_output=True,
                                         check=True).stdout)
    wanted = linked(metadata)
    packages = [p for p in metadata["packages"] if p["id"] in wanted and p["source"] is not None]
    return {(p["name"], p["version"]): p for p in packages}, with_llvm


def main(manifests):
    packages, with_llvm = {}, False
    for manifest in manifests:
        found, needs_llvm = packages_of(manifest)
        packages |= found
        with_llvm |= needs_llvm
    texts = {}
    print("These packages are part of schedc. The texts of their licences follow.\n")
    for _, package in sorted(packages.items()):
        label = f"{package['name']} {package['version']}"
        print(f"  {label}: {package['license'] or 'see its text'}")
        for file in sorted(Path(package["manifest_path"]).parent.iterdir()):
            if file.is_file() and file.name.upper().startswith(("LICENSE", "LICENCE", "COPYING", "NOTICE",
                                                                "UNLICENSE")):
                text = file.read_text(encoding="utf-8", errors="replace").strip()
                texts.setdefault(text, []).append(label)
    for name in SYSTEM if with_llvm else []:
        file = Path("/usr/share/doc") / name / "copyright"
        if file.is_file():
            print(f"  {name}: see its text")
            texts.setdefault(file.read_text(encoding="utf-8", errors="replace").strip(), []).append(name)
    for text, names in texts.items():
        print(f"\n{'-' * 78}\n{', '.join(names)}\n\n{text}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: scripts/licences.py MANIFEST...")
    main(sys.argv[1:])
