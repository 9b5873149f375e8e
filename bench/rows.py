"""Searches for row files that both schedc and XGBoost accept, but read differently.

    python bench/rows.py [--schedc PATH] [--trainer PYTHON]... [--models 20] [--files 200]
                         [--seed 1] [--keep FOLDER]

Trains models, writes row files for them, and predicts each file three times: by schedc with the model, by
schedc with the model's library, and by XGBoost with the frame that pandas reads. Compares margins to the bit.
schedc must refuse a file or predict XGBoost's margins. Everything else is a fault, and leads to exit status
1. Needs numpy, pandas and xgboost. Models can be trained by other interpreters with other releases of XGBoost
(`--trainer`).

"""

import argparse
import collections
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import numpy as np
import pandas as pd
import xgboost as xgb

LONG = ["measurement " + "of something very long " * 12 + letter for letter in "abcd"]

# (the kind of names, the names or the number of features without names, the objective)
MODELS = [
    ("plain", ["age", "height", "weight", "income"], "binary:logistic"),
    ("none", 5, "reg:squarederror"),
    ("numbers", ["0", "1", "2", "3"], "reg:squarederror"),
    ("years", ["1990", "1991", "1992"], "count:poisson"),
    ("blanks", ["petal length", "petal width", "sepal length", "sepal width"], "multi:softprob"),
    ("categories", ["colour=red", "colour=blue", "size(S)", "size(L)"], "multi:softmax"),
    ("letters", ["größe", "naïve", "日本", "x"], "reg:gamma"),
    ("marks", ['he said "x"', "a,b", "c;d", "tab\tin"], "reg:tweedie"),
    ("cases", ["a", "A", "b", "B"], "binary:hinge"),
    ("default", ["f0", "f1", "f2", "f3", "f4"], "rank:pairwise"),
    ("one", ["age"], "reg:squarederror"),
    ("one, none", 1, "reg:pseudohubererror"),
    ("one number", ["0"], "binary:logitraw"),
    ("two numbers", ["0", "1"], "reg:squarederror"),
    ("two, none", 2, "binary:logistic"),
    ("words of missing values", ["NA", "null", "inf", "x"], "reg:squarederror"),
    ("long", LONG, "survival:cox"),
    ("marks and blanks", ["x 1", "x_1", "x.1"], "reg:absoluteerror"),
    ("index", ["Unnamed: 0", "a", "b"], "reg:squarederror"),
    ("mixed", ["age", "2010", "2011", "2012"], "reg:squarederror"),
    ("twice", ["a", "b", "c"], "reg:squarederror"),
]


def train(number, path):
    """Trains one of the models and saves it."""
    kind, names, objective = MODELS[number % len(MODELS)]
    columns = names if isinstance(names, int) else len(names)
    draw = np.random.RandomState(1000 + number)
    rows = values(draw, 300, columns)
    filled = np.nan_to_num(rows, nan=0.5)
    label = filled @ np.arange(1, columns + 1)
    classes = {"multi:softprob": 3, "multi:softmax": 3}.get(objective, 0)
    parameters = {"objective": objective, "max_depth": 4, "eta": 0.5, "base_score": 0.5, "verbosity": 0}
    if number % 7 == 3:
        parameters.update(booster="dart", rate_drop=0.3)
    if classes:
        parameters["num_class"] = classes
        label = (label * 7).astype(int) % classes
    elif objective.startswith("binary"):
        label = (label > np.median(label)).astype(float)
    else:
        label = np.abs(label) / 10 + 0.1
    if objective.startswith("rank"):
        label = np.floor(label) % 4
    matrix = xgb.DMatrix(rows, label=label, feature_names=None if isinstance(names, int) else list(names))
    if objective.startswith("rank"):
        matrix.set_group([50] * 6)
    try:
        booster = xgb.train(parameters, matrix, 12)
    except xgb.core.XGBoostError:  # a newer objective than this release
        booster = xgb.train(dict(parameters, objective="reg:squarederror"), matrix, 12)
    booster.save_model(str(path))
    document = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    # Releases before 1.4 do not save names.
    document["learner"]["feature_names"] = [] if isinstance(names, int) else list(names)
    if kind == "twice":
        document["learner"]["feature_names"] = ["a", "b", "a"]
    pathlib.Path(path).write_text(json.dumps(document), encoding="utf-8")


def values(draw, rows, columns):
    """Rows of floats. Some values are whole numbers, and some are missing."""
    result = np.round(draw.rand(rows, columns) * 4, 3)
    whole = draw.rand(rows, columns) < 0.3
    result[whole] = np.round(result[whole])
    result[draw.rand(rows, columns) < 0.05] = np.nan
    return result.astype(np.float32).astype(np.float64)


def spelled(value, style, draw):
    """A value as the text of a cell."""
    if np.isnan(value):
        return "" if style != "words" else draw.choice(["NA", "NaN", "null", "N/A", "<NA>", "nan", "None"])
    if value == int(value) and style in ("short", "words"):
        return str(int(value))
    if style == "exponent":
        return "%.9e" % value
    return repr(float(value))


class File:
    """A row file, its values, and options for pandas to read it."""

    def __init__(self, names, count, draw):
        self.draw = draw
        numpy_draw = np.random.RandomState(draw.randrange(1 << 30))
        self.rows = values(numpy_draw, draw.randrange(1, 9), count)
        if draw.random() < 0.15:
            self.rows[0] = np.arange(count)  # a row that looks like a header of numbers
        self.names = names
        self.order = list(range(count))
        self.header = list(names) if names else ["c%d" % at for at in range(count)]
        self.extra = []
        self.what = []
        self.damaged = False

    def say(self, what):
        self.what.append(what)

    def shape(self):
        """Draws a variant of the header and the columns."""
        draw, count = self.draw, len(self.order)
        kind = draw.choice(
            "same same same permuted permuted permuted renamed cased prefixed partly numbers numbers from1 "
            "none none none f "
            "dropped doubled".split()
        )
        self.say(kind)
        if kind == "permuted" and self.names:
            draw.shuffle(self.order)
            self.header = [self.header[at] for at in self.order]
        elif kind == "renamed":
            self.header = [re.sub("[ _.]", lambda found: "_" if found[0] == " " else " ", name)
                           for name in self.header]
        elif kind == "cased":
            self.header = [name.swapcase() for name in self.header]
        elif kind == "prefixed":
            self.header = ["df." + name for name in self.header]
        elif kind == "partly":
            self.header[draw.randrange(count)] += "x"
        elif kind == "numbers":
            self.header = [str(at) for at in range(count)]
        elif kind == "from1":
            self.header = [str(at + 1) for at in range(count)]
        elif kind == "f":
            self.header = ["f%d" % at for at in range(count)]
        elif kind == "none":
            self.header = None
        elif kind == "dropped" and count > 1:
            self.order.pop()
            self.header.pop()
        elif kind == "doubled":
            self.order.append(0)
            self.header.append(self.header[0])
        if self.header is not None:
            for column in draw.sample(["index", "label", "text"],
                                      draw.choice([0, 0, 0, 1, 2] if self.names else [0] * 9 + [1])):
                self.extra.append(column)
                self.say(column)

    def write(self, path):
        draw = self.draw
        style = draw.choice(["plain", "short", "exponent", "words"])
        separator = draw.choice([",", ",", ",", ";", "\t"])
        end = draw.choice(["\n", "\n", "\r\n", "\r"])
        quoting = draw.choice(["needed", "needed", "all"])
        lines = []
        if self.header is not None:
            lines.append(self.header[:])
        lines += [[spelled(row[at], style, draw) for at in self.order] for row in self.rows]
        for column in self.extra:
            cells = {"index": [""], "label": ["target"], "text": ["remark"]}[column]
            cells += {
                "index": [str(at) for at in range(len(self.rows))],
                "label": ["1"] * len(self.rows),
                "text": ['it is, "so"'] * len(self.rows),
            }[column]
            for line, cell in zip(lines, cells):
                line.insert(0 if column == "index" else len(line), cell)

        def quoted(cell):
            special = any(mark in cell for mark in ',;\t"\r\n') or (cell == "" and len(lines[0]) == 1)
            return '"' + cell.replace('"', '""') + '"' if special or quoting == "all" else cell

        blank = draw.choice(["", "", "", " "])
        text = end.join(separator.join(blank + quoted(c) if not quoted(c).startswith('"') else quoted(c)
                                       for c in line)
                        for line in lines) + end
        if draw.random() < 0.1:
            text = end + text + end
        damage = draw.choice([""] * 12 + ["quote", "ragged", "flip", "cut", "word", "comma", "trailing"])
        if damage:
            self.say(damage)
            self.damaged = True
            text = self.damage(text, damage, separator, end)
        data = text.encode("utf-8")
        if draw.random() < 0.2:
            data = b"\xef\xbb\xbf" + data
            self.say("mark of the byte order")
        path.write_bytes(data)
        self.say("%s %r %r %s" % (style, separator, end, quoting))
        self.separator = separator

    def damage(self, text, damage, separator, end):
        draw = self.draw
        lines = text.split(end)
        at = draw.randrange(len(lines))
        if damage == "quote":
            place = draw.randrange(len(text))
            return text[:place] + '"' + text[place:]
        if damage == "ragged":
            lines[at] += separator + "1"
        elif damage == "trailing":
            lines = [line + separator if line else line for line in lines]
        elif damage == "flip":
            place = draw.randrange(len(text))
            return text[:place] + chr(ord(text[place]) ^ (1 << draw.randrange(6))) + text[place + 1:]
        elif damage == "cut":
            return text[: draw.randrange(1, len(text) + 1)]
        elif damage == "word":
            lines[at] = re.sub(r"[0-9.]+", "abc", lines[at], count=1)
        elif damage == "comma":
            lines[at] = lines[at].replace(".", ",", 1)
        return end.join(lines)


def margins(booster, frame_or_array):
    matrix = xgb.DMatrix(frame_or_array, missing=np.nan)
    return booster.predict(matrix, output_margin=True,
                           validate_features=isinstance(frame_or_array, pd.DataFrame))


def by_xgboost(booster, path, file):
    """XGBoost's margins for the frame that pandas reads, with columns in the file's order or in the model's.
    None if XGBoost refuses the frame."""
    has_header = file.header is not None
    try:
        # Releases before 3 round numbers inexactly by default.
        precision = {"float_precision": "round_trip"} if int(pd.__version__.split(".")[0]) < 3 else {}
        frame = pd.read_csv(path, sep=file.separator, header=0 if has_header else None, encoding="utf-8-sig",
                            skipinitialspace=True, **precision)
        if not has_header:
            if frame.shape[1] != booster.num_features():
                return None
            return margins(booster, frame.to_numpy(dtype=np.float64))
        if booster.feature_names is None:
            if frame.shape[1] != booster.num_features():
                return None
            return margins(booster, frame)
        return margins(booster, frame[booster.feature_names])
    except Exception:  # pandas and XGBoost refuse with exceptions of many types.
        return None


def by_schedc(schedc, model, path, *options):
    """schedc's margins or its error code, and its notes."""
    command = [schedc, "predict", str(model), "-q", "--output", "raw", "-i", str(path), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    notes = [line for line in done.stderr.splitlines() if line.startswith("note: " + str(path))]
    if done.returncode == 2:
        found = re.search(r"error: ([A-Z]\d{4})", done.stderr)
        return (found[1] if found else done.stderr), notes
    if done.returncode != 0:
        return "status %d: %s" % (done.returncode, done.stderr), notes
    lines = [line.split(",") for line in done.stdout.splitlines()[1:]]
    return np.array(lines, dtype=np.float32).reshape(len(lines), -1), notes


def same(ours, theirs):
    theirs = np.asarray(theirs, dtype=np.float32).reshape(len(theirs), -1)
    return ours.shape == theirs.shape and np.array_equal(ours, theirs, equal_nan=True)


def judge(ours, notes, truth, theirs):
    """The outcome for a file."""
    if isinstance(ours, str):
        return "refused" if re.fullmatch(r"D\d{4}", ours) else "FAULT: " + ours
    if theirs is not None and same(ours, theirs):
        return "equal"
    if truth is not None and same(ours, truth):
        return "equal"
    if truth is None and theirs is None:
        return "read by schedc alone"
    if notes:
        return "remarked upon"
    return "FAULT: silently different"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--schedc", default="target/release/schedc")
    parser.add_argument("--trainer", action="append", default=[],
                        help="a Python with another XGBoost, for some models")
    parser.add_argument("--models", type=int, default=20)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for all files, which is kept")
    parser.add_argument("--refused", action="store_true", help="list the refused files that XGBoost accepts")
    parser.add_argument("--train", nargs=2, metavar=("NUMBER", "FILE"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.train:
        train(int(args.train[0]), args.train[1])
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        return compare(args, folder)


def prepare(args, folder):
    """Models, their libraries and boosters."""
    models = []
    for number in range(args.models):
        path = folder / ("model%02d.json" % number)
        trainer = ([sys.executable] + args.trainer)[number % (1 + len(args.trainer))]
        subprocess.run([trainer, __file__, "--train", str(number), str(path)], check=True)
        library = folder / ("model%02d.so" % number)
        subprocess.run([args.schedc, "build", str(path), "-o", str(library)], check=True, capture_output=True)
        kind, names, objective = MODELS[number % len(MODELS)]
        plain = folder / "plain.json"
        document = json.loads(path.read_text(encoding="utf-8"))
        document["learner"]["feature_names"] = []
        plain.write_text(json.dumps(document), encoding="utf-8")
        booster = xgb.Booster(model_file=str(plain))
        if kind != "twice" and not isinstance(names, int):
            booster.feature_names = list(names)
        models.append((kind, names, path, library, booster))
        print("model %2d: %s, %s, by %s" % (number, kind, objective, trainer))
    return models


def compare(args, folder):
    models = prepare(args, folder)
    draw = random.Random(args.seed)
    counts = {"model": collections.Counter(), "library": collections.Counter()}
    codes = collections.Counter()
    faults = 0
    for number in range(args.files):
        kind, names, model, library, booster = models[number % len(models)]
        listed = None if isinstance(names, int) else (["a", "b", "a"] if kind == "twice" else names)
        file = File(listed, names if isinstance(names, int) else len(names), draw)
        file.shape()
        path = folder / ("rows%03d.csv" % number)
        file.write(path)
        complete = not file.damaged and not {"dropped", "doubled"} & set(file.what)
        truth = margins_of(booster, file.rows) if complete else None
        theirs = by_xgboost(booster, path, file)
        results = {}
        for what, which in (("model", model), ("library", library)):
            ours, notes = by_schedc(args.schedc, which, path)
            verdict = judge(ours, notes, truth, theirs)
            counts[what][verdict.split(":")[0]] += 1
            results[what] = (ours if isinstance(ours, str) else ours.tolist(), notes)
            if isinstance(ours, str):
                codes[ours] += 1
                if theirs is not None and args.refused:
                    print("%s: %s, %s, and XGBoost predicts (%s; %s)" % (path.name, what, ours, kind,
                                                                         ", ".join(file.what)))
            if verdict.startswith("FAULT"):
                faults += 1
            if not verdict.startswith(("refused", "equal")):
                print("%s: %s, %s (%s; %s)" % (path.name, what, verdict, kind, ", ".join(file.what)))
        if results["model"] != results["library"]:
            faults += 1
            print("%s: FAULT: model and library differ: %s" % (path.name, results))
        if complete and file.header is not None and not file.extra and file.order == sorted(file.order):
            ours, notes = by_schedc(args.schedc, model, path, "--by-position")
            verdict = judge(ours, notes, truth, None)
            counts.setdefault("by position", collections.Counter())[verdict.split(":")[0]] += 1
            if verdict.startswith("FAULT"):
                faults += 1
                print("%s: by position, %s %s (%s; %s)" % (path.name, verdict, ours, kind,
                                                           ", ".join(file.what)))
    for what, counted in counts.items():
        print("%s: %s" % (what, ", ".join("%d %s" % (n, verdict) for verdict, n in sorted(counted.items()))))
    print("codes: %s" % ", ".join("%s %d" % pair for pair in sorted(codes.items())))
    return 1 if faults else 0


def margins_of(booster, rows):
    return margins(booster, np.asarray(rows, dtype=np.float32))


if __name__ == "__main__":
    sys.exit(main())
