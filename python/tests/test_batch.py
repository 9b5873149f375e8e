"""Predictions of tables. `SCHEDC` is the program, `EXAMPLES` the folder of examples. Tests that need pyarrow,
pandas or Polars are skipped without these."""

import csv
import json
import math
import os
import pickle
import subprocess
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy
import pytest
import schedc_runtime
from schedc_runtime import BatchPredictor, batch

EXAMPLES = Path(os.environ["EXAMPLES"])
SCHEDC = os.environ["SCHEDC"]
#: A pipeline that reads the columns age, hours and city, and drops income, distance and floor.
DROPPED = EXAMPLES.parent / "forest/pipeline/tests/fixtures/dropped-forest.onnx"
KINDS = ["dict", "pandas", "polars", "batch", "table"]


def build(model, path, *options):
    subprocess.run([SCHEDC, "build", model, "-o", path, *options], check=True, capture_output=True)
    return path


@pytest.fixture(scope="session")
def libraries(tmp_path_factory):
    folder = tmp_path_factory.mktemp("libraries")
    return {
        "tumours": build(EXAMPLES / "model/breast_cancer.json", folder / "tumours.so", "--cpu", "x86-64-v2"),
        "houses": build(EXAMPLES / "categories/lightgbm.txt", folder / "houses.so", "--cpu", "x86-64-v2"),
        "xgboost": build(EXAMPLES / "categories/xgboost.json", folder / "xgboost.so", "--cpu", "x86-64-v2"),
        "dropped": build(DROPPED, folder / "dropped.so", "--cpu", "x86-64-v2"),
    }


@pytest.fixture(scope="session")
def predictor(libraries):
    return BatchPredictor(libraries["tumours"])


def columns_of(path):
    with open(path, newline="") as file:
        header, *rows = csv.reader(file)
    return dict(zip(header, zip(*rows)))


@pytest.fixture(scope="session")
def tumours():
    read = columns_of(EXAMPLES / "model/rows.csv")
    return {name: numpy.array([float(cell) if cell else math.nan for cell in cells], dtype="float32")
            for name, cells in read.items()}


@pytest.fixture(scope="session")
def expected():
    return numpy.array(columns_of(EXAMPLES / "model/expected.csv")["prediction"], dtype="float32")


def table(columns, kind):
    """The columns as a table of a library; NaN becomes null if the library has nulls."""
    if kind == "dict":
        return columns
    if kind == "pandas":
        return pytest.importorskip("pandas").DataFrame(columns)
    if kind == "polars":
        return pytest.importorskip("polars").DataFrame(columns)
    pyarrow = pytest.importorskip("pyarrow")
    of = pyarrow.RecordBatch if kind == "batch" else pyarrow.Table
    arrays = [pyarrow.array(values, from_pandas=True) for values in columns.values()]
    return of.from_arrays(arrays, names=list(columns))


def column(results, name):
    values = results[name]
    return numpy.array(values.to_pylist() if hasattr(values, "to_pylist") else values)


@pytest.mark.parametrize("kind", KINDS)
def test_tables_are_predicted_by_name_and_come_back_as_they_were(predictor, tumours, expected, kind):
    other = {"id": numpy.arange(len(expected)), **dict(reversed(tumours.items())),
             "text": numpy.array(["x"] * len(expected))}
    given = table(other, kind)
    found = predictor.predict(given)
    assert type(found) is type(given)
    assert numpy.array_equal(column(found, "prediction").astype("float32"), expected)
    kept = BatchPredictor(predictor.model, keep=["text", "id"]).predict(given)
    names = kept.column_names if kind in ("batch",
                                          "table") else list(kept.keys() if kind == "dict" else kept.columns)
    assert names == ["text", "id", "prediction"]
    assert column(kept, "id").tolist() == list(range(len(expected)))


def test_frames_keep_their_index(predictor, tumours):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(tumours, index=range(1000, 1000 + len(tumours["mean radius"])))
    assert predictor(frame.iloc[3:5]).index.tolist() == [1003, 1004]


@pytest.mark.parametrize("output", ["value", "raw", "class", "leaf"])
@pytest.mark.parametrize("library", ["tumours", "houses"])
def test_outputs_are_named_and_typed_as_the_program_does(libraries, library, output, tmp_path):
    model, rows = {"tumours": ("model/breast_cancer.json", "model/rows.csv"),
                   "houses": ("categories/lightgbm.txt", "categories/rows.csv")}[library]
    out = tmp_path / "out.csv"
    ran = subprocess.run([SCHEDC, "predict", EXAMPLES / model, "-q", "-i", EXAMPLES / rows, "-o", out,
                          "--output", output],
                         capture_output=True, text=True)
    if ran.returncode:
        with pytest.raises(ValueError, match="no output"):
            BatchPredictor(libraries[library], output=output)
        return
    wanted = columns_of(out)
    predictor = BatchPredictor(libraries[library], output=output)
    read = columns_of(EXAMPLES / rows)
    given = {}
    for name in predictor.features:
        known = name in predictor.text_inputs if predictor.text_inputs is not None else name not in ("area",
                                                                                                     "floor")
        cells = read[name]
        given[name] = [cell or None for cell in cells] if known else [float(cell) if cell else math.nan
                                                                      for cell in cells]
        if not known and library == "tumours":
            given[name] = numpy.array(given[name], dtype="float32")
    found = predictor.predict(given)
    assert list(found) == list(wanted) == predictor.names
    for name, values in found.items():
        assert values.dtype == predictor.dtype
        assert numpy.array_equal(values, numpy.array(wanted[name]).astype(values.dtype))


def test_arrays_count_by_position(predictor, tumours, expected):
    rows = numpy.stack(list(tumours.values()), axis=1)
    assert numpy.array_equal(predictor.predict(rows)["prediction"], expected)
    assert numpy.array_equal(predictor.values(rows.astype("float64")), expected)
    with pytest.raises(ValueError, match="29 columns, but the model has 30"):
        predictor.predict(rows[:, 1:])
    with pytest.raises(ValueError, match="give a table"):
        BatchPredictor(predictor.model, {"worst area": None}).predict(rows)


def test_doubles_are_rounded_only_where_the_trainer_does(predictor, tumours, expected, tmp_path):
    wide = {name: values.astype("float64") for name, values in tumours.items()}
    assert numpy.array_equal(predictor.values(wide), expected)
    assert predictor.values({**wide, "mean radius": numpy.full(len(expected), 1e300)}).shape == expected.shape
    narrow = BatchPredictor(build(EXAMPLES / "categories/lightgbm.txt", tmp_path / "narrow.so", "--row-type",
                                  "f32"))
    row = {"country": ["NL"], "size": ["L"], "floor": [10]}
    assert round(float(narrow.values({**row, "area": numpy.array([157.4], dtype="float32")})[0]),
                 2) == 1660.88
    with pytest.raises(schedc_runtime.SchedcError, match="64-bit"):
        narrow.values({**row, "area": [157.4]})


def test_columns_of_other_names(predictor, tumours, expected):
    renamed = {name.replace("mean radius", "r"): values for name, values in tumours.items()}
    with pytest.raises(ValueError, match='lacks features of the model: "mean radius"'):
        predictor.predict(renamed)
    by_dict = BatchPredictor(predictor.model, {"mean radius": "r"})
    by_list = BatchPredictor(predictor.model, ["r", *predictor.features[1:]])
    for other in (by_dict, by_list, pickle.loads(pickle.dumps(by_dict))):
        assert numpy.array_equal(other.predict(renamed)["prediction"], expected)
    by_place = BatchPredictor(predictor.model, by_position=True, keep=["id"])
    shuffled = {"id": expected, **{str(at): values for at, values in enumerate(tumours.values())}}
    assert numpy.array_equal(by_place.predict(shuffled)["prediction"], expected)
    for kind in ("pandas", "polars", "batch", "table"):
        assert numpy.array_equal(column(by_place.predict(table(shuffled, kind)), "prediction"), expected)
    with pytest.raises(ValueError, match="31 columns, but the model has 30"):
        by_place.predict({"id": expected, "x": expected, **tumours})


@pytest.mark.parametrize("kind", [*KINDS, "records"])
def test_features_that_are_never_read_may_be_absent_or_hold_anything(libraries, kind):
    read = {"age": numpy.array([30.0, 61.0, 44.0]), "hours": numpy.array([40.5, math.nan, 38.0]),
            "city": numpy.array(["Rome", "Oslo", "Kyiv"])}
    numbers = {name: numpy.array([1.0, math.nan, 3.0]) for name in ("income", "distance", "floor")}
    texts = {name: numpy.array(["low", "", "high"]) for name in numbers}
    dates = {name: numpy.array(["2020-01-01"] * 3, dtype="datetime64[D]") for name in numbers}
    predictor = BatchPredictor(libraries["dropped"])
    assert predictor.inputs == ["age", "hours", "city"] and predictor.text_inputs == {"city"}

    def given(columns):
        if kind == "records":
            cells = zip(*(values.tolist() for values in columns.values()))
            return [dict(zip(columns, row)) for row in cells]
        return table(columns, kind)

    expected = predictor.values(read)
    assert len({tuple(row) for row in expected}) > 1
    for others in (numbers, texts, dates):
        for columns in ({**read, **others}, {**others, **dict(reversed(read.items()))}):
            assert numpy.array_equal(predictor.values(given(columns)), expected)
        if kind != "records":
            ordered = {name: {**read, **others}[name] for name in predictor.features}
            by_place = BatchPredictor(predictor.model, by_position=True)
            assert numpy.array_equal(by_place.values(given(ordered)), expected)
    renamed = BatchPredictor(predictor.model, {"city": "town", "floor": "storey"})
    assert numpy.array_equal(renamed.values(given({**read, "town": read["city"]})), expected)
    for name in read:
        with pytest.raises(ValueError, match=f'lacks features of the model: "{name}"'):
            predictor.values(given({other: read[other] for other in read if other != name}))


def test_arrays_of_objects_may_hold_anything_in_columns_that_are_never_read(libraries):
    predictor = BatchPredictor(libraries["dropped"])
    rows = numpy.array([[30.0, "low", 40.5, None, "Rome", "x"]], dtype=object)
    expected = predictor.values({"age": [30.0], "hours": [40.5], "city": ["Rome"]})
    assert numpy.array_equal(predictor.values(rows), expected)


def test_absent_features_are_missing(predictor, tumours):
    without = {name: values for name, values in tumours.items() if name != "worst area"}
    absent = BatchPredictor(predictor.model, {"worst area": None}).predict(without)["prediction"]
    missing = predictor.predict({**tumours, "worst area": numpy.full(len(absent), math.nan)})["prediction"]
    assert numpy.array_equal(absent, missing)


def test_names_that_may_be_meant(predictor, tumours):
    wrong = {name.title().replace(" ", "_"): values for name, values in tumours.items()}
    with pytest.raises(ValueError, match='"Mean_Radius" may stand for "mean radius"'):
        predictor.predict(wrong)
    with pytest.raises(ValueError, match='"mean radius" may be meant'):
        BatchPredictor(predictor.model, {"mean_radius": "r"})
    pandas = pytest.importorskip("pandas")
    twice = pandas.DataFrame(tumours)
    twice.insert(0, "mean radius ", 1.0)
    assert numpy.array_equal(predictor.values(twice), predictor.values(tumours)), "the exact name wins"
    inexact = twice.rename(columns={"mean radius": " mean radius"})
    repeated = twice.rename(columns={"mean radius ": "mean radius"})
    for rows in (inexact, repeated):
        with pytest.raises(ValueError, match="both named"):
            predictor.predict(rows)


@pytest.mark.parametrize("options, words", [
    ({"columns": ["a"]}, "columns has 1 names, and the model 30"), ({"output": "margin"}, "output is one of"),
    ({"threads": -1}, "threads"), ({"by_position": True, "columns": ["a"] * 30}, "by name or by position"),
    ({"keep": ["prediction"]}, "name of a result"), ({"unseen": "no"}, "unseen is one of"),
])
def test_wrong_options(libraries, options, words):
    with pytest.raises(ValueError, match=words):
        BatchPredictor(libraries["tumours"], **options)


def test_numbers_of_all_types(predictor):
    names = predictor.features
    ones = {name: numpy.ones(3, dtype="float32") for name in names}
    wanted = predictor.values(ones)
    for kind in ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
                 "float64", "bool", "O", ">i4"]:
        assert numpy.array_equal(predictor.values({name: numpy.ones(3).astype(kind) for name in names}),
                                 wanted), kind
    masked = numpy.ma.masked_array(numpy.ones(3), [False, True, False])
    missing = numpy.array([1, math.nan, 1])
    assert numpy.array_equal(predictor.values({**ones, names[0]: masked}),
                             predictor.values({**ones, names[0]: missing}))
    assert numpy.array_equal(predictor.values({**ones, names[0]: [1, None, True]}),
                             predictor.values({**ones, names[0]: missing}))
    for wrong, error, words in [
        (["a", "b", "c"], TypeError, "text or a dictionary"),
        (numpy.ones(3, "complex64"), TypeError, "complex64"),
        (numpy.ones(3, "M8[s]"), TypeError, "datetime64"), ([1, "a", 2], TypeError, "int and str"),
        (numpy.ones(2), ValueError, "different numbers of rows: 2, 3"),
        (numpy.ones((3, 1)), TypeError, "2 dimensions"),
        ([b"a"] * 3, TypeError, "S1"), ([b"a", None, b"b"], TypeError, "bytes"),
    ]:
        with pytest.raises(error, match=words):
            predictor.predict({**ones, names[0]: wrong})
    # Whole numbers of all types are rounded only once.
    large = 2**61 + 2**37 + 1
    once = predictor.values({**ones, names[0]: numpy.full(3, large).astype("float32")})
    for given in [numpy.full(3, large), [large] * 3, numpy.array([large] * 3, dtype="object"),
                  numpy.full(3, large, "uint64")]:
        assert numpy.array_equal(predictor.values({**ones, names[0]: given}), once)


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_numbers_of_nullable_columns(predictor, kind):
    names, values = predictor.features, [1, None, 3]
    ones = {name: numpy.ones(3, dtype="float32") for name in names}
    wanted = predictor.values({**ones, names[0]: numpy.array([1, math.nan, 3])})
    library = pytest.importorskip("pyarrow" if kind == "arrow" else kind)
    if kind == "pandas":
        made = [library.array(values, dtype=name)
                for name in ["Int8", "UInt16", "Int64", "Float32", "Float64"]]
        made += [library.Series(values, dtype=name) for name in ["Int64", "float64", "object"]]
        made += [library.arrays.SparseArray([1, math.nan, 3])]
        made = [library.Series(series) for series in made]
        truth = library.Series([True, None, True], dtype="boolean")
        refused = library.Series(["2020-01-01"] * 3, dtype="datetime64[ns]")
    elif kind == "polars":
        made = [library.Series(values, dtype=t)
                for t in [library.Int8, library.UInt32, library.Int64, library.Float32, library.Float64]]
        truth, refused = library.Series([True, None, True]), library.Series([[1], [2], [3]])
    else:
        made = [library.array(values, type=getattr(library, t)())
                for t in ["int8", "uint16", "int64", "uint64", "float32", "float64"]]
        made += [library.chunked_array([[1], [None, 3]]), library.chunked_array([values])]
        truth, refused = library.array([True, None, True]), library.array([[1], [2], [3]])
        assert numpy.array_equal(predictor.values({**ones, names[0]: library.nulls(3)}),
                                 predictor.values({**ones, names[0]: [None] * 3}))
    for given in made:
        assert numpy.array_equal(predictor.values({**ones, names[0]: given}), wanted), given
    assert numpy.array_equal(predictor.values({**ones, names[0]: truth}),
                             predictor.values({**ones, names[0]: [1, None, 1]}))
    with pytest.raises(TypeError, match="mean radius"):
        predictor.predict({**ones, names[0]: refused})


@pytest.mark.parametrize("file", ["rows", "unseen"])
@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars"])
def test_categories_by_the_library_s_table(libraries, file, kind):
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.ipc")
    rows = pyarrow.ipc.open_file(EXAMPLES / f"categories/{file}.arrow").read_all()
    wanted = {"rows": "lightgbm", "unseen": "unseen-lightgbm"}[file]
    wanted = numpy.array(columns_of(EXAMPLES / f"categories/{wanted}.csv")["prediction"], dtype="float64")
    if kind == "pandas":
        rows = rows.to_pandas()
    if kind == "polars":
        polars = pytest.importorskip("polars")
        floors = rows["floor"].combine_chunks()
        rows = polars.from_arrow(rows.drop_columns("floor"))
        rows = rows.with_columns(polars.Series("floor", floors.to_pylist(), polars.Int64))
    assert numpy.array_equal(column(BatchPredictor(libraries["houses"]).predict(rows), "prediction"), wanted)
    for own in rows.to_batches() if kind == "arrow" else []:
        BatchPredictor(libraries["houses"]).predict(own)


def test_categories_that_are_refused(libraries):
    houses = BatchPredictor(libraries["houses"])
    row = {"country": ["NL", "DE"], "size": ["L", None], "floor": [10, 20.0], "area": [157.4, 1.0]}
    codes = {"country": [2, 0], "size": [2, math.nan], "floor": [0, 1], "area": [157.4, 1.0]}
    by_codes = BatchPredictor(libraries["houses"], categories="codes")
    assert numpy.array_equal(houses.values(row), by_codes.values(codes))
    array = numpy.array([codes[name] for name in houses.features]).T
    assert numpy.array_equal(houses.values(array), by_codes.values(codes))
    array[0, houses.features.index("floor")] = 30
    with pytest.raises(ValueError, match="30 is the name of a category, and numbers of this column"):
        houses.values(array)
    with pytest.raises(ValueError, match="is a number, and no category"):
        BatchPredictor(libraries["houses"], categories="names").values(array)
    for name, wrong, words in [
        ("country", [2, 0], 'row 1: "2" is a number.*categories="codes"'),
        ("floor", ["10", "20"], '"10" is text'),
        ("size", [True, False], "true is a truth value"), ("country", [" NL", "DE"], "blanks around"),
    ]:
        with pytest.raises(ValueError, match=words):
            houses.predict({**row, name: wrong})
    strict = BatchPredictor(libraries["houses"], unseen="error")
    with pytest.raises(ValueError, match='row 2: "nl" is not a category of the model.*"NL" may be meant'):
        strict.predict({**row, "country": ["NL", "nl"]})
    other = BatchPredictor(libraries["houses"], unseen="other")
    assert numpy.array_equal(other.values({**row, "country": ["XX", "DE"]}),
                             BatchPredictor(libraries["houses"],
                                            categories="codes").values({**codes, "country": [99, 0]}))
    assert numpy.array_equal(houses.values({**row, "country": ["XX", "DE"]}),
                             by_codes.values({**codes, "country": [math.nan, 0]}))


def test_what_is_no_table(predictor):
    for wrong in [None, 7, "rows", [1.0, 2.0], numpy.zeros(30)]:
        with pytest.raises(TypeError, match="a table"):
            predictor.predict(wrong)


def test_no_rows(predictor, tumours):
    empty = {name: values[:0] for name, values in tumours.items()}
    for kind in KINDS[:1] + [kind for kind in KINDS[1:] if kind]:
        try:
            given = table(empty, kind)
        except pytest.skip.Exception:
            continue
        assert len(column(predictor.predict(given), "prediction")) == 0


def test_threads_do_not_matter(predictor, tumours, expected):
    assert numpy.array_equal(predictor.values(tumours), expected)
    assert numpy.array_equal(predictor.values(tumours, threads=2), expected)


def test_a_process_loads_a_library_once(predictor, libraries):
    pickled = pickle.dumps(predictor)
    assert len(pickled) > libraries["tumours"].stat().st_size
    one, two = pickle.loads(pickled), pickle.loads(pickle.dumps(BatchPredictor(libraries["tumours"],
                                                                               output="leaf")))
    assert one.model is two.model is predictor.model
    assert (one.output, two.output) == ("value", "leaf")


def _predict(given):
    predictor, rows = given
    return predictor.predict(rows)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes(predictor, tumours, expected, method):
    with ProcessPoolExecutor(2, mp_context=get_context(method)) as pool:
        for found in pool.map(_predict, [(predictor, tumours)] * 4):
            assert numpy.array_equal(found["prediction"], expected)


def test_threads(predictor, tumours, expected):
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(predictor.predict, [tumours] * 64):
            assert numpy.array_equal(found["prediction"], expected)


def test_levels_of_processors_agree(libraries, tmp_path, tumours, expected):
    path = build(EXAMPLES / "model/breast_cancer.json", tmp_path / "levels.so", "--cpu",
                 "x86-64-v2,x86-64-v3,x86-64-v4")
    script = (
        "import pickle, sys; predictor, rows = pickle.load(sys.stdin.buffer);"
        "sys.stdout.buffer.write(predictor.values(rows).tobytes())"
    )
    given = pickle.dumps((BatchPredictor(path), tumours))
    import sys

    for level in ["x86-64-v2", "x86-64-v3", "x86-64-v4"]:
        ran = subprocess.run([sys.executable, "-c", script], input=given, capture_output=True, check=True,
                             env={**os.environ, "SCHEDC_CPU": level})
        assert ran.stdout == expected.tobytes(), level


def package(library, server, folder, *options):
    subprocess.run([SCHEDC, "package", library, "--for", server, "-o", folder, "--name", "model", *options],
                   check=True,
                   capture_output=True)
    return folder


class _Triton:
    """A mock of `triton_python_backend_utils`, with the documented functions that a model in Python uses."""

    class Tensor:
        def __init__(self, name, array):
            self.array, self._name = array, name

        def name(self):
            return self._name

        def as_numpy(self):
            return self.array

    class TritonError(str):
        pass

    class InferenceResponse:
        def __init__(self, output_tensors=(), error=None):
            self.tensors, self.error = output_tensors, error

    @staticmethod
    def get_input_tensor_by_name(request, name):
        return next((tensor for tensor in request if tensor.name() == name), None)


def _config(text):
    """The part of Triton's model configuration that the model reads."""
    import re

    def tensors(what):
        found = re.findall(rf'^{what} \[ {{ name: "(.*)" data_type: (\w+) dims: \[ (\d+) \] }} \]$', text,
                           re.MULTILINE)
        return [{"name": name, "data_type": kind, "dims": [columns]} for name, kind, columns in found]

    parameters = re.findall(r'^parameters { key: "(\w+)" value { string_value: "(.*)" } }$', text,
                            re.MULTILINE)
    return {"input": tensors("input"), "output": tensors("output"),
            "parameters": {key: {"string_value": value} for key, value in parameters}}


def _triton(folder, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "triton_python_backend_utils", _Triton)
    model = {}
    exec((folder / "model/1/model.py").read_text(), model)
    model = model["TritonPythonModel"]()
    config = _config((folder / "model/config.pbtxt").read_text())
    model.initialize({"model_config": json.dumps(config), "model_repository": str(folder / "model"),
                      "model_version": "1"})
    return model, config


def test_triton(libraries, tmp_path, tumours, expected, monkeypatch):
    model, config = _triton(package(libraries["tumours"], "triton", tmp_path / "repository"), monkeypatch)
    assert config["input"] == [{"name": "rows", "data_type": "TYPE_FP32", "dims": ["30"]}]
    assert config["output"] == [{"name": "prediction", "data_type": "TYPE_FP32", "dims": ["1"]}]
    rows = numpy.stack(list(tumours.values()), axis=1)
    requests = [[_Triton.Tensor("rows", part)] for part in (rows[:5], rows[5:6], rows[6:])]
    found = numpy.concatenate([response.tensors[0].as_numpy() for response in model.execute(requests)])
    assert numpy.array_equal(found, expected.reshape(-1, 1))
    wrong, right = model.execute([[_Triton.Tensor("rows", rows[:, 1:])], requests[1]])
    assert "not (n, 30)" in wrong.error and numpy.array_equal(right.tensors[0].as_numpy().ravel(),
                                                              expected[5:6])


def test_triton_by_columns(libraries, tmp_path, monkeypatch):
    model, config = _triton(package(libraries["houses"], "triton", tmp_path / "repository"), monkeypatch)
    assert [(tensor["name"], tensor["data_type"]) for tensor in config["input"]] == [
        ("country", "TYPE_STRING"), ("size", "TYPE_STRING"), ("floor", "TYPE_FP64"), ("area", "TYPE_FP64")]
    texts = {"country": b"NL", "size": b"L"}
    request = [_Triton.Tensor(name, numpy.array([[text]], dtype=object)) for name, text in texts.items()]
    request += [_Triton.Tensor("floor", numpy.array([[10.0]])),
                _Triton.Tensor("area", numpy.array([[157.4]]))]
    answer = model.execute([request])[0].tensors[0].as_numpy()
    assert answer.dtype == "float64" and round(float(answer[0, 0]), 2) == 1660.88
