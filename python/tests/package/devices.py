"""GPUs of the driver for tests: memory, streams, and arrays of other libraries."""

import ctypes

import numpy
import pandas

DLPACK = b"dltensor"


class _Tensor(ctypes.Structure):
    """`DLManagedTensor`."""


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Tensor))
_Tensor._fields_ = [
    ("data", ctypes.c_void_p), ("kind", ctypes.c_int32), ("device", ctypes.c_int32),
    ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
    ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
    ("byte_offset", ctypes.c_uint64), ("context", ctypes.c_void_p), ("deleter", _Deleter),
]
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}

_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_rename = ctypes.pythonapi.PyCapsule_SetName
_rename.restype, _rename.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]


class Driver:
    """The functions of the driver that tests call."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        self.library.fake_memory.restype = ctypes.c_size_t
        self.library.fake_uploaded.restype = ctypes.c_size_t

    def within(self, device, name, *arguments):
        """Calls a function in the context of a device."""
        context = ctypes.c_void_p()
        assert self.library.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
        assert self.library.cuCtxPushCurrent_v2(context) == 0
        status = getattr(self.library, name)(*arguments)
        assert self.library.cuCtxPopCurrent_v2(ctypes.byref(context)) == 0
        assert status == 0, f"{name}: {status}"

    def stream(self):
        """A stream that waits for no other."""
        made = ctypes.c_void_p()
        self.within(0, "cuStreamCreate", ctypes.byref(made), 1)
        return made.value

    def copy(self, to, source, size, stream):
        """Adds a copy between addresses of a GPU to a stream."""
        self.within(0, "cuMemcpyDtoDAsync_v2", ctypes.c_uint64(to), ctypes.c_uint64(source),
                    ctypes.c_size_t(size), ctypes.c_void_p(stream))

    def fill(self, address, size, stream):
        """Adds work that writes memory of a GPU to a stream."""
        self.within(0, "cuMemsetD8Async", ctypes.c_uint64(address), 1, ctypes.c_size_t(size),
                    ctypes.c_void_p(stream))

    def wait(self):
        """Waits for all work."""
        self.within(0, "cuCtxSynchronize")

    def memory(self):
        """The number of bytes that have not been freed, after all work."""
        self.wait()
        return self.library.fake_memory()

    def uploaded(self):
        """The number of bytes that were copied to GPUs since the last call."""
        return self.library.fake_uploaded()


class DeviceRows:
    """An array in the memory of a GPU. Its content is valid after the work in `stream`. `strides` count
    elements; None for packed ones."""

    def __init__(self, driver, values, *, device=0, stream=None, strides=None, element=None):
        self.driver, self.gpu, self.stream = driver, device, stream
        self.values = numpy.ascontiguousarray(values)
        self.element = element or self.values.dtype.str
        self.shape = self.values.shape
        self.bytes = None if strides is None else [stride * self.values.itemsize for stride in strides]
        self.offset = 0
        self.streams = []
        self.address = 0
        if self.values.nbytes:
            address = ctypes.c_uint64()
            driver.within(device, "cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(self.values.nbytes))
            self.address = address.value
            driver.within(device, "cuMemcpyHtoDAsync_v2", address, ctypes.c_void_p(self.values.ctypes.data),
                          ctypes.c_size_t(self.values.nbytes), ctypes.c_void_p(stream))

    @classmethod
    def like(cls, driver, view, **options):
        """The memory of an array of NumPy, and the same view of it."""
        base = view
        while isinstance(base.base, numpy.ndarray):
            base = base.base
        made = cls(driver, base.ravel(order="K"), element=view.dtype.str, **options)
        made.shape, made.bytes = view.shape, view.strides
        made.offset = view.ctypes.data - base.ctypes.data
        return made

    @property
    def first(self):
        """The address of the first element; 0 if there is none."""
        return self.address + self.offset if 0 not in self.shape else 0

    def __len__(self):
        return self.shape[0]

    def __del__(self):
        if self.address:
            self.driver.wait()
            self.driver.within(self.gpu, "cuMemFree_v2", ctypes.c_uint64(self.address))

    def numpy(self):
        """The content as an array of NumPy, after all work."""
        self.driver.wait()
        self.driver.within(self.gpu, "cuMemcpyDtoH_v2", ctypes.c_void_p(self.values.ctypes.data),
                           ctypes.c_uint64(self.address), ctypes.c_size_t(self.values.nbytes))
        return self.values


class Exporting(DeviceRows):
    """An array with DLPack."""

    kind = 2

    def __dlpack_device__(self):
        return self.kind, self.gpu

    def __dlpack__(self, *, stream=None):
        self.streams.append(stream)
        if (self.stream or 1) != stream:
            order(self.driver, self.gpu, self.stream, stream)
        number, first = numpy.dtype(self.element), self.first
        self._shape = (ctypes.c_int64 * len(self.shape))(*self.shape)
        steps = [step // number.itemsize for step in self.bytes or ()]
        self._strides = None if self.bytes is None else (ctypes.c_int64 * len(self.shape))(*steps)
        # The address lies eight bytes before the data, which begin at an offset of eight.
        self._tensor = _Tensor(first - 8 if first else None, self.kind, self.gpu,
                               len(self.shape), _CODES[number.kind], 8 * number.itemsize, 1, self._shape,
                               self._strides, 8 if first else 0, None, _Deleter())
        return _new(ctypes.addressof(self._tensor), DLPACK, None)


class Interfacing(DeviceRows):
    """An array with `__cuda_array_interface__`."""

    read_only = False
    mask = None

    @property
    def __cuda_array_interface__(self):
        about = {"shape": self.shape, "typestr": self.element, "data": (self.first, self.read_only),
                 "version": 3}
        if self.bytes is not None:
            about["strides"] = tuple(self.bytes)
        if self.mask is not None:
            about["mask"] = self.mask
        return about if self.stream is None else {**about, "stream": self.stream}


def bitmap(driver, valid, **options):
    """The mask of an array, as cuDF exports it: a bit for each element, 1 if it has a value."""
    made = Interfacing(driver, numpy.packbits(valid, bitorder="little"), element="<t1", **options)
    made.shape = valid.shape
    return made


class Frame:
    """A frame of cuDF: columns by position have the types that a caller gives."""

    def __init__(self, columns):
        self._columns = columns
        self.columns = pandas.Index(list(columns))
        self.iloc = self

    def __len__(self):
        return len(next(iter(self._columns.values()))) if self._columns else 0

    def __getitem__(self, place):
        rows, at = place
        assert rows == slice(None)
        return list(self._columns.values())[at]


Frame.__name__, Frame.__module__ = "DataFrame", "cudf.core.dataframe"


def order(driver, device, earlier, later):
    """Makes the stream `later` wait for the present work of `earlier`."""
    event = ctypes.c_void_p()
    driver.within(device, "cuEventCreate", ctypes.byref(event), 2)
    driver.within(device, "cuEventRecord", event, ctypes.c_void_p(earlier))
    later = None if later == 1 else later
    driver.within(device, "cuStreamWaitEvent", ctypes.c_void_p(later), event, 0)


class Consumed:
    """A consumer of an array's capsule, which takes over the memory."""

    def __init__(self, array, **options):
        capsule = array.__dlpack__(**options)
        self.tensor = _Tensor.from_address(_pointer(capsule, DLPACK))
        assert _rename(capsule, b"used_dltensor") == 0
        self.shape = tuple(self.tensor.shape[: self.tensor.ndim])
        self.place = self.tensor.kind, self.tensor.device

    def release(self):
        """Calls the capsule's deleter, which frees the memory."""
        self.tensor.deleter(ctypes.byref(self.tensor))
