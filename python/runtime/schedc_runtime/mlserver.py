"""The runtime for MLServer; folders of ``schedc package --for mlserver`` refer to it.

A request has one tensor ``rows`` with the features in the model's order, or a tensor for each feature, found
by name.

"""

from __future__ import annotations

from typing import Any

import numpy
from mlserver import MLModel
from mlserver.codecs import NumpyCodec, StringCodec
from mlserver.errors import InferenceError
from mlserver.types import InferenceRequest, InferenceResponse, RequestInput
from mlserver.utils import get_model_uri

from .batch import _HEADINGS, BatchPredictor

__all__ = ["SchedcModel"]


class SchedcModel(MLModel):
    """A model of MLServer."""

    async def load(self) -> bool:
        """Loads the library that the settings name."""
        options: dict[str, Any] = dict((self.settings.parameters.extra if self.settings.parameters else None)
                                       or {})
        self._predictor = BatchPredictor(await get_model_uri(self.settings), **options)
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        """The predictions of a request's rows."""
        try:
            values = self._predictor.values(_table(payload.inputs))
        except (TypeError, ValueError) as error:
            raise InferenceError(str(error)) from None
        heading = _HEADINGS[self._predictor.output]
        values = values[:, None] if values.ndim == 1 else values
        if values.dtype == object:
            tensor = StringCodec.encode_output(heading, values.ravel().tolist())
        else:
            tensor = NumpyCodec.encode_output(heading, values)
        return InferenceResponse(model_name=self.name, model_version=self.version, outputs=[tensor])


def _table(inputs: list[RequestInput]) -> Any:
    """The rows of a request."""
    if len(inputs) == 1 and inputs[0].name == "rows" and len(inputs[0].shape) == 2 and inputs[0].shape[1] > 1:
        return numpy.asarray(NumpyCodec.decode_input(inputs[0]))
    return {tensor.name: _column(tensor) for tensor in inputs}


def _column(tensor: RequestInput) -> numpy.ndarray:
    if tensor.datatype == "BYTES":
        return numpy.array(StringCodec.decode_input(tensor), dtype=object)
    return numpy.asarray(NumpyCodec.decode_input(tensor)).reshape(-1)
