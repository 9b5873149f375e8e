"""Programs that are called through their C interfaces. Python loads the libraries and models, and prepares
the arguments of all calls; harness.c makes and times the calls."""

import ctypes
import importlib.util
import math
from ctypes import CFUNCTYPE, POINTER, addressof, byref, c_char_p, c_int32, c_int64, c_size_t, c_void_p
from pathlib import Path

import numpy

from engines import Call, Unfit, doubles
from turns import MOST_CALLS, Contender, Program

MOST_WORDS, FEW_WORDS = 12, 4
# Bits of a returned value that are set on failure, by the function's type: int, pointer or void.
INT, POINTS, VOID = 0xffffffff, -1, 0
# The bytes for the description of a batch in XGBoost's array interface.
DESCRIPTION = 160


class Series(ctypes.Structure):
    """The calls of a way, as harness.c reads them."""

    _fields_ = [("function", c_void_p), ("words", c_int64 * MOST_WORDS), ("steps", c_int64 * MOST_WORDS),
                ("seconds", c_void_p), ("calls", c_int64), ("failure", c_int64), ("failed", c_int64),
                ("few", c_int32), ("wall", c_int32)]


def word(value):
    """An argument: a number, or the address of an object."""
    if isinstance(value, int):
        return value
    return value.ctypes.data if isinstance(value, numpy.ndarray) else addressof(value)


class Way(Contender):
    """Calls of a C function. An argument may be a pair: the first call's, and the difference between
    successive calls. `each` is the number of C calls for the rows of a call. `out` returns the results."""

    def __init__(self, native, way, function, arguments, calls, out, *, single=True, each=1, failure=INT,
                 most=MOST_CALLS):
        super().__init__(native.name, way, None, [], bool(single), most)
        self.native, self.each, self.out, self.kept = native, each, out, arguments
        pairs = [given if isinstance(given, tuple) else (given, 0) for given in arguments]
        words = (c_int64 * MOST_WORDS)(*(word(first) for first, _ in pairs))
        self.series = Series(ctypes.cast(function, c_void_p), words,
                             (c_int64 * MOST_WORDS)(*(step for _, step in pairs)), None, calls * each,
                             failure, 0, len(pairs) <= FEW_WORDS, 0)

    def sample(self, calls, clock=None):
        count = calls * self.each
        self.series.wall = self.native.threads > 1
        taken = self.native.harness.harness_sample(byref(self.series), c_int64(self.next), c_int64(count))
        if taken < 0:
            raise RuntimeError(f"a call failed: {self.native.error(self.series.failed)}")
        self.next = (self.next + count) % self.series.calls
        return taken


class Native(Program):
    """A program with a C interface. The fields describe the model, all rows, and the results."""

    package, pattern = None, None  # the Python package that has the library, and the library's path in it
    last_error = None

    def __init__(self, harness, model, rows, kind, files):
        super().__init__(self.title, kind)
        self.harness, self.rows, self.raw, self.threads = harness, rows, kind == "margins", 1
        self.outputs, self.row_bytes, self.wide = model.outputs, rows.strides[0], rows.itemsize == 8
        harness.harness_sample.restype = ctypes.c_double
        self.library = ctypes.CDLL(str(self.shared() if self.package else files[0]))
        if self.last_error:
            getattr(self.library, self.last_error).restype = c_char_p
        self.open(*map(str, files))

    def shared(self):
        """The path of the library in its Python package."""
        package = importlib.util.find_spec(self.package)
        if package is None:
            raise ModuleNotFoundError(self.package)
        return next(Path(package.submodule_search_locations[0]).glob(self.pattern))

    def error(self, status):
        """The text of the error after a call returned a status."""
        return getattr(self.library, self.last_error)().decode() if self.last_error else f"status {status}"

    def do(self, name, *arguments):
        """Calls a function of the library that returns 0 on success."""
        status = getattr(self.library, name)(*arguments)
        if status:
            raise Unfit(f"{name}: {self.error(status)}")

    def results(self, rows):
        way = next(iter(self.ways(rows, len(rows), 1)))
        way.sample(1)
        return way.out().reshape(-1).astype("float64")

    def ways(self, rows, batch, threads):
        # Programs that share a process are all prepared before the first of them is timed.
        self.threads = threads
        return list(self.calls(batch, len(self.rows) // batch, threads))


class Schedc(Native):
    """The artefact of `schedc build`."""

    title = "schedc"

    def open(self, *_):
        self.element = "float64" if self.library.schedc_output_type(int(self.raw)) else "float32"

    def calls(self, batch, count, threads):
        out = numpy.zeros(batch * self.outputs, self.element)
        calls = (Call * count)(*(
            Call(ctypes.sizeof(Call), int(self.raw), self.rows.ctypes.data + at * batch * self.row_bytes,
                 batch, out.ctypes.data, int(self.wide), threads) for at in range(count)))
        yield Way(self, "predict_ex", self.library.schedc_predict_ex, [(calls, ctypes.sizeof(Call))], count,
                  lambda: out, single=False)


class Xgboost(Native):
    """XGBoost, in two ways:

    inplace   XGBoosterPredictFromDense on the caller's rows;
    dmatrix   XGBoosterPredict on a DMatrix built beforehand; that is not measured, which favours XGBoost.
              Each is predicted once: XGBoost caches the predictions of a DMatrix and would only copy them
              the second time.

    If several threads are allowed, each way also runs with one, which is faster for small batches."""

    title, package, pattern, last_error = "XGBoost", "xgboost", "lib/libxgboost.so", "XGBGetLastError"
    MOST_MATRICES = 256

    def open(self, path):
        # The model twice: for the allowed number of threads, and for one.
        self.boosters, self.proxy = [c_void_p(), c_void_p()], c_void_p()
        self.do("XGProxyDMatrixCreate", byref(self.proxy))
        for booster in self.boosters:
            self.do("XGBoosterCreate", None, c_int64(0), byref(booster))
            self.do("XGBoosterLoadModel", booster, path.encode())
            self.do("XGBoosterSetParam", booster, b"nthread", b"1")

    def calls(self, batch, count, threads):
        self.do("XGBoosterSetParam", self.boosters[0], b"nthread", str(threads).encode())
        first, size = self.rows.ctypes.data, batch * self.row_bytes
        texts = (f'{{"data":[{first + at * size},true],"shape":[{batch},{self.rows.shape[1]}],'
                 f'"typestr":"{self.rows.dtype.str}","version":3}}' for at in range(count))
        arrays = ctypes.create_string_buffer(b"".join(text.encode().ljust(DESCRIPTION, b"\0")
                                                      for text in texts))
        config = ctypes.create_string_buffer(
            f'{{"type":{int(self.raw)},"training":false,"iteration_begin":0,"iteration_end":0,'
            '"strict_shape":false,"missing":NaN,"cache_id":0}'.encode())
        shape, dimensions, length = POINTER(ctypes.c_uint64)(), ctypes.c_uint64(), ctypes.c_uint64()
        result = POINTER(ctypes.c_float)()

        def out():
            return numpy.ctypeslib.as_array(result, (math.prod(shape[:dimensions.value]),))

        for single in range(1 + (threads > 1)):
            booster = self.boosters[single].value
            yield Way(self, "inplace", self.library.XGBoosterPredictFromDense,
                      [booster, (arrays, DESCRIPTION), config, self.proxy.value, shape, dimensions, result],
                      count, out, single=single)
            yield Matrices(self, "dmatrix", self.library.XGBoosterPredict,
                           [booster, arrays, int(self.raw), 0, 0, length, result], count, None, single=single,
                           most=self.MOST_MATRICES)


class Matrices(Way):
    """XGBoost's way with a DMatrix for each call of a sample."""

    at = 0

    def sample(self, calls, clock=None):
        matrices, count = (c_void_p * calls)(), len(self.kept[1]) // DESCRIPTION
        for call in range(calls):
            # One thread: threads of a parallel build would still spin during the sample.
            self.native.do("XGDMatrixCreateFromDense",
                           byref(self.kept[1], (self.at + call) % count * DESCRIPTION),
                           b'{"missing":NaN,"nthread":1}', byref(matrices, 8 * call))
        self.at = (self.at + calls) % count
        self.series.seconds, self.series.calls = addressof(matrices), calls
        taken = super().sample(calls)
        for matrix in matrices:
            self.native.do("XGDMatrixFree", c_void_p(matrix))
        return taken


class Lightgbm(Native):
    """LightGBM, in two ways:

    matrix   LGBM_BoosterPredictForMat on the caller's rows;
    row      LGBM_BoosterPredictForMatSingleRowFast, prepared once and then called row by row, on one thread.

    If several threads are allowed, the first way also runs with one."""

    title, package, pattern, last_error = "LightGBM", "lightgbm", "lib/lib_lightgbm.so", "LGBM_GetLastError"

    def open(self, path):
        self.booster, self.prepared, iterations = c_void_p(), c_void_p(), c_int32()
        self.do("LGBM_BoosterCreateFromModelfile", path.encode(), byref(iterations), byref(self.booster))
        self.do("LGBM_BoosterPredictForMatSingleRowFastInit", self.booster, int(self.raw), 0, -1,
                int(self.wide), self.rows.shape[1], b"num_threads=1", byref(self.prepared))

    def calls(self, batch, count, threads):
        out, length = numpy.zeros(batch * self.outputs), c_int64()
        for single in range(1 + (threads > 1)):
            parameters = ctypes.create_string_buffer(b"num_threads=%d" % (1 if single else threads))
            yield Way(self, "matrix", self.library.LGBM_BoosterPredictForMat,
                      [self.booster.value, (self.rows, batch * self.row_bytes), int(self.wide), batch,
                       self.rows.shape[1], 1, int(self.raw), 0, -1, parameters, length, out],
                      count, lambda: out[:length.value], single=single)
        yield Way(self, "row", self.library.LGBM_BoosterPredictForMatSingleRowFast,
                  [self.prepared.value, (self.rows, self.row_bytes), length, out], count, None, each=batch)


class Onnxruntime(Native):
    """ONNX Runtime. Sessions and tensors are created beforehand; tensors refer to the caller's rows and
    results. A measured call is one `Run`. If several threads are allowed, a session with one thread is tried,
    too.

    The library's wheel has no header. Its table of functions only grows at the end, so the functions in use
    are addressed by their indices."""

    title, package, pattern = "ONNX Runtime", "onnxruntime", "capi/libonnxruntime.so.*"
    FUNCTIONS = {"message": 2, "create_env": 3, "create_session": 7, "run": 9, "create_options": 10,
                 "set_optimisation": 23, "set_intra_threads": 24, "set_inter_threads": 25,
                 "create_tensor": 49, "create_memory_info": 69, "release_session": 95, "release_value": 96}
    LOG_ERRORS, ALL_OPTIMISATIONS, ARENA, DEFAULT_MEMORY, FLOAT, DOUBLE, VERSION = 3, 99, 1, 0, 1, 11, 16

    def open(self, path):
        self.library.OrtGetApiBase.restype = POINTER(c_void_p)
        table = CFUNCTYPE(c_void_p)(self.library.OrtGetApiBase()[0])(self.VERSION)
        if not table:
            raise Unfit(f"it has no interface of version {self.VERSION}")
        self.table = (c_void_p * 97).from_address(table)
        self.path, self.values, self.sessions = path.encode(), [], {}
        self.environment = self.made("create_env", self.LOG_ERRORS, b"bench")
        self.memory = self.made("create_memory_info", self.ARENA, self.DEFAULT_MEMORY)

    def error(self, status):
        message = CFUNCTYPE(c_char_p)(self.table[self.FUNCTIONS["message"]])(c_void_p(status))
        return message.decode(errors="replace")

    def ort(self, name, *arguments):
        """Calls a function, which returns null or the status of an error."""
        status = CFUNCTYPE(c_void_p)(self.table[self.FUNCTIONS[name]])(*arguments)
        if status and not name.startswith("release"):
            raise Unfit(self.error(status))

    def made(self, name, *arguments):
        """The object that a function creates, which is its last argument."""
        handle = c_void_p()
        self.ort(name, *arguments, byref(handle))
        return handle

    def session(self, threads):
        if threads not in self.sessions:
            options = self.made("create_options")
            self.ort("set_optimisation", options, self.ALL_OPTIMISATIONS)
            self.ort("set_intra_threads", options, threads)
            self.ort("set_inter_threads", options, 1)
            self.sessions[threads] = self.made("create_session", self.environment, self.path, options)
        return self.sessions[threads]

    def tensor(self, address, rows, columns, element):
        kind = self.DOUBLE if element == 8 else self.FLOAT
        self.values.append(self.made("create_tensor", self.memory, c_void_p(address),
                                     c_size_t(rows * columns * element), (c_int64 * 2)(rows, columns),
                                     c_size_t(2), kind))
        return self.values[-1].value

    def calls(self, batch, count, threads):
        for number in [each for each in self.sessions if each not in (1, threads)]:
            self.ort("release_session", self.sessions.pop(number))
        while self.values:
            self.ort("release_value", self.values.pop())
        out = numpy.zeros(batch * self.outputs, "float32")
        inputs = (c_void_p * count)(*(
            self.tensor(self.rows.ctypes.data + at * batch * self.row_bytes, batch, self.rows.shape[1],
                        self.rows.itemsize) for at in range(count)))
        outputs = (c_void_p * 1)(self.tensor(out.ctypes.data, batch, self.outputs, 4))
        # The names that convert.py gives to the input and the output.
        names = [(c_char_p * 1)(b"rows"), (c_char_p * 1)(b"margins")]
        for single in range(1 + (threads > 1)):
            session = self.session(1 if single else threads)
            yield Way(self, "Run", c_void_p(self.table[self.FUNCTIONS["run"]]),
                      [session.value, 0, names[0], (inputs, 8), 1, names[1], 1, outputs], count, lambda: out,
                      single=single, failure=POINTS)


class Lleaves(Native):
    """A model that lleaves compiled to a function of a range of rows of doubles. It is single-threaded. The
    conversion of rows to doubles is not measured, which favours lleaves."""

    title = "lleaves"

    def open(self, *_):
        self.wide_rows = doubles(self.rows)

    def calls(self, batch, count, threads):
        out = numpy.zeros(batch * self.outputs)
        yield Way(self, "forest_root", self.library.forest_root,
                  [(self.wide_rows, batch * self.wide_rows.strides[0]), out, 0, batch], count, lambda: out,
                  failure=VOID)


class Tl2cgen(Native):
    """Generated C of tl2cgen, compiled to a library and called row by row. It reads rows in its own format,
    in which a missing value has the bits of -1, with the type of the model: floats, or doubles for models of
    LightGBM. The conversion is not measured, which favours tl2cgen. It adds to the results, and is
    single-threaded."""

    title = "tl2cgen"

    def open(self, _, element):
        self.entries = self.rows.astype(element)
        self.entries.view("int32")[:, ::self.entries.itemsize // 4][numpy.isnan(self.rows)] = -1

    def calls(self, batch, count, threads):
        out = numpy.zeros((len(self.rows), self.outputs), self.entries.dtype)
        yield Way(self, "row by row", self.library.predict,
                  [(self.entries, self.entries.strides[0]), int(self.raw), (out, out.strides[0])], count,
                  lambda: out, each=batch, failure=VOID)


# The programs by their names in the option --peers.
PROGRAMS = {"xgboost": Xgboost, "lightgbm": Lightgbm, "onnxruntime": Onnxruntime, "lleaves": Lleaves,
            "tl2cgen": Tl2cgen}
