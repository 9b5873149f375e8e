"""Arrays and tables in a GPU's memory whose columns kernels read in place, over a driver that uses this
machine's processor."""

import ctypes
import sys
import types

import lightgbm
import numpy
import pandas
import pytest
import schedc
import schedc_runtime
import xgboost
from devices import Consumed, Driver, Exporting, Frame, Interfacing, bitmap
from kernels import compiled

FEATURES = list("abcdefgh")
KINDS = pytest.mark.parametrize("kind", [Exporting, Interfacing])
TABLES = pytest.mark.parametrize("table_of", [dict, Frame])


@pytest.fixture(scope="module")
def patch():
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="module")
def whole(rows):
    """Rows of whole numbers of at most seven bits."""
    found = numpy.rint(3 * numpy.nan_to_num(rows)).clip(-100, 100)
    assert len(numpy.unique(found)) > 10
    return found


@pytest.fixture(scope="module")
def theirs(whole, rows, target):
    """An object with names of features, whose results depend on all features."""
    frame = pandas.DataFrame(dict(zip(FEATURES, numpy.where(numpy.isnan(rows), numpy.nan, whole).T)))
    return xgboost.XGBRegressor(n_estimators=12, max_depth=4).fit(frame, target)


@pytest.fixture(scope="module")
def model(theirs, gpu_folder, patch):
    """A compiled object whose features have names."""
    theirs.save_model(gpu_folder / "model.json")
    return compiled(gpu_folder, gpu_folder / "model.json", patch, source=theirs)


@pytest.fixture(scope="module")
def driver(gpu_folder, model):
    return Driver(gpu_folder / "driver.so")


VIEWS = {
    "Fortran order": numpy.asfortranarray,
    "each third row": lambda rows: numpy.repeat(rows, 3, axis=0)[1::3],
    "columns of a wider array": lambda rows: numpy.hstack([rows, rows, rows])[:, 8:16],
    "each second column": lambda rows: numpy.repeat(rows, 2, axis=1)[:, ::2],
    "rows backwards": lambda rows: rows[::-1].copy()[::-1],
    "columns backwards": lambda rows: rows[:, ::-1].copy()[:, ::-1],
    "one row": lambda rows: numpy.asfortranarray(rows)[7:8],
    "two rows of one column's memory": lambda rows: numpy.asfortranarray(rows)[[3, 9]],
    "no rows": lambda rows: numpy.asfortranarray(rows)[:0],
}


@KINDS
@pytest.mark.parametrize("name", VIEWS)
def test_views_of_rows(model, driver, whole, kind, name):
    view = VIEWS[name](numpy.where(whole == 3, numpy.nan, whole).astype("float32"))
    rows = kind.like(driver, view)
    model.predict(rows)
    driver.uploaded()
    for output in ("value", "raw", "leaf"):
        found = model.predict(rows, output=output).to_numpy()
        assert driver.uploaded() == 0, "rows have been copied"
        assert numpy.array_equal(found, model.predict(view, output=output)), output
        driver.uploaded()


TYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool", "float64"]


@KINDS
@pytest.mark.parametrize("name", ["packed", "Fortran order", "rows backwards"])
@pytest.mark.parametrize("element", TYPES)
def test_types_of_rows(model, driver, whole, kind, element, name):
    values = (numpy.abs(whole) if element.startswith("u") else whole).astype(element)
    view = values if name == "packed" else VIEWS[name](values)
    found = model.predict(kind.like(driver, view)).to_numpy()
    assert numpy.array_equal(found, model.predict(view))
    assert len(numpy.unique(found)) > 5


def test_large_integers_are_rounded_once(driver, gpu_folder, patch, model):
    """The nearest single precision of an integer is another one if double precision comes between them."""
    large = 2**60 + 2**36 + 1
    column = numpy.array([large - 2, large], dtype="int64").repeat(50)
    assert column.astype("float64").astype("float32")[-1] < column.astype("float32")[-1]
    rows = numpy.repeat(column[:, None], 8, axis=1)
    target = numpy.arange(100) >= 50
    tree = xgboost.XGBRegressor(n_estimators=1, max_depth=1).fit(rows, target)
    tree.save_model(gpu_folder / "large.json")
    made = compiled(gpu_folder, gpu_folder / "large.json", patch, source=tree)
    on_gpu = made.predict(Exporting(driver, rows)).to_numpy()
    assert numpy.array_equal(on_gpu, made.predict(rows)) and len(numpy.unique(on_gpu)) == 2


@KINDS
@TABLES
def test_columns_are_found_by_name(model, driver, whole, kind, table_of):
    """In any order, with other columns beside them, and of any types."""
    kinds = ["float32", "int8", "int64", "float64", "int16", "bool", "int32", "float32"]
    host = {name: whole[:, at].astype(kinds[at]) for at, name in enumerate(FEATURES)}
    other = numpy.zeros(len(whole), dtype="float16")
    for order in (FEATURES, FEATURES[::-1], FEATURES[3:] + FEATURES[:3]):
        names = [*order[:4], "other", *order[4:]]
        columns = {name: host.get(name, other) for name in names}
        table = table_of({name: kind.like(driver, values) for name, values in columns.items()})
        model.predict(table)
        driver.uploaded()
        for output in ("value", "leaf"):
            found = model.predict(table, output=output)
            assert isinstance(found, schedc_runtime.DeviceArray)
            assert driver.uploaded() == 0, "columns have been copied"
            assert numpy.array_equal(found.to_numpy(), model.predict(host, output=output))
            driver.uploaded()


@TABLES
def test_options_of_columns(model, driver, whole, table_of):
    """Options mean the same as for a table in the host's memory."""
    host = {name: whole[:, at].astype("float32") for at, name in enumerate(["x", *FEATURES[1:]])}
    positions = dict(zip("87654321", host.values()))
    reader = schedc_runtime.BatchPredictor(model.library, columns={"a": "x"}, output="leaf")
    for table, options in [
        (host, {"columns": {"a": "x"}}), (host, {"columns": {"a": None}}),
        (host, {"columns": ["h", *FEATURES[1:7], "x"]}), (positions, {"by_position": True}),
    ]:
        on_gpu = table_of({name: Exporting(driver, values) for name, values in table.items()})
        found = model.predict(on_gpu, **options).to_numpy()
        assert numpy.array_equal(found, model.predict(table, **options)), options
    on_gpu = table_of({name: Exporting(driver, values) for name, values in host.items()})
    assert numpy.array_equal(reader.values(on_gpu).to_numpy(), reader.values(host))


@TABLES
def test_tables_are_refused_as_on_the_host(model, driver, whole, table_of):
    """The same code finds columns, so the messages are the same."""
    host = {name: whole[:, at].astype("float32") for at, name in enumerate(FEATURES)}
    renamed = {name.upper() if name in "ab" else name: values for name, values in host.items()}
    twice = {" a": host["a"], "a ": host["a"], **{name: host[name] for name in "bcdefgh"}}
    for table, options in [
        ({name: host[name] for name in "abc"}, {}), (renamed, {}), (twice, {}),
        (host, {"columns": {"z": "a"}}), (host, {"columns": ["a"]}),
        ({**host, "i": host["a"]}, {"by_position": True}),
    ]:
        with pytest.raises(schedc.Refused) as on_host:
            model.predict(table, **options)
        with pytest.raises(schedc.Refused) as on_gpu:
            columns = {name: Exporting(driver, values) for name, values in table.items()}
            model.predict(table_of(columns), **options)
        assert str(on_gpu.value) == str(on_host.value)
        assert on_gpu.value.findings[0].code == on_host.value.findings[0].code


@pytest.mark.parametrize("count", [1, 8, 13, 400])
@TABLES
def test_masks(model, driver, whole, table_of, count):
    """Bits of a mask are Arrow's validity."""
    host, on_gpu = {}, {}
    for at, name in enumerate(FEATURES):
        values = whole[:count, at].astype("int32" if at % 2 else "float32")
        on_gpu[name] = Interfacing(driver, values)
        if at % 3 != 2:
            valid = numpy.arange(count) % (at + 2) != 0
            on_gpu[name].mask = bitmap(driver, valid)
            values = numpy.where(valid, values, numpy.nan)
        host[name] = values
    found = model.predict(table_of(on_gpu)).to_numpy()
    assert numpy.array_equal(found, model.predict(host))
    for column in on_gpu.values():
        column.mask = None
    assert not numpy.array_equal(found, model.predict(table_of(on_gpu)).to_numpy())


def test_streams_of_columns(model, driver, whole):
    """The call's stream waits for the streams of all columns and masks. The driver does work as late as
    possible, so a call that does not wait reads garbage."""
    of_call = driver.stream()
    valid = numpy.arange(len(whole)) % 3 != 0
    on_gpu, host = {}, {}
    for at, name in enumerate(FEATURES):
        kind = (Exporting, Interfacing)[at % 2]
        host[name] = whole[:, at].astype("float32")
        on_gpu[name] = kind(driver, host[name], stream=driver.stream())
    on_gpu["h"].mask = bitmap(driver, valid, stream=driver.stream())
    host["h"] = numpy.where(valid, host["h"], numpy.nan)
    found = model.predict(on_gpu, stream=of_call)
    assert found.stream == of_call
    assert numpy.array_equal(found.to_numpy(), model.predict(host))
    assert on_gpu["a"].streams == [of_call]
    with pytest.raises(schedc.Refused, match="stream= is for rows in a GPU's memory"):
        model.predict(host, stream=of_call)


@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_columns_of_pytorch_and_cupy(model, driver, whole, monkeypatch, library):
    """Calls are in the library's current stream, and results are its arrays."""
    handle, module = driver.stream(), types.ModuleType(library)
    monkeypatch.setitem(sys.modules, library, module)
    module.from_dlpack = lambda result: (library, Consumed(result, stream=handle))
    module.cuda = types.SimpleNamespace(
        current_stream=lambda device: types.SimpleNamespace(cuda_stream=handle),
        get_current_stream=lambda device: types.SimpleNamespace(ptr=handle),
    )
    array = type("Array", (Exporting,), {"__module__": f"{library}.core"})
    array.device = types.SimpleNamespace(id=0)
    host = {name: whole[:, at].astype("float32") for at, name in enumerate(FEATURES)}
    out = Exporting(driver, numpy.zeros(len(whole), dtype="float32"))
    driver.wait()
    name, taken = model.predict({name: array(driver, values) for name, values in host.items()})
    assert name == library
    driver.copy(out.address, taken.tensor.data, out.values.nbytes, handle)
    driver.within(0, "cuStreamSynchronize", ctypes.c_void_p(handle))
    assert numpy.array_equal(out.numpy(), model.predict(host))
    taken.release()


def test_out_and_device_of_columns(model, driver, whole):
    host = {name: whole[:, at].astype("float32") for at, name in enumerate(FEATURES)}
    for device in (1, 0):
        on_gpu = {name: Exporting(driver, values, device=device) for name, values in host.items()}
        out = Exporting(driver, numpy.zeros(len(whole), dtype="float32"), device=device)
        assert model.predict(on_gpu, out=out) is out
        assert numpy.array_equal(out.numpy(), model.predict(host))
        assert model.predict(on_gpu, device=device).device == device
        with pytest.raises(schedc.Refused, match=f"GPU {device}, where the call runs"):
            model.predict(on_gpu, device=1 - device)
    empty = {name: Exporting(driver, values[:0]) for name, values in host.items()}
    assert model.predict(empty, output="leaf").to_numpy().shape == (0, 12)


def changed(column, kind=Exporting, **options):
    """A table's columns with another one in place of `c`."""
    return lambda driver, host: kind(driver, column(host["c"]), **options)


def masked(driver, host, mask):
    made = Interfacing(driver, host["c"])
    made.mask = mask
    return made


def unaligned(driver, host):
    """Elements between the fields of packed records."""
    records = numpy.zeros(len(host["c"]), dtype=[("flag", "u1"), ("value", "<f4")])
    records["value"] = host["c"]
    return Interfacing.like(driver, records["value"])


class Texts:
    """A column of texts of cuDF."""

    def __len__(self):
        return 400

    @property
    def __cuda_array_interface__(self):
        raise NotImplementedError("Strings are not yet supported")


REFUSED = {
    "in the host's memory": (lambda driver, host: host["c"], ValueError,
                             'column "c" is in the host\'s memory, and other columns.*cupy'),
    "a list": (lambda driver, host: host["c"].tolist(), ValueError, 'column "c" is in the host\'s memory'),
    "on another GPU": (changed(abs, device=1), ValueError,
                       'column "c" is in the memory of GPU 1, and column "a" in that of GPU 0; copy'),
    "half precision": (changed(lambda column: column.astype("float16")), TypeError,
                       'column "c" holds values of type float16; give float32'),
    "two dimensions": (changed(lambda column: column[:, None]), TypeError,
                       'column "c" has 2 dimensions; a column has one'),
    "fewer rows": (changed(lambda column: column[:9]), ValueError, "different numbers of rows: 9, 400"),
    "one element": (changed(lambda column: column, strides=(0,)), ValueError,
                    r'column "c" has the same element in all rows.*X\.contiguous\(\)'),
    "unaligned": (unaligned, ValueError, r'column "c" has elements at addresses.* 4 bytes; .*X\.copy\(\)'),
    "texts": (lambda driver, host: Texts(), TypeError, 'column "c": Strings are not yet supported'),
    "bytes as mask": (
        lambda driver, host: masked(driver, host, Interfacing(driver, host["c"] > 0)), TypeError,
        r'column "c": the array has a mask of the type \|b1.*give NaN'),
    "a short mask": (
        lambda driver, host: masked(driver, host, bitmap(driver, host["c"][:9] > 0)), TypeError,
        'column "c": the array has a mask of the type <t1.*a bit for each element'),
}


@pytest.mark.parametrize("name", REFUSED)
@TABLES
def test_columns_that_are_refused(model, driver, whole, name, table_of):
    column, error, words = REFUSED[name]
    host = {name: whole[:, at].astype("float32") for at, name in enumerate(FEATURES)}
    on_gpu = {name: Exporting(driver, values) for name, values in host.items()}
    if table_of is Frame and name == "fewer rows":
        words = 'column "c" has 9 rows, and the table 400'
    on_gpu["c"] = column(driver, host)
    with pytest.raises(error, match=words) as refused:
        model.predict(table_of(on_gpu))
    assert isinstance(refused.value, schedc.Refused)


def test_rows_with_a_mask(model, driver, whole):
    rows = Interfacing(driver, whole.astype("float32"))
    rows.mask = bitmap(driver, whole > 0)
    with pytest.raises(TypeError, match="the array of rows has a mask; give NaN"):
        model.predict(rows)
    out = Interfacing(driver, numpy.zeros(len(whole), dtype="float32"))
    out.mask = bitmap(driver, whole[:, 0] > 0)
    with pytest.raises(ValueError, match="out must be a writable array"):
        model.predict(Exporting(driver, whole.astype("float32")), out=out)


def test_calls_that_are_refused(model, driver, whole, theirs):
    on_gpu = {name: Exporting(driver, whole[:, at]) for at, name in enumerate(FEATURES)}
    with pytest.raises(ValueError, match="base_margin is for rows in the host's memory"):
        schedc_runtime.BatchPredictor(model.library)._model.predict_gpu_columns(
            [(f'"{name}"', values) for name, values in on_gpu.items()], 400, base_margin=whole[:, 0])
    with pytest.raises(ValueError, match=r"there are 1 columns, and the model has 8"):
        schedc_runtime.BatchPredictor(model.library)._model.predict_gpu_columns([("a", on_gpu["a"])], 400)
    with pytest.raises(ValueError, match='compiled for the processor.*target="gpu"'):
        schedc.compile(theirs).predict(on_gpu)
    for table in (on_gpu, Frame(on_gpu)):
        predictor = schedc_runtime.BatchPredictor(model.library)
        with pytest.raises(TypeError, match=r"values\(table\) returns them"):
            predictor.predict(table)
        classifier = schedc.compile(xgboost.XGBClassifier(n_estimators=3).fit(whole, whole[:, 0] > 0))
        for call in (classifier.predict, classifier.predict_proba):
            with pytest.raises(TypeError, match='output= "value"'):
                call(table)
        labelled = schedc_runtime.BatchPredictor(classifier.library, output="class", by_position=True)
        with pytest.raises(schedc.Refused, match='labels of classes.*output="raw"'):
            labelled.values(table)


def test_types_of_models(driver, model, gpu_folder, patch, rows, target):
    """LightGBM rounds integers of arrays to single precision, and those of tables to double precision. A
    model that reads double precision takes packed rows of single precision, too."""
    theirs = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(rows.astype("float64"), target)
    theirs.booster_.save_model(gpu_folder / "lightgbm.txt")
    made = compiled(gpu_folder, gpu_folder / "lightgbm.txt", patch, source=theirs, rows="f64")
    wide = (numpy.nan_to_num(rows) * 1e6).astype("int64")
    names = [f"Column_{at}" for at in range(8)]
    for values in (rows.astype("float64"), rows, wide.astype("int16"), numpy.asfortranarray(rows)):
        found = made.predict(Exporting.like(driver, values)).to_numpy()
        assert numpy.array_equal(found, made.predict(values))
    with pytest.raises(TypeError, match=r"int64, which the trainer rounds to float32: give X\.astype"):
        made.predict(Exporting(driver, wide))
    columns = {name: Exporting(driver, wide[:, at]) for at, name in enumerate(names)}
    host = dict(zip(names, wide.T))
    found = made.predict(columns).to_numpy()
    assert numpy.array_equal(found, made.predict(host)) and len(numpy.unique(found)) > 5


def test_rows_that_the_code_would_round(driver, model, gpu_folder, patch, rows, target):
    theirs = lightgbm.LGBMRegressor(n_estimators=2, verbose=-1).fit(rows, target)
    theirs.booster_.save_model(gpu_folder / "single.txt")
    made = compiled(gpu_folder, gpu_folder / "single.txt", patch, source=theirs, rows="f32", check=False)
    double = numpy.asfortranarray(rows, dtype="float64")
    table = {f"Column_{at}": Exporting(driver, double[:, at]) for at in range(8)}
    for given in (table, Exporting.like(driver, double), Exporting(driver, double), double):
        with pytest.raises(schedc.SchedcError, match=r'32-bit floats only.*X\.astype\("float32"\)'):
            made.predict(given)


def test_names_of_categories(driver, model, gpu_folder, patch):
    """Names are looked up in the host's memory."""
    values = pandas.Series(["x", "y", "z"] * 30, dtype="category")
    frame = pandas.DataFrame({"kind": values, "size": numpy.arange(90.0)})
    theirs = lightgbm.LGBMRegressor(n_estimators=3, verbose=-1, min_child_samples=5)
    theirs.fit(frame, (frame["kind"] == "y") * 50 + frame["size"])
    theirs.booster_.save_model(gpu_folder / "names.txt")
    made = compiled(gpu_folder, gpu_folder / "names.txt", patch, source=theirs, rows="f64")
    codes = values.cat.codes.to_numpy().astype("float64")
    array = numpy.stack([codes, frame["size"]], axis=1)
    table = {"kind": Exporting(driver, codes), "size": Exporting(driver, frame["size"].to_numpy())}
    with pytest.raises(schedc.Refused, match='column "kind" has categories with names') as refused:
        made.predict(table)
    assert refused.value.findings[0].code == "D0027"
    on_gpu = made.predict(Exporting.like(driver, numpy.asfortranarray(array))).to_numpy()
    assert numpy.array_equal(on_gpu, made.predict(frame))
