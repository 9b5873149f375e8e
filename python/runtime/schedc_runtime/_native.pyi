from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict, final

import numpy
import numpy.typing
from typing_extensions import Unpack

Output = Literal["value", "raw", "class", "leaf", "tree"]

class CallArguments(TypedDict, total=False):
    """The keywords of calls on columns."""

    single: bool
    """Whether to round doubles and integers to single precision first; false by default."""
    out: numpy.typing.NDArray[Any] | None
    """An array for the results, as for :meth:`Model.predict`."""
    threads: int
    """The largest number of threads; 0, the default, leaves it to the library."""
    base_margin: numpy.typing.ArrayLike | None
    """The base margin: a number for each row and margin."""
    device: int | None
    """The number of the GPU, for models that are compiled for one; by default the first one, or that of the
    rows."""
    stream: Any
    """The stream of a call on rows in a GPU's memory, as for :meth:`Model.predict`."""

class SchedcError(RuntimeError):
    """The error of a library whose call failed."""

@final
class DeviceArray:
    """Results in a GPU's memory.

    Other libraries take them without a copy, by DLPack or by ``__cuda_array_interface__``:
    ``cupy.from_dlpack(array)``, ``torch.from_dlpack(array)``, ``jax.dlpack.from_dlpack(array)``. The memory
    is freed when nothing refers to it any more, after the work in its stream.
    """

    @property
    def shape(self) -> list[int]:
        """Number of elements in each dimension."""

    @property
    def dtype(self) -> str:
        """The type of the elements, as NumPy writes it."""

    @property
    def device(self) -> int:
        """The number of the GPU."""

    @property
    def stream(self) -> int:
        """The handle of the stream that writes the elements; 1 for the default stream."""

    def to_numpy(self) -> numpy.typing.NDArray[Any]:
        """Waits for the results, and copies them to the host."""

    def __len__(self) -> int: ...
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A capsule of DLPack. The consumer's ``stream`` waits for the results."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """The kind of device in DLPack, 2 for CUDA, and the number of the GPU."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Address, shape, type and stream of the elements, in version 3 of the interface."""

@final
class Categories:
    """The categories of a library's model, with the caller's options."""

    def __init__(self, about: str, unseen: str | None, numbers: str | None) -> None:
        """``about`` is :attr:`Model.info_json`. Raises ValueError for an unknown option."""

    def is_unread(self, feature: int) -> bool:
        """Whether no step of the model reads a feature."""

    def has_names(self, feature: int) -> bool:
        """Whether a feature's categories have names."""

    def texts(self, feature: int) -> list[str]:
        """Names of a feature's categories that are texts."""

    def codes(
        self, feature: int, values: Sequence[Any], *, dictionary: bool, table: bool
    ) -> list[float | tuple[str, str, str | None]]:
        """The code of each value's category, or the message, the help and the unknown name."""

    def codes_of_texts(self, feature: int, values: Any) -> numpy.typing.NDArray[Any] | None:
        """The codes of a column of texts: an array or list of objects, or a column that can export itself to
        Arrow. None if a value is neither a text nor missing, or a text has no code.
        """

    def encoded(
        self,
        feature: int,
        values: numpy.typing.NDArray[Any],
        absent: numpy.typing.NDArray[Any] | None,
        *,
        table: bool,
    ) -> tuple[numpy.typing.NDArray[Any], None] | tuple[None, tuple[int, tuple[str, str, str | None]]]:
        """The codes of a column's categories, or the first row without one and the reason."""

@final
class Model:
    """A model that ``schedc build`` compiled.

    Several threads may call it at the same time; calls release the interpreter's lock. A pickled model
    includes the bytes of its library.
    """

    @property
    def num_features(self) -> int:
        """Number of columns of a row."""

    @property
    def has_library(self) -> bool:
        """Whether the model is a library. If not, another module of this process has the model."""

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the columns, or None if the model has none."""

    @property
    def info_json(self) -> str:
        """The library's JSON about its model and schedule."""

    def predict(
        self,
        rows: numpy.typing.ArrayLike,
        /,
        output: Output = "value",
        *,
        out: Any = None,
        threads: int = 0,
        base_margin: numpy.typing.ArrayLike | None = None,
        device: int | None = None,
        stream: Any = None,
    ) -> Any:
        """Predicts rows.

        ``rows`` has a row for each prediction and ``num_features`` columns; NaN is a missing value. Arrays of
        float32 or float64 with contiguous rows are read without a copy; others are copied once. Tables with
        named columns are refused, since the order of their columns may differ from the model's.

        ``output`` is ``"value"``, the trainer's predictions; ``"raw"``, margins; ``"class"``; or ``"leaf"``,
        the leaf that each tree reaches, int32 with a column for each tree.

        ``out`` is an array for the results: writable, in C order, of the results' type and shape. ``threads``
        is the largest number of threads; 0 leaves it to the library. ``device`` is the number of the GPU that
        runs a call on rows in the host's memory, if the model is compiled for GPUs.

        Rows may be in the memory of an NVIDIA GPU: an array with ``__dlpack__`` or
        ``__cuda_array_interface__``, of floats, integers or truth values, with any strides but 0 between
        rows. Kernels read them in place. The call runs on their GPU and does not wait for the results, which
        are an array of PyTorch or CuPy if the rows are, and otherwise a :class:`DeviceArray`. ``out`` is an
        array in the memory of the same GPU. ``stream`` is the stream of the call: the number of its handle,
        or a stream of PyTorch, CuPy or cuda.core. It must exist as long as the results. By default it is the
        current stream of PyTorch or CuPy for their arrays, otherwise the stream that the rows name, or the
        default stream.

        Returns an array with the results of each row, of one dimension if there is one value per row. Its
        type is float32 or float64, as for the model's trainer.

        Raises ValueError for invalid rows, outputs or threads, TypeError for objects that are no rows, and
        SchedcError if the library refuses the call, such as on a processor that it was not built for.
        """

    def predict_columns(
        self,
        columns: Sequence[tuple[Any, ...] | None],
        rows: int,
        /,
        output: Output = "value",
        **options: Unpack[CallArguments],
    ) -> numpy.typing.NDArray[Any]:
        """Predicts ``rows`` rows that are given as columns, without a copy.

        ``columns`` has an entry for each feature: None if the feature is missing in all rows, otherwise a
        tuple of five:

        - the values: numbers or truth values, or indices into the dictionary, in an array of one dimension;
          or packed bits as uint8
        - None, or the validity bitmap as uint8: one bit per row, least significant first, 1 if the value is
          present
        - the index of the bitmap's first bit
        - None, or the dictionary: the number for each index, as float64
        - None, or the index of the first bit if the values are packed bits

        The other arguments are those of :meth:`predict`.
        """

    def predict_gpu_columns(
        self,
        columns: Sequence[tuple[str, Any] | None],
        rows: int,
        /,
        output: Output = "value",
        **options: Unpack[CallArguments],
    ) -> Any:
        """Predicts ``rows`` rows that are given as columns in the memory of one NVIDIA GPU, without a copy.

        ``columns`` has an entry for each feature: None if the feature is missing in all rows, otherwise a
        name for messages, and an array of one dimension as for :meth:`predict`. An array whose
        ``__cuda_array_interface__`` has a mask of packed bits misses the values whose bits are 0. The results
        and the other arguments are those of :meth:`predict`.
        """

    def predict_blocks(
        self,
        blocks: Sequence[Any],
        places: tuple[numpy.typing.NDArray[Any], numpy.typing.NDArray[Any]],
        rows: int,
        given: dict[int, tuple[Any, ...]],
        /,
        output: Output = "value",
        **options: Unpack[CallArguments],
    ) -> numpy.typing.NDArray[Any] | None:
        """Predicts ``rows`` rows that are given as blocks: arrays of one dimension, arrays of two dimensions
        whose first axis is the columns, columns as for :meth:`predict_columns`, or blocks of pandas.

        ``places`` is two arrays of int64: the number of each feature's block, and the index of its column
        there. The number -1 is an absent feature. ``given`` maps features to columns that replace those of
        the blocks. Returns None if a block with a feature has a type or shape that the library cannot read.
        """

    def predict_stream(
        self,
        capsule: object,
        plan: StreamPlan,
        rows: int,
        given: dict[int, tuple[Any, ...]],
        /,
        output: Output = "value",
        **options: Unpack[CallArguments],
    ) -> numpy.typing.NDArray[Any] | None:
        """Predicts the ``rows`` rows of an Arrow stream of one batch. Its columns have the names and types of
        the stream that ``plan`` is for. ``given`` maps features to columns that
        replace those of the stream. Returns None if a column is missing, or holds neither numbers nor truth
        values.
        """

    def predict_records(
        self,
        records: list[Any],
        wanted: Sequence[str | None],
        given: dict[int, tuple[Any, ...]],
        /,
        output: Output = "value",
        **options: Unpack[CallArguments],
    ) -> numpy.typing.NDArray[Any] | None:
        """Predicts records: dicts from names to numbers, truth values, or None for a missing value.

        ``wanted`` has the name of each feature, None for an absent one. ``given`` maps features to columns
        that replace the records' values. Returns None if a record lacks a name, or a value is of another
        type.
        """

    def section(self, name: str, /) -> bytes | None:
        """The content of a section of the library's file, or None if it has no section of this name."""

@final
class Lookup:
    """The columns that a model reads from tables, by name or by position."""

    def __init__(self, wanted: Sequence[str | None] | None, places: Sequence[int | None] | None) -> None:
        """``wanted`` has a name for each feature, None for one that is absent or not read. With ``places``,
        the indices of these columns, names are ignored. A table is not searched if both are None."""

    def plan(self, capsule: object, /) -> StreamPlan | None:
        """The plan for the tables of an Arrow stream, of which no batch is taken; None if a column is not
        found."""

@final
class StreamPlan:
    """The column of each feature in the tables of one schema."""

def load(library: str | PathLike[str] | bytes, /) -> Model:
    """Loads a library that ``schedc build`` made, from its path or its bytes.

    Loading a library runs its code, so load only trusted ones. Raises OSError if it cannot be loaded.
    """

def load_handle(capsule: Any, /) -> Model:
    """The model whose handle is in a capsule that the package ``schedc`` made.

    Raises ValueError for a capsule of another version.
    """

def is_on_gpu(value: object, /) -> bool:
    """Whether an object is an array in the memory of an NVIDIA GPU. Raises TypeError for memory of an AMD
    GPU.
    """

def any_on_gpu(values: Iterable[object], /) -> bool:
    """Whether some objects are arrays in the memory of an NVIDIA GPU. Raises TypeError for memory of an AMD
    GPU.
    """

def both_classes(second: numpy.typing.NDArray[Any], /) -> numpy.typing.NDArray[Any]:
    """Probabilities of the first and of the second class in two columns. ``second`` has those of the second
    class: an array of one dimension, float32 or float64.
    """
