"""Rows in a GPU's memory, over a driver that uses this machine's processor. `HOST_KERNELS` is the program
that makes the driver and the kernels for it."""

import ctypes
import gc
import json
import os
import subprocess
import sys
import types
from pathlib import Path

import numpy
import pytest
import schedc
import schedc_runtime
import xgboost
from devices import Consumed, Driver, Exporting, Interfacing
from kernels import SCHEDULE, compiled

EXAMPLES = Path(os.environ["EXAMPLES"])
MODEL = EXAMPLES / "model/breast_cancer.json"
KINDS = pytest.mark.parametrize("kind", [Exporting, Interfacing])


@pytest.fixture(scope="module")
def patch():
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="module")
def model(gpu_folder, patch):
    """The example model as a library, loaded by the runtime."""
    made = compiled(gpu_folder, MODEL, patch, rows="f32")
    made.save(gpu_folder / "gpu.so")
    return schedc_runtime.load(gpu_folder / "gpu.so")


@pytest.fixture(scope="module")
def driver(gpu_folder, model):
    return Driver(gpu_folder / "driver.so")


@pytest.fixture(scope="module")
def table():
    return numpy.genfromtxt(EXAMPLES / "model/rows.csv", delimiter=",", skip_header=1, dtype="float32")


@pytest.fixture(scope="module")
def expected(table):
    known = schedc.compile(MODEL)
    return {output: known.predict(table, output=output) for output in ("value", "raw", "class", "leaf")}


@KINDS
def test_results_stay_on_the_gpu(model, driver, table, expected, kind):
    rows = kind(driver, table)
    model.predict(rows)
    driver.uploaded()
    for output, wanted in expected.items():
        found = model.predict(rows, output)
        assert isinstance(found, schedc_runtime.DeviceArray)
        assert (tuple(found.shape), found.dtype, found.device) == (wanted.shape, str(wanted.dtype), 0)
        assert len(found) == len(table) and "GPU 0" in repr(found)
        assert numpy.array_equal(found.to_numpy(), wanted)
    assert driver.uploaded() == 0, "rows have been copied"


@KINDS
def test_few_rows(model, driver, table, expected, kind):
    assert model.predict(kind(driver, table[:0])).to_numpy().shape == (0,)
    assert model.predict(kind(driver, table[:0]), "leaf").to_numpy().shape == (0, 100)
    # Strides of a dimension of one element have no meaning.
    one = kind(driver, table[3:4], strides=(7, 1))
    assert model.predict(one).to_numpy() == expected["value"][3]


@KINDS
def test_calls_are_in_order_of_streams(model, driver, table, expected, kind):
    """The test driver does work as late as possible, so a call that does not wait reads garbage."""
    of_rows, of_call = driver.stream(), driver.stream()
    rows = kind(driver, table, stream=of_rows)
    found = model.predict(rows, stream=of_call)
    assert found.stream == of_call
    assert numpy.array_equal(found.to_numpy(), expected["value"])
    if kind is Exporting:
        assert rows.streams == [of_call]
    # Without an argument: the stream that the rows name, or the default one.
    rows = kind(driver, table, stream=of_rows)
    found = model.predict(rows)
    assert found.stream == (of_rows if kind is Interfacing else 1)
    assert numpy.array_equal(found.to_numpy(), expected["value"])


@pytest.mark.parametrize("name", ["ptr", "cuda_stream", "__cuda_stream__"])
def test_streams_of_libraries(model, driver, table, name):
    handle = driver.stream()

    class Stream:
        ended = False

        def __del__(self):
            Stream.ended = True

    value = (lambda self: (0, handle)) if name == "__cuda_stream__" else handle
    setattr(Stream, name, value)
    found = model.predict(Exporting(driver, table), stream=Stream())
    assert found.stream == handle
    # The stream exists as long as the results.
    assert not Stream.ended
    del found
    gc.collect()
    assert Stream.ended


def test_out(model, driver, table, expected):
    for shape in [(171,), (171, 1)]:
        for kind in (Exporting, Interfacing):
            out = kind(driver, numpy.zeros(shape, dtype="float32"))
            assert model.predict(Exporting(driver, table), out=out) is out
            assert numpy.array_equal(out.numpy().ravel(), expected["value"])
    before = model.predict(Exporting(driver, table), "raw")
    assert model.predict(Exporting(driver, table), out=before) is before
    assert numpy.array_equal(before.to_numpy(), expected["value"])
    read_only = Interfacing(driver, numpy.zeros(171, dtype="float32"))
    read_only.read_only = True
    for wrong in [
        Exporting(driver, numpy.zeros(170, dtype="float32")), Exporting(driver, numpy.zeros(171)),
        Exporting(driver, numpy.zeros((171, 1), dtype="float32"), strides=(2, 1)), read_only,
        Exporting(driver, numpy.zeros(171, dtype="float32"), device=1), numpy.zeros(171, dtype="float32"),
    ]:
        with pytest.raises(ValueError, match=r"out must be .*float32 .*shape \(171,\), .* of GPU 0"):
            model.predict(Exporting(driver, table), out=wrong)


def test_consumers_take_results(model, driver, table, expected):
    own, other = driver.stream(), driver.stream()
    out = Exporting(driver, numpy.zeros(171, dtype="float32"))
    driver.wait()
    rows = Exporting(driver, table)  # whose end waits for all work
    found = model.predict(rows, stream=own)
    assert found.__dlpack_device__() == (2, 0)
    about = found.__cuda_array_interface__
    assert about == {"shape": (171,), "typestr": "<f4", "strides": None, "version": 3, "stream": own,
                     "data": (about["data"][0], False)}
    taken = Consumed(found, stream=other, max_version=(1, 0))
    assert (taken.place, taken.shape, taken.tensor.data) == ((2, 0), (171,), about["data"][0])
    # The consumer's stream waits for the call.
    driver.copy(out.address, taken.tensor.data, out.values.nbytes, other)
    driver.within(0, "cuStreamSynchronize", ctypes.c_void_p(other))
    assert numpy.array_equal(out.numpy(), expected["value"])
    taken.release()
    for wrong in [{"copy": True}, {"dl_device": (2, 1)}, {"dl_device": (1, 0)}]:
        with pytest.raises(BufferError, match="to_numpy"):
            found.__dlpack__(**wrong)
    with pytest.raises(TypeError, match="to_numpy"):
        numpy.asarray(found)


def test_memory_is_freed(model, driver, table):
    gc.collect()
    rows, stream = Exporting(driver, table), driver.stream()
    model.predict(rows, stream=stream).to_numpy()
    model.predict(rows).to_numpy()
    before = driver.memory()
    for _ in range(20):
        model.predict(rows, stream=stream)
        model.predict(rows, "leaf")
    found = model.predict(rows, stream=stream)
    found.__dlpack__(stream=-1)  # a capsule that nobody takes
    taken = Consumed(found, stream=stream)
    del found
    gc.collect()
    assert driver.memory() == before + 4 * len(table), "the consumer has the memory"
    taken.release()
    assert driver.memory() == before
    # A consumer's work in another stream, which is not done when the memory ends.
    found, other = model.predict(rows, stream=stream), driver.stream()
    taken = Consumed(found, stream=other)
    driver.fill(taken.tensor.data, 4 * len(table), other)
    del found
    taken.release()
    assert driver.memory() == before
    # A call that the library refuses.
    with pytest.raises(TypeError, match="float16"):
        model.predict(Exporting(driver, table.astype("float16")), stream=stream)
    assert driver.memory() == before


def library(name, kind, monkeypatch, stream):
    """A module that stands for a library, and its type of arrays."""
    module = types.ModuleType(name)
    monkeypatch.setitem(sys.modules, name, module)
    array = type("Array", (kind,), {"__module__": f"{name}.core"})
    module.from_dlpack = lambda result: (name, Consumed(result, stream=stream))
    module.cuda = types.SimpleNamespace()
    return module, array


def test_arrays_of_pytorch_and_cupy_come_back(model, driver, table, expected, monkeypatch):
    handle = driver.stream()
    torch, tensor = library("torch", Exporting, monkeypatch, handle)
    torch.cuda.current_stream = lambda device: types.SimpleNamespace(cuda_stream=handle)
    cupy, array = library("cupy", Exporting, monkeypatch, handle)
    cupy.cuda.get_current_stream = lambda device: types.SimpleNamespace(ptr=handle, device=device)
    array.device, tensor.device = types.SimpleNamespace(id=0), "cuda:0"
    for name, kind in (("torch", tensor), ("cupy", array)):
        out = Exporting(driver, numpy.zeros(171, dtype="float32"))
        driver.wait()
        rows = rows_of(kind, driver, table)
        given, taken = model.predict(rows)
        assert given == name and rows.streams == [handle]
        driver.copy(out.address, taken.tensor.data, out.values.nbytes, handle)
        assert numpy.array_equal(out.numpy(), expected["value"])
        taken.release()
    # No library is imported for an array.
    monkeypatch.delitem(sys.modules, "torch")
    assert isinstance(model.predict(rows_of(tensor, driver, table)), schedc_runtime.DeviceArray)
    assert "torch" not in sys.modules


def rows_of(kind, driver, table):
    rows = Exporting(driver, table)
    rows.__class__ = kind
    return rows


@KINDS
def test_rows_choose_the_gpu(model, driver, table, expected, kind):
    for device in (1, 0):
        found = model.predict(kind(driver, table, device=device))
        assert found.device == device and found.__dlpack_device__() == (2, device)
        assert numpy.array_equal(found.to_numpy(), expected["value"])
        assert numpy.array_equal(model.predict(table, device=device), expected["value"])
    with pytest.raises(ValueError, match="GPU 1, where the call runs"):
        model.predict(kind(driver, table, device=1), device=0)
    with pytest.raises(ValueError, match="from 0 on"):
        model.predict(table, device=-1)
    with pytest.raises(schedc.SchedcError, match="no GPU of this number"):
        model.predict(table, device=2)


@KINDS
def test_rows_that_do_not_fit(model, driver, table, kind):
    for rows, error, words in [
        (kind(driver, table[0]), ValueError, "reshape"),
        (kind(driver, table[:, :29]), ValueError, "29 columns, but the model has 30"),
        (kind(driver, table, strides=(0, 1)), ValueError, r"same element in all rows.*X\.copy\(\)"),
        (kind(driver, table.astype("float16")), TypeError, "float16; give float32"),
    ]:
        with pytest.raises(error, match=words):
            model.predict(rows)
    rows = kind(driver, table)
    for options, error, words in [
        ({"output": "margin"}, ValueError, "output is"),
        ({"base_margin": table[:, 0]}, ValueError, "base_margin"),
        ({"stream": "fast"}, TypeError, "stream is the handle"),
    ]:
        with pytest.raises(error, match=words):
            model.predict(rows, **options)
    with pytest.raises(ValueError, match="stream= is for"):
        model.predict(table, stream=1)


def test_arrays_of_other_kinds(model, driver, table):
    rows = Interfacing(driver, table, element=">f4")
    with pytest.raises(TypeError, match=">f4"):
        model.predict(rows)
    rows = Exporting(driver, table)
    rows.kind = 10
    with pytest.raises(TypeError, match="AMD"):
        model.predict(rows)


def test_models_that_do_not_run_there(model, driver, table, gpu_folder, patch, expected):
    rows = Exporting(driver, table)
    with pytest.raises(ValueError, match='compiled for the processor.*target="gpu"'):
        schedc.compile(MODEL).predict(rows, output="value")
    schedule = SCHEDULE + "when n_rows <= 20 {\n    interleave(tree, 2)\n}\n"
    both = compiled(gpu_folder, MODEL, patch, schedule=schedule)
    few = Exporting(driver, table[:20])
    with pytest.raises(ValueError, match="cannot predict 20 rows in a GPU's memory.*when"):
        both.predict(few)
    assert numpy.array_equal(both.predict(rows).to_numpy(), expected["value"])


def test_no_driver(gpu_folder, model):
    """Rows without a driver, and results of a driver that fails."""
    script = (
        "import schedc_runtime, sys\n"
        "class Rows:\n"
        "    __cuda_array_interface__ = {'shape': (2, 30), 'typestr': '<f4', 'data': (4096, False)}\n"
        "try:\n    schedc_runtime.load(sys.argv[1]).predict(Rows())\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )
    found = subprocess.run([sys.executable, "-c", script, gpu_folder / "gpu.so"], capture_output=True,
                           text=True, env={**os.environ, "SCHEDC_CUDA_DRIVER": "no-such-driver.so"})
    assert "no driver for NVIDIA GPUs" in found.stdout and "SCHEDC_CUDA_DRIVER" in found.stdout, found


def test_engines_name_the_gpu(gpu_folder, model, table, expected, monkeypatch):
    from schedc_runtime import spark, triton

    tensor = {"name": "rows", "dims": ["30"]}
    config = json.dumps({"input": [tensor], "output": [{"name": "prediction"}]})
    (gpu_folder / "served/1").mkdir(parents=True)
    (gpu_folder / "served/1/model.so").write_bytes((gpu_folder / "gpu.so").read_bytes())
    for number, fails in [("1", False), ("2", True)]:
        served = triton.TritonPythonModel()
        served.initialize({"model_config": config, "model_repository": str(gpu_folder / "served"),
                           "model_version": "1", "model_instance_kind": "GPU",
                           "model_instance_device_id": number})
        utils = types.ModuleType("triton_python_backend_utils")
        utils.get_input_tensor_by_name = lambda request, name: request
        utils.Tensor = lambda name, values: values
        utils.TritonError = str
        utils.InferenceResponse = lambda output_tensors, error=None: error or output_tensors[0]
        monkeypatch.setitem(sys.modules, "triton_python_backend_utils", utils)
        found = served.execute([types.SimpleNamespace(as_numpy=lambda: table)])[0]
        if fails:
            assert "no GPU of this number" in found
        else:
            assert numpy.array_equal(found[:, 0], expected["value"])
    pyspark = types.ModuleType("pyspark")
    monkeypatch.setitem(sys.modules, "pyspark", pyspark)
    for resources, wanted in [({"gpu": types.SimpleNamespace(addresses=["3"])}, 3), ({}, None)]:
        task = types.SimpleNamespace(resources=lambda resources=resources: resources)
        pyspark.TaskContext = types.SimpleNamespace(get=lambda task=task: task)
        assert spark._gpu() == wanted


def test_fitted_objects(gpu_folder, model, driver, patch, rows, target):
    """Answers that are outputs of the library stay on the GPU."""
    regressor = xgboost.XGBRegressor(n_estimators=3).fit(rows, target)
    regressor.save_model(gpu_folder / "regressor.json")
    made = compiled(gpu_folder, gpu_folder / "regressor.json", patch, source=regressor)
    on_gpu = Exporting(driver, rows)
    assert numpy.array_equal(made.predict(on_gpu).to_numpy(), regressor.predict(rows))
    assert numpy.array_equal(made.predict(rows, device=1), regressor.predict(rows))
    with pytest.raises(ValueError, match="columns= is for tables"):
        made.predict(on_gpu, columns=list("abcdefgh"))
    with pytest.raises(ValueError, match="stream= is for rows in a GPU's memory"):
        made.predict(rows, stream=1)
    classifier = schedc.compile(xgboost.XGBClassifier(n_estimators=3).fit(rows, target > 0))
    for call in (classifier.predict, classifier.predict_proba):
        with pytest.raises(TypeError, match='output= "value"'):
            call(on_gpu)
    with pytest.raises(TypeError, match=r"predictor\.model\.predict"):
        schedc_runtime.BatchPredictor(made.library).predict(on_gpu)
