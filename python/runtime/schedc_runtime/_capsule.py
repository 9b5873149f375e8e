"""Tables read through Arrow's C interface, without pyarrow.

The structures are those of the Arrow C data and stream interfaces.

"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy

from ._columns import Column, Names, Numbers, Validity
from ._names import quoted


class _Schema(ctypes.Structure):
    pass


_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", ctypes.POINTER(_Schema)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Schema))),
    ("private_data", ctypes.c_void_p),
]


class _Array(ctypes.Structure):
    pass


_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    ("dictionary", ctypes.POINTER(_Array)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Array))),
    ("private_data", ctypes.c_void_p),
]


class _Stream(ctypes.Structure):
    pass


_Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Schema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Array))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(_Stream))),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Stream))),
    ("private_data", ctypes.c_void_p),
]

#: The NumPy types of Arrow's formats of numbers.
_NUMBERS = {
    b"c": "int8", b"C": "uint8", b"s": "int16", b"S": "uint16", b"i": "int32", b"I": "uint32",
    b"l": "int64", b"L": "uint64", b"e": "float16", b"f": "float32", b"g": "float64",
}
#: The NumPy types of the offsets in Arrow's formats of texts.
_TEXTS = {b"u": "int32", b"U": "int64"}


class CapsuleTable:
    """A table that an object exports as an Arrow stream. Its memory is freed with this value.

    Raises TypeError if the stream is not a table.
    """

    def __init__(self, table: Any) -> None:
        self._chunks: list[_Array] = []
        self._schema = _Schema()
        # The capsule owns the stream, and this value owns the capsule.
        self._capsule = table.__arrow_c_stream__()
        find = ctypes.pythonapi.PyCapsule_GetPointer
        find.restype, find.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        stream = _Stream.from_address(find(self._capsule, b"arrow_array_stream"))
        self._asked(stream, stream.get_schema(ctypes.byref(stream), ctypes.byref(self._schema)))
        if self._schema.format != b"+s":
            raise TypeError("the Arrow stream holds one array and no table")
        while True:
            chunk = _Array()
            self._asked(stream, stream.get_next(ctypes.byref(stream), ctypes.byref(chunk)))
            if not chunk.release:
                break
            self._chunks.append(chunk)
            if chunk.null_count > 0:
                raise TypeError("the Arrow stream has rows that are null as a whole")

    @staticmethod
    def _asked(stream: _Stream, status: int) -> None:
        if status != 0:
            reason = stream.get_last_error(ctypes.byref(stream)) or b""
            raise OSError(status, f"the Arrow stream failed: {reason.decode(errors='replace')}")

    def __del__(self) -> None:
        for held in [*self._chunks, self._schema]:
            if held.release:
                held.release(ctypes.byref(held))

    def names(self) -> list[str]:
        """The names of the columns."""
        fields = (self._schema.children[at].contents for at in range(self._schema.n_children))
        return [(field.name or b"").decode("utf-8", errors="replace") for field in fields]

    def rows(self) -> int:
        """Number of rows."""
        return sum(int(chunk.length) for chunk in self._chunks)

    def column(self, at: int) -> Column:
        """The column with this index, without a copy if it is numeric and in one chunk."""
        field = self._schema.children[at].contents
        pieces = [_column(field, chunk.children[at].contents, chunk.offset, chunk.length)
                  for chunk in self._chunks]
        if len(pieces) == 1:
            return pieces[0]
        return _together(pieces, field)

    def give(self, kept: list[int], results: dict[str, numpy.ndarray]) -> dict[str, Any]:
        """The results as a dict of arrays, since Arrow's interface cannot create a table of the caller's
        kind."""
        if kept:
            name = self.names()[kept[0]]
            raise TypeError(
                f"column {quoted(name)} can be kept only in tables of pyarrow, pandas and Polars"
            )
        return {name: values.astype(str) if values.dtype == object else values
                for name, values in results.items()}


def _view(array: _Array, buffer: int, dtype: str, count: int) -> numpy.ndarray:
    """A view of the first elements of a buffer."""
    address, size = array.buffers[buffer], numpy.dtype(dtype).itemsize * count
    if size == 0 or address is None:
        return numpy.zeros(count, dtype=dtype)
    content: Any = (ctypes.c_uint8 * size).from_address(address)
    return numpy.frombuffer(content, dtype=numpy.dtype(dtype))


def _validity(array: _Array, first: int, count: int) -> Validity | None:
    if array.null_count == 0 or array.buffers[0] is None:
        return None
    return Validity(_view(array, 0, "uint8", (first + count + 7) // 8), first)


def _column(field: _Schema, array: _Array, offset: int, count: int) -> Column:
    """The values of a chunk from `offset` on."""
    first = int(array.offset + offset)
    if field.dictionary:
        names = _texts_or_numbers(field.dictionary.contents, array.dictionary.contents)
        places = _view(array, 1, _NUMBERS[field.format], first + count)[first:].astype("int64")
        validity = _validity(array, first, count)
        return Names(names, places if validity is None else numpy.where(validity.absent(count), -1, places),
                     True)
    if field.format in _NUMBERS:
        values = _view(array, 1, _NUMBERS[field.format], first + count)[first:]
        return Numbers(values, None, _validity(array, first, count))
    if field.format == b"b":
        bits = numpy.unpackbits(_view(array, 1, "uint8", (first + count + 7) // 8), bitorder="little")
        return Numbers(bits[first : first + count].astype(bool), None, _validity(array, first, count))
    if field.format == b"n":
        return Numbers(numpy.full(count, numpy.nan, dtype="float32"))
    if field.format in _TEXTS:
        texts = _texts(field, array, first, count)
        names = list(dict.fromkeys(text for text in texts if text is not None))
        numbers = {name: at for at, name in enumerate(names)}
        return Names(names, numpy.array([-1 if text is None else numbers[text] for text in texts],
                                        dtype="int64"))
    kind = (field.format or b"").decode(errors="replace")
    if kind.startswith("d:"):
        raise TypeError("holds decimals: trainers read floats, so convert it to float64 first")
    raise TypeError(
        f"holds values of Arrow's format {kind!r}; give the numbers that the model was trained on"
    )


def _texts(field: _Schema, array: _Array, first: int, count: int) -> list[str | None]:
    ends = _view(array, 1, _TEXTS[field.format], first + count + 1)[first:]
    content = _view(array, 2, "uint8", int(ends[-1])).tobytes()
    validity = _validity(array, first, count)
    absent = numpy.zeros(count, dtype=bool) if validity is None else validity.absent(count)
    return [None if gone else content[start:end].decode("utf-8")
            for gone, start, end in zip(absent, ends, ends[1:])]


def _texts_or_numbers(field: _Schema, array: _Array) -> list[Any]:
    """The values of a dictionary."""
    first, count = int(array.offset), int(array.length)
    if field.format in _TEXTS:
        return list(_texts(field, array, first, count))
    found = _column(field, array, 0, count)
    if not isinstance(found, Numbers):
        raise TypeError("holds a dictionary of dictionaries")
    absent = found.absent()
    return [None if absent is not None and absent[at] else value
            for at, value in enumerate(found.values.tolist())]


def _together(pieces: list[Column], field: _Schema) -> Column:
    """The chunks as one column."""
    if not pieces:
        is_text = bool(field.dictionary) or field.format in _TEXTS
        return Names([], numpy.empty(0, dtype="int64")) if is_text else Numbers(numpy.empty(0,
                                                                                            dtype="float32"))
    if isinstance(pieces[0], Names):
        names: list[Any] = []
        places = []
        for piece in (piece for piece in pieces if isinstance(piece, Names)):
            places.append(numpy.where(piece.places < 0, -1, piece.places + len(names)))
            names += piece.names
        return Names(names, numpy.concatenate(places), pieces[0].dictionary)
    numbers = [piece for piece in pieces if isinstance(piece, Numbers)]
    masks = [piece.absent() for piece in numbers]
    missing = None
    if any(mask is not None for mask in masks):
        blank = (numpy.zeros(len(piece.values), dtype=bool) for piece in numbers)
        missing = numpy.concatenate([none if mask is None else mask for mask, none in zip(masks, blank)])
    return Numbers(numpy.concatenate([piece.values for piece in numbers]), missing)
