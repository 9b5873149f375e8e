from os import PathLike
from typing import Any, Literal, final

import numpy
import numpy.typing

class SchedcError(RuntimeError):
    """What a library says of a call that it could not make."""

@final
class Model:
    """A model that ``schedc build`` compiled.

    Calls may be made from many threads at once; the interpreter's lock is released while one runs. Models are pickled with
    the bytes of their library.
    """

    @property
    def num_features(self) -> int:
        """Columns of a row."""

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the columns, or None if the model has none."""

    @property
    def info_json(self) -> str:
        """What the library says of its model and schedule, as JSON."""

    def predict(
        self,
        rows: numpy.typing.ArrayLike,
        /,
        output: Literal["value", "raw", "class", "leaf"] = "value",
        *,
        out: numpy.typing.NDArray[Any] | None = None,
        threads: int = 0,
    ) -> numpy.typing.NDArray[Any]:
        """Predicts rows.

        ``rows`` has a row for each prediction and ``num_features`` columns; NaN is a missing value. Arrays of float32 or
        float64 whose rows are contiguous are read where they lie; others are copied once. Tables with named columns are
        refused, since their order could be another one.

        ``output`` is ``"value"``, the trainer's predictions; ``"raw"``, margins; ``"class"``; or ``"leaf"``, the leaf that
        each tree reaches, int32 with a column for each tree.

        ``out`` is where to put the results: writable, in C order, of the type and shape that would be returned. ``threads``
        is the most threads to use, and 0 leaves it to the library.

        Returns an array with a row for each row, and of one dimension if there is one value for each: float32 or float64 as
        the model's trainer predicts.

        Raises ValueError for rows, outputs or threads that the model does not take, TypeError for what are no rows, and
        SchedcError for what the library refuses, such as a processor that it was not built for.
        """

def load(library: str | PathLike[str] | bytes, /) -> Model:
    """Loads a library that ``schedc build`` made, from its path or its bytes.

    A library runs code as it is loaded, so it should come from a trusted place. Raises OSError if it cannot be loaded.
    """
