"""The model for Triton's Python backend; model repositories of ``schedc package --for triton`` refer to it.

The input is one tensor ``rows`` with the features in the model's order, or a tensor for each feature if
features have named categories. Requests of a batch are predicted in one call. A library for GPUs runs on the
GPU of the instance.

"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy

from .batch import BatchPredictor
from .findings import Refused

__all__ = ["TritonPythonModel"]


class TritonPythonModel:
    """A model of Triton."""

    def initialize(self, args: dict[str, str]) -> None:
        """Loads the library beside the model's code; ``args`` are Triton's."""
        config = json.loads(args["model_config"])
        options = {name: entry["string_value"] for name, entry in config.get("parameters", {}).items()}
        library = Path(args["model_repository"]) / args["model_version"] / "model.so"
        self._inputs = [entry["name"] for entry in config["input"]]
        # A feature may also be named "rows"; then its tensor has one value for each row.
        self._by_position = self._inputs == ["rows"] and int(config["input"][0]["dims"][-1]) > 1
        self._result = config["output"][0]["name"]
        is_on_gpu = args.get("model_instance_kind") == "GPU"
        self._device = int(args["model_instance_device_id"]) if is_on_gpu else None
        self._predictor = BatchPredictor(
            library, output=options.get("output", "value"), threads=int(options.get("threads", "0"))
        )

    def execute(self, requests: list[Any]) -> list[Any]:
        """The responses to requests: predictions or errors."""
        responses: list[Any] = [None] * len(requests)
        tables = []
        for at, request in enumerate(requests):
            try:
                tables.append((at, self._table(request)))
            except ValueError as error:
                responses[at] = _failure(error)
        try:
            self._answer(tables, responses)
        except (TypeError, ValueError, RuntimeError):
            # Predicts the requests one by one to find the faulty ones.
            for table in tables:
                try:
                    self._answer([table], responses)
                except (TypeError, ValueError, RuntimeError) as error:
                    responses[table[0]] = _failure(error)
        return responses

    def _table(self, request: Any) -> dict[str, numpy.ndarray]:
        import triton_python_backend_utils as utils

        table = {}
        for name in self._inputs:
            values = utils.get_input_tensor_by_name(request, name).as_numpy()
            if self._by_position and (values.ndim != 2
                                      or values.shape[1] != self._predictor.model.num_features):
                raise Refused(f"rows have the shape {values.shape}, not (n, "
                                 f"{self._predictor.model.num_features})")
            table[name] = values if self._by_position else _texts(values.reshape(-1))
        return table

    def _answer(self, tables: list[tuple[int, dict[str, numpy.ndarray]]], responses: list[Any]) -> None:
        import triton_python_backend_utils as utils

        if not tables:
            return
        together = {name: numpy.concatenate([table[name] for _, table in tables]) for name in self._inputs}
        values = self._predictor.values(
            together["rows"] if self._by_position else together, device=self._device
        )
        values = values[:, None] if values.ndim == 1 else values
        start = 0
        for at, table in tables:
            end = start + len(table[self._inputs[0]])
            tensor = utils.Tensor(self._result, values[start:end])
            responses[at] = utils.InferenceResponse(output_tensors=[tensor])
            start = end


def _texts(values: numpy.ndarray) -> numpy.ndarray:
    """Texts of a tensor, which Triton passes as bytes."""
    if values.dtype.kind not in "OS":
        return values
    return numpy.array([value.decode() if isinstance(value, bytes) else value for value in values],
                       dtype=object)


def _failure(error: Exception) -> Any:
    import triton_python_backend_utils as utils

    return utils.InferenceResponse(output_tensors=[], error=utils.TritonError(str(error)))
