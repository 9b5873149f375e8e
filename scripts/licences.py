#!/usr/bin/env python3
"""Prints the licences of everything that is linked into the programs."""

import json
import subprocess
from pathlib import Path

METADATA = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", "x86_64-unknown-linux-gnu"]
FEATURES = ["--no-default-features", "--features", "llvm-static,lld", "--manifest-path", "cli/Cargo.toml"]
# Linked from the system, each with where Debian says what holds for it.
SYSTEM = ["llvm-19-dev", "liblld-19-dev", "zlib1g-dev", "libzstd-dev", "libstdc++-12-dev"]


def linked(metadata):
    """The packages that the command line is built on, without what only builds or tests it."""
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


def main():
    metadata = json.loads(subprocess.run(METADATA + FEATURES, capture_output=True, check=True).stdout)
    wanted = linked(metadata)
    packages = [p for p in metadata["packages"] if p["id"] in wanted and p["source"] is not None]
    texts = {}
    print("These packages are part of schedc. The texts of their licences follow.\n")
    for package in sorted(packages, key=lambda p: (p["name"], p["version"])):
        label = f"{package['name']} {package['version']}"
        print(f"  {label}: {package['license'] or 'see its text'}")
        for file in sorted(Path(package["manifest_path"]).parent.iterdir()):
            if file.is_file() and file.name.upper().startswith(("LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE")):
                text = file.read_text(encoding="utf-8", errors="replace").strip()
                texts.setdefault(text, []).append(label)
    for name in SYSTEM:
        file = Path("/usr/share/doc") / name / "copyright"
        if file.is_file():
            print(f"  {name}: see its text")
            texts.setdefault(file.read_text(encoding="utf-8", errors="replace").strip(), []).append(name)
    for text, names in texts.items():
        print(f"\n{'-' * 78}\n{', '.join(names)}\n\n{text}")


if __name__ == "__main__":
    main()
