"""The operators of the Hummingbird and CMLCompiler papers keep their promise, or are refused by name."""

import os
from functools import lru_cache
from pathlib import Path

import numpy
import pytest

onnx = pytest.importorskip("onnx")
pytest.importorskip("sklearn")

import schedc  # noqa: E402
from papers import ALL, GAPS, GOALS, ROWS, operators  # noqa: E402
from sklearn import neural_network, pipeline, preprocessing  # noqa: E402
from sklearn.base import clone  # noqa: E402

OPERATORS = list(operators())
#: Types of rows by the form of a variant. Every option and form is tested with both types, but not every
#: combination.
KINDS = {"two classes": ["float32"], "three classes": ["float64"], "before a model": ["float32"],
         "alone": ["float64"]}
CASES = [pytest.param(operator, variant, kind, id="-".join(
    text.replace(" ", "_") for text in (operator.name, variant.option, variant.form, kind) if text))
    for operator in OPERATORS for variant in operator.variants
    for kind in KINDS.get(variant.form, ["float32", "float64"])]
METHODS = ("predict", "predict_proba", "decision_function", "score_samples", "transform")
FAST = {"effort": "fast", "check": False, "cache": False}
#: Allowed difference of two roundings of a sum, relative to the largest result, by the type of the rows.
BOUND = {"float32": 5e-6, "float64": 1e-12}
VARIANTS = [pytest.param(operator, variant, id="-".join(
    text.replace(" ", "_") for text in (operator.name, variant.option, variant.form) if text))
    for operator in OPERATORS if operator.promise != "refused" for variant in operator.variants]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("operator", "variant"), VARIANTS)
def test_fitted_on_singles(operator, variant, tmp_path):
    """Objects that were trained in single precision pass all checks: those of files, on training rows of both
    types and on rows that are made, and for one variant of each operator that of the compiled object."""
    theirs, rows = fitted(variant, "float32", trained="float32")
    path = tmp_path / "p.onnx"
    schedc.export(theirs, path, types="float32")
    schedc.export(theirs, path, check=rows)
    # Clusters accept only rows of the type of their training rows.
    if operator.name != "KMeans":
        schedc.export(theirs, path, check=rows.astype("float64"))
    if variant is operator.variants[0]:
        schedc.compile(theirs, rows="f32", effort="fast", cache=False)


ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/pipelines.md"
LABELS = numpy.array([9.0, 3.0, 5.0, 3.0])


def fitted(variant, kind, trained="float64"):
    """A fitted object, and rows of a type. `trained` is the type of the training rows."""
    model = clone(variant.model)
    if variant.goal == "hash":
        return model.fit([{"a": 1}]), None
    if variant.goal == "labels":
        return model.fit(LABELS), LABELS.astype(kind)
    rows = GAPS if variant.has_gaps else ROWS
    # Clusters accept only rows of the type of their training rows.
    model.fit(rows.astype(kind if variant.goal == "none" else trained), GOALS[variant.goal])
    return model, rows.astype(kind)


def call(model, method, rows):
    found = getattr(model, method)(rows)
    return found.toarray() if hasattr(found, "toarray") else numpy.asarray(found)


def near(found, expected, bound):
    """Compares results; the bound is relative to the largest number."""
    scale = max(1.0, float(numpy.abs(expected).max()))
    numpy.testing.assert_allclose(found, expected, rtol=0, atol=bound * scale)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("operator", "variant", "kind"), CASES)
def test_objects(operator, variant, kind):
    """The compiled object returns the results of the fitted one."""
    theirs, rows = fitted(variant, kind)
    if operator.promise == "refused":
        with pytest.raises(TypeError, match=f"{operator.name}.*(outside|columns)"):
            schedc.compile(theirs, rows=f"f{kind[-2:]}", **FAST)
        return
    ours = schedc.compile(theirs, rows=f"f{kind[-2:]}", **FAST)
    methods = [method for method in METHODS if hasattr(theirs, method) and hasattr(ours, method)]
    assert ("predict" if hasattr(theirs, "predict") else "transform") in methods
    for method in methods:
        expected, found = call(theirs, method, rows), call(ours, method, rows)
        assert found.shape == expected.shape, method
        assert found.dtype == expected.dtype, method
        is_equal = operator.promise == "equal" and method not in operator.within
        if is_equal or expected.dtype.kind != "f":
            numpy.testing.assert_array_equal(found, expected, method)
        else:
            near(found, expected, BOUND[kind])


NET = ROOT / "examples/cmlcompiler/net.sched"
SCHEDULES = sorted(path for folder in ("hummingbird", "cmlcompiler")
                   for path in (ROOT / "examples" / folder).glob("*.sched") if path != NET)


@pytest.mark.parametrize("path", SCHEDULES, ids=lambda path: path.stem)
def test_schedules(path):
    """The papers' strategies, as schedules, predict as the trainer does."""
    folder = ROOT / "examples/model"
    model = schedc.compile(folder / "breast_cancer.json", path, check=False, cache=False)
    expected = numpy.loadtxt(folder / "expected.csv", skiprows=1, dtype="float32")
    numpy.testing.assert_array_equal(model.predict(numpy.load(folder / "rows.npy")), expected)
    assert model.order == "exact"


@pytest.mark.filterwarnings("ignore")
def test_schedule_of_net():
    """The schedule of a net's layers has the results of the fitted object."""
    net = neural_network.MLPClassifier((16, 8), max_iter=10, random_state=0)
    theirs = pipeline.make_pipeline(preprocessing.StandardScaler(), net).fit(ROWS, GOALS["three"])
    ours = schedc.compile(theirs, NET, check=False, cache=False)
    numpy.testing.assert_array_equal(ours.predict(ROWS), theirs.predict(ROWS))
    near(ours.predict_proba(ROWS), theirs.predict_proba(ROWS), BOUND["float64"])
    assert ours.order == "exact"


HEADING = "### The papers' operators"
LISTS = {"H": "Hummingbird", "C": "CMLCompiler", "h": "Hummingbird 0.4.12"}


def test_table():
    """The page has a line for each operator, with the results of the tests above."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, section = text.partition(HEADING)
    intro, _, rest = section.partition("|---|---|---|---|---|\n")
    table, _, after = rest.partition("\n\n")
    lines = [line(operator) for operator in OPERATORS]
    if os.environ.get("UPDATE"):
        table = "\n".join(lines)
        text = f"{before}{HEADING}{intro}|---|---|---|---|---|\n{table}\n\n{after}"
        PAGE.write_text(text, encoding="utf-8")
    assert table.splitlines() == lines


def line(operator):
    """An operator's line of the table."""
    options = ", ".join(dict.fromkeys(variant.option for variant in operator.variants))
    lists = ", ".join(LISTS[each] for each in operator.lists)
    own = "; ".join([operator.promise, *(f"`{method}` bound" for method in operator.within)])
    return f"| `{operator.name}` | {lists} | {options} | {own} | {outcome(operator)} |"


def outcome(operator):
    """The table's words for the result of the file of skl2onnx."""
    if operator.absent == ALL:
        return "no file"
    if operator.refused == ALL:
        return "refused"
    parts = ["right"]
    for words, options in (("no file", operator.absent), ("no doubles", operator.no_doubles)):
        if options:
            parts.append(words if options == ALL else f"{words}: {', '.join(options)}")
    return "; ".join(parts)


def covers(options, variant):
    return variant.option in options or options == ALL


@lru_cache(maxsize=1)
def converter():
    """The function of skl2onnx, with operator sets that ONNX Runtime reads."""
    skl2onnx = pytest.importorskip("skl2onnx")

    def convert(model, rows):
        sets = {"": 21, "ai.onnx.ml": 3}
        try:
            return skl2onnx.to_onnx(model, rows[:1], options={"zipmap": False}, target_opset=sets)
        except NameError:  # the converter of this model lacks the option
            return skl2onnx.to_onnx(model, rows[:1], target_opset=sets)

    return convert


def results(file, rows):
    """The results of a file: in ONNX Runtime, or else in the evaluator of the package onnx."""
    onnxruntime = pytest.importorskip("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    feeds = {file.graph.input[0].name: rows}
    try:
        session = onnxruntime.InferenceSession(file.SerializeToString(), options)
    except Exception:  # ONNX Runtime lacks many operators in double precision
        from onnx.reference import ReferenceEvaluator

        session = ReferenceEvaluator(file)
    return dict(zip([one.name for one in file.graph.output], session.run(None, feeds), strict=True))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("operator", "variant", "kind"), CASES)
def test_files(operator, variant, kind):
    """The compiled file of skl2onnx predicts as ONNX Runtime does."""
    convert = converter()
    theirs, rows = fitted(variant, kind)
    lacks_doubles = kind == "float64" and covers(operator.no_doubles, variant)
    if lacks_doubles or covers(operator.absent, variant):
        try:
            file = convert(theirs, rows)
        except Exception:  # any error of the converter
            return
        with pytest.raises(schedc.Refused):
            schedc.compile(file.SerializeToString(), **FAST)
        return
    rows = rows.reshape(len(rows), -1)
    file = convert(theirs, rows)
    if covers(operator.refused, variant):
        with pytest.raises(schedc.Refused, match=operator.reason):
            schedc.compile(file.SerializeToString(), **FAST)
        return
    ours = schedc.compile(file.SerializeToString(), rows=f"f{kind[-2:]}", **FAST)
    expected = results(file, rows)
    found = ours.predict(rows)
    numbers = [value for value in expected.values() if value.dtype.kind == "f" and value.size == found.size]
    for value in numbers[:1]:
        bound = max(BOUND[str(each.dtype)] for each in (value, found))
        if any(node.op_type.startswith("SVM") for node in file.graph.node):
            bound = BOUND["float32"]  # ONNX Runtime computes kernels in single precision
        near(found, value.reshape(found.shape), bound)
    labels = [value for value in expected.values() if value.dtype.kind == "i" and value.size == len(rows)]
    if found.ndim == 2 and labels:
        classes = schedc.compile(file.SerializeToString(), rows=f"f{kind[-2:]}", output="class", **FAST)
        numpy.testing.assert_array_equal(classes.predict(rows), labels[0].ravel())
    elif not numbers:
        numpy.testing.assert_array_equal(found, labels[0].ravel())
    assert numbers or labels
