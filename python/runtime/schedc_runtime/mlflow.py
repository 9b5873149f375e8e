"""Compiled models as a flavour of MLflow.

    info = schedc_runtime.mlflow.log_model("model.so", name="tumours")
    predictor = schedc_runtime.mlflow.load_model(info.model_uri)        # a BatchPredictor
    model = mlflow.pyfunc.load_model(info.model_uri)                    # for servers of all flavours

Needs mlflow or mlflow-skinny, with numpy and pandas. A saved model contains the library, the options for its
columns, and a signature.

"""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, version
from os import PathLike
from pathlib import Path
from typing import Any

from .batch import BatchPredictor

FLAVOR_NAME = "schedc"
_LIBRARY = "model.so"

__all__ = ["FLAVOR_NAME", "load_model", "log_model", "save_model", "signature_of"]

_Artefact = BatchPredictor | str | PathLike[str] | bytes


def _predictor(artefact: _Artefact) -> BatchPredictor:
    return artefact if isinstance(artefact, BatchPredictor) else BatchPredictor(artefact)


def signature_of(predictor: BatchPredictor) -> Any:
    """The signature of a predictor. None if the types of some columns are unknown: columns in ``keep``, and
    categories whose names are no texts.

    Features are doubles, to which MLflow converts other types if no value is rounded; features with
    categories are texts. A missing value is NaN or None.

    """
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, DataType, Schema, TensorSpec

    import numpy

    texts = predictor.text_inputs
    if predictor.kept or texts is None:
        return None
    kinds = {
        "float32": DataType.float, "float64": DataType.double, "int32": DataType.integer,
        "int64": DataType.long,
        "object": DataType.string,
    }
    results: list[ColSpec | TensorSpec] = [ColSpec(kinds[str(predictor.dtype)], name)
                                           for name in predictor.names]
    outputs = Schema(results)
    if predictor.inputs is None:
        rows = TensorSpec(numpy.dtype("float64"), (-1, predictor.model.num_features))
        return ModelSignature(inputs=Schema([rows]), outputs=outputs)
    inputs: list[ColSpec | TensorSpec] = [ColSpec(DataType.string if name in texts else DataType.double, name)
                                          for name in predictor.inputs]
    return ModelSignature(inputs=Schema(inputs), outputs=outputs)


def _requirements() -> list[str]:
    try:
        return [f"schedc-runtime=={version('schedc-runtime')}", "pandas"]
    except PackageNotFoundError:
        return ["schedc-runtime", "pandas"]


def save_model(
    artefact: _Artefact,
    path: str | PathLike[str],
    *,
    mlflow_model: Any = None,
    signature: Any = None,
    input_example: Any = None,
    pip_requirements: list[str] | None = None,
    metadata: dict[str, Any] | None = None,
) -> None:
    """Saves a library or a predictor as a model of MLflow in a new folder.

    ``signature`` is by default :func:`signature_of`. Raises FileExistsError if the folder exists and is not
    empty.

    """
    from mlflow.models import Model
    from mlflow.models.utils import _save_example
    from mlflow.pyfunc import add_to_model

    predictor, folder = _predictor(artefact), Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty")
    model = mlflow_model if mlflow_model is not None else Model()
    model.signature = signature or model.signature or signature_of(predictor)
    if metadata is not None:
        model.metadata = metadata
    if input_example is not None:
        _save_example(model, input_example, str(folder))
    (folder / _LIBRARY).write_bytes(predictor.library)
    (folder / "options.json").write_text(json.dumps(predictor.options))
    model.add_flavor(
        FLAVOR_NAME, library=_LIBRARY, options="options.json", sha256=predictor.digest,
        schedc_version=_requirements()[0].partition("==")[2],
    )
    add_to_model(model, loader_module="schedc_runtime.mlflow", env={"virtualenv": "python_env.yaml"})
    (folder / "requirements.txt").write_text("\n".join(pip_requirements or _requirements()) + "\n")
    (folder / "python_env.yaml").write_text("dependencies:\n- -r requirements.txt\n")
    model.save(str(folder / "MLmodel"))


def log_model(artefact: _Artefact, name: str, **options: Any) -> Any:
    """Logs a library or a predictor to the current run; options are those of :func:`save_model` and of
    ``Model.log``.

    Returns MLflow's information on the logged model, with its ``model_uri``.
    """
    import sys

    from mlflow.models import Model

    return Model.log(name=name, flavor=sys.modules[__name__], artifact_path=None, artefact=artefact,
                     **options)


def load_model(model_uri: str, dst_path: str | None = None) -> BatchPredictor:
    """The predictor in a model of MLflow. Loading it runs the library's code, so load only trusted models."""
    from mlflow.tracking.artifact_utils import _download_artifact_from_uri

    return _load(Path(_download_artifact_from_uri(model_uri, output_path=dst_path)))


def _load(folder: Path) -> BatchPredictor:
    folder = folder if folder.is_dir() else folder.parent
    options = json.loads((folder / "options.json").read_text())
    return BatchPredictor((folder / _LIBRARY).read_bytes(), **options)


class _Served:
    """The model class that ``mlflow.pyfunc`` calls."""

    def __init__(self, predictor: BatchPredictor) -> None:
        self.predictor = predictor

    def predict(self, rows: Any, params: dict[str, Any] | None = None) -> Any:
        import pandas

        made = self.predictor.predict(rows)
        return pandas.DataFrame(made) if isinstance(made, dict) and not isinstance(rows, dict) else made


def _load_pyfunc(path: str) -> _Served:
    return _Served(_load(Path(path)))
