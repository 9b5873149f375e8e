"""Programs that predict a model, timed in turns with schedc's library.

    python bench/peers.py --schedc SCHEDC --model MODEL --rows ROWS.npy [--peers oneDAL,lignum]
    python bench/peers.py --schedc SCHEDC --model MODEL --rows ROWS.npy --cost lignum

`schedc bench --peers` and bench/run.sh run this program. It prints JSON, one object per line. The first lines
have, for each program, the comparison of its results with schedc's, or the reason why it is left out. Then
come the figures of each way of prediction at each point. `--cost` prints the time to the first prediction and
the memory of one program. Only NumPy is required; requirements.txt beside this file has the versions of the
other packages.

"""

import argparse
import contextlib
import ctypes
import importlib.metadata
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from datetime import date
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy
import turns
from engines import PEERS, reason_of, schedc

# Largest difference between sums of thousands of floats in different orders.
TOLERANCE = 1e-4
# Age of a pin in months above which a newer release probably exists.
OLD = 6


@contextlib.contextmanager
def no_output():
    """A context that discards the messages that a library's C code prints."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def pins():
    """The pinned versions of packages, each with the month of its release if it is a peer."""
    lines = re.findall(r"^([\w.-]+)==(\S+)(?:\s*# (\d{4}-\d\d))?",
                       (Path(__file__).parent / "requirements.txt").read_text(), re.M)
    return {package: (version, month) for package, version, month in lines}


def old_pins(today=None):
    """Sentences about pins that are older than `OLD` months."""
    today = today or date.today()
    for package, (version, month) in pins().items():
        if month:
            age = (today.year - int(month[:4])) * 12 + today.month - int(month[5:])
            if age > OLD:
                yield f"the pin {package}=={version} is {age} months old: look for a newer release"


def remark(who, **facts):
    print(json.dumps({"who": who, **facts}), flush=True)


def loaded(name, package, load):
    """Loads a model into a peer. If that fails, prints the reason and returns None."""
    try:
        with no_output():
            return load()
    except ModuleNotFoundError:
        return remark(name, missing=f"pip install {package}=={pins()[package][0]}")
    except Exception as error:  # any error of a peer leaves it out
        return remark(name, left_out=reason_of(error))


def agree(program, expected, rows):
    """Whether a program's results agree with schedc's. Prints the comparison as a line of the output."""
    try:
        with no_output():
            found = program.results(rows)
    except Exception as error:
        remark(program.name, left_out=reason_of(error))
        return False
    equal, largest = turns.compare(expected[program.kind], found)
    remark(program.name, margins=len(found), bit_equal=equal, largest_relative_difference=min(largest, 1e300))
    return largest <= TOLERANCE


def softmax(margins):
    """The probabilities of classes."""
    powers = numpy.exp(margins - margins.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def measure(options, model, rows):
    """Compares the results of all programs with schedc's, and times those that agree."""
    expected = {kind: schedc(model, kind).results(rows) for kind in ("margins", "predictions")}
    expected["probabilities"] = softmax(expected["margins"].reshape(-1, model.outputs)).reshape(-1)
    programs, loads = [schedc(model)], []
    if options.harness:
        import native

        harness = ctypes.CDLL(str(options.harness))
        programs = [native.Schedc(harness, model, rows, options.kind, [model.artefact])]
        for name, *files in json.loads(options.programs):
            kind = native.PROGRAMS[name]
            loads.append((kind.title, kind.package, partial(kind, harness, model, rows, options.kind, files)))
    loads += [(name, package, partial(load, model)) for name, package, trainers, load in PEERS
              if model.trainer in trainers.split() and (options.peers is None or name in options.peers)]
    programs += filter(None, [loaded(*each) for each in loads])
    right = [programs[0], *(program for program in programs[1:] if agree(program, expected, rows))]
    for point in turns.points(right, rows, options.batches, options.threads, options.repetitions):
        print(json.dumps(point), flush=True)


def status(field):
    """A field of the process's status, in MiB."""
    return int(re.search(rf"{field}:\s*(\d+)", Path("/proc/self/status").read_text())[1]) / 1024


def spent():
    """The processor time of this process and of its children, in seconds."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def largest_child():
    """The largest peak memory of a child process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def cost(name, options, rows):
    """Prints the cost of a program's first prediction: processor time, including the package's import and
    compilers; memory, of this process or of its largest compiler; and the sizes of the loaded model and of
    the installed package."""
    if name == "schedc predict":
        return cost_of_command(name, options, rows)
    package, load = next((peer[1:4:2] for peer in PEERS if peer[0] == name), (None, schedc))
    model = model_of(options, rows.itemsize)
    before, begun, compilers = status("VmRSS"), spent(), largest_child()

    def first():
        if load is schedc and not model.artefact:
            model.artefact = build(options, "--no-cache")
        program = load(model)
        program.results(rows[:1])
        return program

    program = loaded(name, package, first)
    if program is None:
        return
    seconds, own = spent() - begun, status("VmHWM") - before
    compiler = largest_child()
    size = program.size() if program.size else (model.artefact or model.path).stat().st_size
    remark(name, seconds=seconds, mib=max(own, compiler if compiler > compilers else 0),
           bytes=size, install=install_size(package) if package else 0)


def cost_of_command(name, options, rows):
    """Prints the cost of `schedc predict` for one row: processor time, memory and the size of the model."""
    one, results = options.work / "row.npy", options.work / "results.npy"
    numpy.save(one, rows[:1])
    begun = spent()
    subprocess.run([options.schedc, "predict", options.model, "-q", "--no-cache", "--by-position", "-i", one,
                    "-o", results], check=True, capture_output=True)
    remark(name, seconds=spent() - begun, mib=largest_child(), bytes=Path(options.model).stat().st_size,
           install=0)


def install_size(package, seen=None):
    """The size of a package and of its installed dependencies, in bytes."""
    seen = set() if seen is None else seen
    try:
        found = importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        return 0
    if package.lower() in seen:
        return 0
    seen.add(package.lower())
    own = sum(path.stat().st_size for path in map(found.locate_file, found.files or []) if path.is_file())
    needed = [re.match(r"[\w.-]+", word)[0] for word in found.requires or [] if "extra ==" not in word]
    return own + sum(install_size(name, seen) for name in needed)


def build(options, *more):
    """Builds schedc's library of the model, with more options."""
    library = options.work / "schedc.so"
    subprocess.run([options.schedc, "build", options.model, "-o", library, *options.build, *more], check=True,
                   capture_output=True)
    return library


def model_of(options, element):
    """The properties of the model that peers need."""
    text = subprocess.run([options.schedc, "inspect", options.model, "--json"], check=True,
                          capture_output=True, text=True).stdout
    about = json.loads(text)
    trainer = "ONNX" if options.model.suffix == ".onnx" else about["trainer"] or ""
    return SimpleNamespace(path=options.model, trainer=trainer, outputs=about["num_margins"],
                           features=about["num_features"], base=about["base"], work=options.work,
                           seconds=options.compile_seconds, artefact=options.artefact, element=element,
                           threads=1)


def numbers(text):
    return [int(word) for word in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--schedc", required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--artefact", type=Path)
    parser.add_argument("--build", action="append", default=[])
    parser.add_argument("--harness", type=Path)
    parser.add_argument("--programs", default="[]")
    parser.add_argument("--peers", type=lambda text: text.split(","))
    parser.add_argument("--batches", type=numbers, default=[1, 64, 1024, 16384])
    parser.add_argument("--threads", type=numbers, default=[1])
    parser.add_argument("--repetitions", type=int, default=21)
    parser.add_argument("--compile-seconds", type=float, default=60)
    parser.add_argument("--doubles", action="store_true")
    parser.add_argument("--kind", default="margins")
    parser.add_argument("--work", type=Path)
    parser.add_argument("--cost")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        options.work = options.work or Path(work)
        options.work.mkdir(parents=True, exist_ok=True)
        rows = numpy.load(options.rows).astype("float64" if options.doubles else "float32", copy=False)
        most = max(options.batches)
        rows = numpy.ascontiguousarray(numpy.tile(rows, (max(-(-most // len(rows)), 1), 1)))
        if options.cost:
            return cost(options.cost, options, rows)
        options.artefact = options.artefact or build(options)
        measure(options, model_of(options, rows.itemsize), rows)


if __name__ == "__main__":
    main()
