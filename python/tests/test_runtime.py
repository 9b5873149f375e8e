"""The package schedc_runtime on the example model. `SCHEDC` is the program, `EXAMPLES` the folder of
examples."""

import json
import os
import pickle
import subprocess
import threading
import tracemalloc
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy
import pytest
import schedc_runtime

EXAMPLES = Path(os.environ["EXAMPLES"]) / "model"


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("library") / "model.so"
    subprocess.run([os.environ["SCHEDC"], "build", EXAMPLES / "breast_cancer.json", "-o", path, "--cpu",
                    "x86-64-v2", "--name", "tumour"], check=True, capture_output=True)
    return path


@pytest.fixture(scope="session")
def model(library):
    return schedc_runtime.load(library)


@pytest.fixture(scope="session")
def rows():
    return numpy.genfromtxt(EXAMPLES / "rows.csv", delimiter=",", skip_header=1, dtype="float32")


def given(output, folder):
    """The program's predictions."""
    path = folder / "out.npy"
    subprocess.run([os.environ["SCHEDC"], "predict", EXAMPLES / "breast_cancer.json", "-i",
                    EXAMPLES / "rows.csv", "-o", path, "-q", "--output", output], check=True)
    return numpy.load(path)


def test_about(model):
    assert model.num_features == 30
    assert model.feature_names[0] == "mean radius" and len(model.feature_names) == 30
    assert json.loads(model.info_json)["model"]["trees"] == 100
    assert repr(model) == "Model(30 features, 100 trees, 1 values)"


@pytest.mark.parametrize("output", ["value", "raw", "class", "leaf"])
def test_outputs_are_those_of_the_program(model, rows, output, tmp_path):
    found, wanted = model.predict(rows, output), given(output, tmp_path)
    assert found.shape == ((171, 100) if output == "leaf" else (171,))
    assert numpy.array_equal(found, wanted.reshape(found.shape).astype(found.dtype))


def test_rows_may_lie_anywhere(model, rows):
    wanted = model.predict(rows)
    wide = numpy.zeros((171, 40), dtype="float32")
    wide[:, 5:35] = rows
    read_only = rows.copy()
    read_only.flags.writeable = False
    for same in [rows.astype("float64"), numpy.asfortranarray(rows), wide[:, 5:35], read_only,
                 rows[::-1][::-1], rows.tolist(), rows.astype(">f4"), numpy.concatenate([rows, rows])[:171]]:
        assert numpy.array_equal(model.predict(same), wanted)
    assert numpy.array_equal(model.predict(rows[::2]), wanted[::2])
    assert numpy.array_equal(model.predict(rows[::-1]), wanted[::-1])


def test_arrays_in_place(model, rows):
    many = numpy.tile(rows, (400, 1))
    wanted, out = model.predict(many), numpy.empty(len(many), dtype="float32")
    wide = numpy.zeros((len(many), 60), dtype="float32")
    wide[:, ::2] = many
    unaligned = numpy.frombuffer(b"x" + many.tobytes(), dtype="uint8")[1:].view("float32").reshape(many.shape)
    for same in [many, numpy.asfortranarray(many), numpy.asfortranarray(many.astype("float64")), wide[:, ::2],
                 numpy.asfortranarray(many[::-1])[::-1], numpy.asfortranarray(many[:, ::-1])[:, ::-1],
                 unaligned]:
        out[:] = -1
        tracemalloc.start()
        model.predict(same, out=out)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert numpy.array_equal(out, wanted)
        assert peak < 100_000, f"{peak} bytes for rows of {many.nbytes}"
    assert numpy.array_equal(model.predict(numpy.asfortranarray(many), "leaf"), model.predict(many, "leaf"))
    one = numpy.broadcast_to(rows[:1], (5, 30))
    assert numpy.array_equal(model.predict(one), numpy.repeat(wanted[:1], 5))


def test_few_rows(model, rows):
    assert model.predict(rows[:0]).shape == (0,)
    assert model.predict(rows[:0], "leaf").shape == (0, 100)
    assert model.predict(rows[7:8])[0] == model.predict(rows)[7]


def test_whole_numbers(model):
    ones = numpy.ones((2, 30), dtype="int64")
    assert numpy.array_equal(model.predict(ones), model.predict(ones.astype("float32")))
    # Rounded once, without an intermediate double.
    large = ones * (2**61 + 2**37 + 1)
    assert numpy.array_equal(model.predict(large), model.predict(large.astype("float32")))


def test_out(model, rows):
    for out in [numpy.empty(171, dtype="float32"), numpy.empty((171, 1), dtype="float32")]:
        assert model.predict(rows, out=out) is out
        assert numpy.array_equal(out.ravel(), model.predict(rows))
    read_only = numpy.empty(171, dtype="float32")
    read_only.flags.writeable = False
    for wrong in [numpy.empty(170, dtype="float32"), numpy.empty(171), numpy.empty(342, dtype="float32")[::2],
                  numpy.empty((1, 171), dtype="float32"), read_only, [0.0] * 171]:
        with pytest.raises(ValueError, match="out must be"):
            model.predict(rows, out=wrong)


def test_what_is_no_rows(model, rows):
    for wrong, error, words in [
        (rows[0], ValueError, "reshape"),
        (rows[:, :29], ValueError, "29 columns, but the model has 30"),
        (rows.astype(str), TypeError, "give numbers"),
        (rows.astype("complex64"), TypeError, "give numbers"),
        (numpy.zeros((2, 2, 2)), ValueError, "two dimensions"),
        (None, TypeError, "give numbers"),
        ([["a"] * 30], TypeError, "give numbers"),
    ]:
        with pytest.raises(error, match=words):
            model.predict(wrong)
    for options in [{"output": "margin"}, {"threads": -1}]:
        with pytest.raises(ValueError):
            model.predict(rows, **options)


def test_tables_are_not_taken_by_position(model, rows):
    class Frame:
        columns = ["a", "b"]

        def __array__(self, dtype=None, copy=None):
            return rows

    with pytest.raises(TypeError, match="feature_names"):
        model.predict(Frame())


def test_libraries_from_bytes_and_pickles(model, library, rows, tmp_path):
    wanted = model.predict(rows)
    assert numpy.array_equal(schedc_runtime.load(library.read_bytes()).predict(rows), wanted)
    # A model keeps its library even if the file is replaced.
    copy = tmp_path / "copy.so"
    copy.write_bytes(library.read_bytes())
    loaded = schedc_runtime.load(str(copy))
    beside = tmp_path / "other"
    beside.write_bytes(b"something else")
    beside.replace(copy)
    assert numpy.array_equal(pickle.loads(pickle.dumps(loaded)).predict(rows), wanted)


def test_a_new_file_under_an_open_name_is_another_model(model, library, rows, tmp_path):
    path = tmp_path / "model.so"
    path.write_bytes(library.read_bytes())
    before = schedc_runtime.load(path)
    subprocess.run([os.environ["SCHEDC"], "build", EXAMPLES / "breast_cancer.json", "-o", path, "--cpu",
                    "x86-64-v2", "--iterations", "0..50"], check=True, capture_output=True)
    after = schedc_runtime.load(path)
    assert json.loads(after.info_json)["model"]["trees"] == 50
    assert not numpy.array_equal(after.predict(rows), model.predict(rows))
    assert numpy.array_equal(before.predict(rows), model.predict(rows))


def test_what_is_no_library(tmp_path):
    for wrong in [tmp_path / "missing.so", b"", b"\x7fELF", Path("/bin/sh").read_bytes()]:
        with pytest.raises(OSError):
            schedc_runtime.load(wrong)
    with pytest.raises(TypeError):
        schedc_runtime.load(7)


def test_why_a_library_is_not_loaded(library, tmp_path):
    """Errors of the loader reach the user: here the library is for another processor."""
    damaged = bytearray(library.read_bytes())
    damaged[18] ^= 0xFF
    path = tmp_path / "damaged.so"
    path.write_bytes(damaged)
    for wrong in [path, bytes(damaged)]:
        with pytest.raises(OSError, match="cannot be loaded: .*cannot open shared object file"):
            schedc_runtime.load(wrong)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes(model, rows, method):
    wanted = model.predict(rows, threads=2)
    with ProcessPoolExecutor(2, mp_context=get_context(method)) as pool:
        for found in pool.map(model.predict, [rows] * 4):
            assert numpy.array_equal(found, wanted)


def test_threads(model, rows):
    many, wanted = numpy.tile(rows, (50, 1)), numpy.tile(model.predict(rows), 50)
    wrong = []

    def work():
        for _ in range(10):
            if not numpy.array_equal(model.predict(many, threads=2), wanted):
                wrong.append(threading.get_ident())

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
