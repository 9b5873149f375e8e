"""Compares schedc with its peers on models: a table, a run for `schedc bench` to load, and a plot for each
model."""

import json
import subprocess
import tempfile
from pathlib import Path

import convert
import pages
from tools import (BENCH, CACHE, Failed, HARNESS, SCHEDC, cpu_features, machine, markdown, micros, run, say,
                   write)

PEERS = ["XGBoost", "LightGBM", "ONNX Runtime", "lleaves", "tl2cgen"]
HEADER = ["model", "batch", "threads", *(f"{peer}, µs/row" for peer in PEERS), "schedc, µs/row", "quartiles",
          "best peer/schedc", "target", "ns/walk"]
# Largest difference between sums of thousands of floats in different orders.
TOLERANCE = 1e-4


def library(name):
    """A peer's shared library."""
    return next((CACHE / "venv").glob(f"lib/python*/site-packages/{name}"))


def peers(model, options):
    """The harness's arguments for the peers of a model, and the reasons why the others are left out."""
    trainer = model.path.suffix
    arguments = []
    if trainer == ".json":
        arguments += ["--xgboost", library("xgboost/lib/libxgboost.so"), model.path]
    if trainer == ".txt":
        arguments += ["--lightgbm", library("lightgbm/lib/lib_lightgbm.so"), model.path]
    if trainer == ".onnx" or (trainer == ".json" and "onnxruntime" in options.peers):
        try:
            arguments += ["--onnxruntime", library("onnxruntime/capi/libonnxruntime.so.*"),
                          convert.to_onnx(model)]
        except Failed as error:
            say(f"{model.name}: ONNX Runtime is left out: {error}")
    if trainer == ".txt" and "lleaves" in options.peers:
        try:
            arguments += ["--lleaves", convert.to_lleaves(model, options.compile_seconds)]
        except Failed as error:
            say(f"{model.name}: lleaves is left out: {error}")
    if trainer != ".onnx" and "tl2cgen" in options.peers:
        try:
            compiled = convert.to_c(model, options.compile_seconds)
            arguments += ["--tl2cgen", compiled,
                          "float64" if trainer == ".txt" else "float32"] if compiled else []
        except Failed as error:
            say(f"{model.name}: tl2cgen is left out: {error}")
    return arguments


def measure(model, options, arguments):
    """The harness's output by lines: the differences of margins, and the time of each way at each point."""
    with tempfile.TemporaryDirectory() as work:
        artefact = Path(work) / "model.so"
        schedule = ["-s", options.schedule] if options.schedule else []
        run([SCHEDC, "build", model.path, "-o", artefact, "--cpu", options.cpu, *schedule])
        text = run([HARNESS, "--rows", model.rows, "--outputs", model.outputs, "--batches", options.batches,
                    "--threads", options.threads, "--repetitions", options.repetitions, "--artefact",
                    artefact, "--doubles", "yes" if options.doubles else "no",
                    # The only results of an ONNX model are its predictions.
                    "--values", "yes" if model.path.suffix == ".onnx" else "no", *arguments])
    return [json.loads(line) for line in text.splitlines()]


def check_margins(model, lines):
    """Programs with wrong margins; raises an error if schedc is among them."""
    wrong = set()
    for line in lines:
        if "margins" not in line:
            continue
        share = f"{line['bit_equal']} of {line['margins']} margins bit-equal to the trainer's"
        say(f"{model.name}: {line['who']}: {share}, largest relative difference "
            f"{line['largest_relative_difference']:.2g}")
        if not line["largest_relative_difference"] <= TOLERANCE:
            wrong.add(line["who"])
    if "schedc" in wrong:
        raise Failed(f"the margins of {model.name} are wrong")
    for who in wrong:
        say(f"{model.name}: {who} is left out: its margins are wrong")
    return wrong


def to_run(model, lines, cpu):
    """A run in the format of `schedc bench`, with the best way of each program at each point."""
    best = {}
    wrong = check_margins(model, lines)
    for line in lines:
        if "us_per_row" not in line or line["who"] in wrong:
            continue
        key = (line["threads"], line["batch"], line["who"])
        if key not in best or line["us_per_row"] < best[key]["us_per_row"]:
            best[key] = line
    points = []
    for (threads, batch, who), line in best.items():
        time = line["us_per_row"]
        point = {"schedule": who, "threads": threads, "batch": batch, "us_per_row": time,
                 "ns_per_walk": time * 1e3 / model.trees, "rows_per_s": 1e6 / time, "spread": line["spread"]}
        if who != "schedc":
            point |= {"peer": True, "way": line["way"], "used_threads": line["used_threads"]}
        points.append(point)
    return {"format": 1, "model": model.name, "fingerprint": model.fingerprint, "trees": model.trees,
            "features": model.features, "threads": max(point["threads"] for point in points), "cpu": cpu,
            "points": points}


def target(name, batch, ratio, walk):
    """The target, with a mark if it is missed. Only one thread has targets."""
    for group in json.loads((BENCH / "targets.json").read_text()):
        if not any(name == model or (model.endswith("*") and name.startswith(model[:-1]))
                   for model in group["models"]):
            continue
        least = group["ratio"].get(str(min(batch, 1024)))
        if least is None:
            return ""
        most = group.get("ns_per_walk", float("inf")) if batch >= 1024 else float("inf")
        text = f">= {least}" + (f", <= {most} ns" if most < float("inf") else "")
        return text if ratio >= least and walk <= most else f"**{text}**"
    return ""


def rows(measured):
    """The rows of the table."""
    points = {(p["threads"], p["batch"], p["schedule"]): p for p in measured["points"]}
    for threads, batch in dict.fromkeys((p["threads"], p["batch"]) for p in measured["points"]):
        ours = points[threads, batch, "schedc"]
        theirs = {peer: points[threads, batch, peer]["us_per_row"] for peer in PEERS
                  if (threads, batch, peer) in points}
        ratio = min(theirs.values()) / ours["us_per_row"]
        goal = target(measured["model"], batch, ratio, ours["ns_per_walk"]) if threads == 1 else ""
        low, high = ours["spread"]
        yield [measured["model"], batch, threads,
               *(micros(theirs[peer]) if peer in theirs else "-" for peer in PEERS),
               micros(ours["us_per_row"]), f"{micros(low)} to {micros(high)}", f"{ratio:.1f}", goal,
               f"{ours['ns_per_walk']:.2f}"]


def compare(found, options):
    """Measures models one by one; a failure does not affect the others. Returns whether all succeeded."""
    out, table, well = options.out, [], True
    # All compilations come first, so that they do not disturb the measurements.
    prepared = [(model, peers(model, options)) for model in found]
    print(markdown(HEADER, []), end="", flush=True)
    cpu = None
    for model, arguments in prepared:
        try:
            cpu = cpu or cpu_features(model, options.cpu)
            measured = to_run(model, measure(model, options, arguments), cpu)
        except Failed as error:
            say(f"{model.name}: {error}")
            well = False
            continue
        new = list(rows(measured))
        table += new
        print("".join(markdown([], [row]).split("\n", 2)[2] for row in new), end="", flush=True)
        saved = out / f"{model.name}.json"
        write(saved, json.dumps(measured, indent=1) + "\n")
        subprocess.run([SCHEDC, "bench", "--load", saved, "--plot", out / f"{model.name}.svg"], check=True,
                       stdout=subprocess.DEVNULL)
    write(out / "peers.md", markdown(HEADER, table))
    if table:
        pages.save(out / "figures", "peers", "bench/run.sh compare MODELS_DIR", machine(cpu), HEADER,
                   [("peers", row) for row in table])
    say(f"bench: the table, runs and plots are in {out}")
    return well
