"""The tables of docs/gpu/measuring.md, made of the results of run.sh that lie in the folder `results`.

    python3 bench/gpu/tables.py RESULT.json...    prints the tables of results

bench/pages.py writes them into the page. `keep` stores a result without the lines that no table shows.
"""

import json
import sys
import textwrap
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results"
FORMAT = 2
WIDTH = 110  # the longest line of the page, in characters
SIZES = (1, 1024, 16384, 1000000)  # rows of the calls that tables show
ALL_SIZES = (1, 64, 1024, 16384, 1000000)
PEERS = ("nvForest", "XGBoost", "Hummingbird")
SANITIZERS = ("racecheck", "memcheck", "initcheck", "synccheck")
# Parts whose lines are stored as they are.
KEPT = {"packed", "host", "device", "bandwidth", "launch", "model", "predict", "regret", "peer", "peer_check",
        "peer_version", "ncu", "ncu_sample", "predicted", "checked", *SANITIZERS}


def read(path):
    """A result of run.sh, or a stored one."""
    result = json.loads(Path(path).read_text())
    if result.get("format") != FORMAT:
        raise SystemExit(f"{path} has format {result.get('format')}, and this program reads {FORMAT}")
    if not any(line["part"] == "device" and "name" in line for line in result["lines"]):
        raise SystemExit(f"{path} has no line about the device")
    if not lines(result, "checked"):
        result["lines"].append(checked(result))
    return result


def lines(result, part):
    """The lines of a part that have figures."""
    return [line for line in result["lines"]
            if line["part"] == part and "left_out" not in line and "failed" not in line]


def device(result):
    """The name of the GPU."""
    return next(line["name"] for line in lines(result, "device") if "name" in line)


def checked(result):
    """A line with the numbers of compared calls, and of schedules of the sweep, and of the wrong ones."""
    calls, in_sweep = lines(result, "check"), lines(result, "sweep_check")
    calls = [line for line in calls if "ok" in line]
    return {"part": "checked", "calls": len(calls), "wrong": sum(not line["ok"] for line in calls),
            "schedules": len({(line["model"], line["schedule"]) for line in calls}),
            "sweep_schedules": len(in_sweep), "sweep_wrong": sum(not line["ok"] for line in in_sweep)}


def keep(path, folder=RESULTS):
    """Stores a result under the name of its device and its date. Returns the path."""
    result = read(path)
    chosen = [line for line in lines(result, "time") if line.get("schedule") == "chosen"]
    stored = [line for line in result["lines"] if line["part"] in KEPT or "failed" in line
              or "left_out" in line and line["part"] not in ("time", "check")]
    head = {key: result[key] for key in ("format", "date", "command", "rows", "seed", "failures")
            if key in result}
    head = json.dumps(head, separators=(",", ":")).removesuffix("}")
    body = ",\n".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False)
                      for line in [*stored, *chosen])
    name = "-".join(word.lower() for word in device(result).split() if word.isalnum() and word != "NVIDIA")
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / f"{name}-{result['date'][:10]}.json"
    out.write_text(f'{head},"lines":[\n{body}\n]}}\n')
    return out


def number(value, digits=1):
    """A figure with one digit after the point, or without if it has three before; a dash if there is none."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.{digits}f}"


def cells(values, digits=1):
    """Figures for the numbers of rows of SIZES, or a dash if there are none."""
    if all(value is None for value in values):
        return "-"
    return " / ".join(number(value, digits) for value in values)


def some(count, noun):
    """A number of things."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def origin(result):
    """The device, date and program of a result."""
    command = result.get("command", "bench/gpu/run.sh")
    return f"{device(result)}, {result['date'][:10]}; `{command}`."


def markdown(header, rows):
    """A table."""
    lines = ["| " + " | ".join(row) + " |" for row in [header, *rows]]
    lines.insert(1, "|" + "---|" * len(header))
    return "\n".join(lines)


def shapes(result):
    """Trees and depth of each model, as text."""
    return {line["model"]: f"{line['trees']}, {line['depth']}" + (
        f", {line['margins']} classes" if line["margins"] > 1 else "") for line in lines(result, "model")}


def schedules_table(result):
    """Chosen schedules, their predicted times, and the fastest ones."""
    found = {(line["model"], line["batch"]): line for line in lines(result, "regret")}
    shape, rows = shapes(result), []
    for model in dict.fromkeys(model for model, _ in found):
        points = [found.get((model, size), {}) for size in SIZES]
        fields = ("chosen_us", "predicted_us", "in_order_us", "fastest_us")
        slower = [point["chosen_us"] / point["fastest_us"] if "chosen_us" in point else None
                  for point in points]
        best = next((point["fastest"] for point in reversed(points) if "fastest" in point), None)
        figures = [cells([point.get(field) for point in points]) for field in fields]
        rows.append([model, shape.get(model, "-"), *figures[:2], cells(slower, 2), *figures[2:],
                     f"`{best}`" if best else "-"])
    header = ["model", "trees, depth", "chosen, µs", "predicted, µs", "chosen/fastest",
              "fastest in the model's order, µs", "fastest, µs", "fastest in the largest calls"]
    return markdown(header, rows) if rows else None


def peers_table(result):
    """Calls of the chosen schedules and of peers, with rows in the memory of the device and of the host."""
    own = {(line["model"], line["what"], line["batch"]): line["us"] for line in lines(result, "time")
           if line.get("schedule") == "chosen"}
    found = {(line["model"], line["batch"], line["peer"]): line for line in lines(result, "peer")}
    models = dict.fromkeys(model for model, _, _ in [*found, *own])
    rows = []
    for what, field, words in (("resident", "resident_us", "device"), ("host", "host_us", "host")):
        for model in models:
            schedc = cells([own.get((model, what, size)) for size in SIZES])
            peers = [cells([found.get((model, size, peer), {}).get(field) for size in SIZES])
                     for peer in PEERS]
            rows.append([model, words, schedc, *peers])
    version = {line["peer"]: line["version"] for line in lines(result, "peer_version")}
    header = ["model", "rows lie in the memory of the", "schedc, µs",
              *(f"{peer} {version.get(peer, '')}".strip() + ", µs" for peer in PEERS)]
    return markdown(header, rows) if found or own else None


def targets_table(result):
    """How many times as long the fastest peer takes as schedc's fastest schedules; rows are on the device."""
    launch, found = lines(result, "launch"), {}
    own = {(line["model"], line["batch"]): line for line in lines(result, "regret")}
    for line in lines(result, "peer"):
        if line.get("resident_us"):
            found.setdefault((line["model"], line["batch"]), []).append(line["resident_us"])
    if not launch or not own or not found:
        return None
    # The times of peers include a launch with a wait, those of schedules a launch among others.
    wait = launch[0]["us_with_wait"] - launch[0]["us_back_to_back"]
    rows = []
    for model in dict.fromkeys(model for model, _ in found):
        at = [(model, size) for size in ALL_SIZES]
        ratios = []
        for key in at:
            times = [own.get(key, {}).get(field) for field in ("in_order_us", "fastest_us")]
            known = key in found and None not in times
            ratios.append(cells([min(found[key]) / (us + wait) for us in times]) if known else "-")
        rows.append([model, *ratios])
    return markdown(["model", *(some(size, "row") for size in ALL_SIZES)], rows)


def device_table(result):
    """What the device moves and launches."""
    bandwidth, launch = lines(result, "bandwidth"), lines(result, "launch")
    if not bandwidth or not launch:
        return None
    moved, launched = bandwidth[0], launch[0]
    row = [f"{moved['device_gb_s']:,.0f}", number(moved["up_gb_s"]), number(moved["down_gb_s"]),
           number(launched["us_back_to_back"]), number(launched["us_with_wait"])]
    return markdown(["within the device, GB/s", "from the host, GB/s", "to the host, GB/s",
                     "launches in a row, µs each", "launch with a wait, µs"], [row])


def checks_table(result):
    """What was compared, and how much of it was wrong."""
    rows = []
    predicted = [line for line in lines(result, "predict") if "ok" in line]
    if predicted:
        rows.append(["`schedc predict MODEL --target gpu`", some(len(predicted), "model"),
                     str(sum(not line["ok"] for line in predicted))])
    for line in lines(result, "checked"):
        if line["calls"]:
            rows.append([f"margins of {some(line['schedules'], 'artefact')}", some(line["calls"], "call"),
                         str(line["wrong"])])
        if line["sweep_schedules"]:
            rows.append(["margins in the sweep", some(line["sweep_schedules"], "schedule"),
                         str(line["sweep_wrong"])])
    for tool in SANITIZERS:
        ok = [line for line in result["lines"] if line["part"] == tool and "ok" in line]
        bad = [line for line in result["lines"] if line["part"] == tool and "failed" in line]
        if ok or bad:
            rows.append([f"compute-sanitizer, {tool}", some(len(ok) + len(bad), "artefact"), str(len(bad))])
    return markdown(["compared", "number", "wrong"], rows) if rows else None


def counters_table(result):
    """Counters of single calls."""
    names = ("sm__warps_active.avg.pct_of_peak_sustained_active",
             "smsp__issue_active.avg.pct_of_peak_sustained_active",
             "l1tex__throughput.avg.pct_of_peak_sustained_elapsed")
    rows = []
    for line in lines(result, "ncu"):
        time = line.get("gpu__time_duration.sum")
        figures = [number(line.get(name)) for name in names]
        rows.append([line["model"], line["schedule"], f"{line['batch']:,}", f"`{line['kernel']}`",
                     number(time / 1000 if time is not None else None),
                     str(line.get("launch__registers_per_thread", "-")), *figures])
    header = ["model", "schedule", "rows", "kernel", "µs", "registers of a thread", "resident warps, %",
              "cycles that issue, %", "throughput of the first cache, %"]
    return markdown(header, rows) if rows else None


def waiting(results):
    """Sentences about claims that no stored result has measured."""
    def has(part, test=lambda line: True):
        return any(test(line) for result in results for line in lines(result, part))

    timed, models = set(), {}
    for result in results:
        for line in lines(result, "regret"):
            models[line["model"]] = None
            if "chosen_us" in line:
                timed.add(line["model"])
    untimed = [model for model in models if model not in timed]
    sentences = []
    if not has("predict", lambda line: line.get("ok") is True):
        sentences.append("predictions of `schedc predict MODEL --target gpu`, compared with a processor's")
    if untimed:
        sentences.append(f"the times of the schedules that schedc chooses for {', '.join(untimed)}")
    if not has("time", lambda line: line["what"] == "host"):
        sentences.append("calls of the chosen schedules from host to host")
    if not has("checked", lambda line: line["calls"] > 0):
        sentences.append("the margins of calls from several threads, by `check`")
    for peer in PEERS:
        if not has("peer", lambda line, peer=peer: line["peer"] == peer):
            sentences.append(f"the times of {peer}")
    if not has("ncu"):
        sentences.append("the counters of `ncu`")
    for tool in SANITIZERS:
        if not any(line["part"] == tool and "left_out" not in line
                   for result in results for line in result["lines"]):
            sentences.append(f"the findings of compute-sanitizer's `{tool}`")
    return sentences


TABLES = {"gpu devices": device_table, "gpu checks": checks_table, "gpu schedules": schedules_table,
          "gpu peers": peers_table, "gpu targets": targets_table, "gpu counters": counters_table}


def sections(results):
    """The content of each mark of docs/gpu/measuring.md."""
    made = {}
    for mark, table in TABLES.items():
        shown = [(table(result), origin(result)) for result in results]
        parts = [f"{text}\n\n{where}\n" for text, where in shown if text]
        made[mark] = "\n".join(parts) or "No result has this table yet.\n"
    missing = waiting(results)
    items = [textwrap.fill(f"- {sentence}", WIDTH, subsequent_indent="  ", break_on_hyphens=False)
             for sentence in missing]
    made["gpu waits"] = "\n".join(items or ["Nothing: there is a measurement of each."]) + "\n"
    return made


def stored(folder=RESULTS):
    """All stored results, the newest first."""
    results = [read(path) for path in folder.glob("*.json")]
    return sorted(results, key=lambda result: (result["date"], device(result)), reverse=True)


if __name__ == "__main__":
    for mark, content in sections([read(path) for path in sys.argv[1:]]).items():
        print(f"{mark}\n\n{content}")
