"""MLflow: a model is saved, loaded, and served as `python_function`."""

import numpy
import pytest
from conftest import EXAMPLES
from schedc_runtime import BatchPredictor

mlflow = pytest.importorskip("mlflow")
pandas = pytest.importorskip("pandas")
from schedc_runtime import mlflow as schedc_mlflow  # noqa: E402


@pytest.fixture(scope="module")
def frame():
    return pandas.read_parquet(EXAMPLES / "model/rows.parquet")


@pytest.fixture(scope="module")
def expected():
    return pandas.read_csv(EXAMPLES / "model/expected.csv", dtype="float32")["prediction"]


def test_saved_models(library, frame, expected, tmp_path):
    schedc_mlflow.save_model(library, tmp_path / "model",
                             input_example=frame.drop(columns=["sample", "site"]).head(2))
    loaded = schedc_mlflow.load_model(str(tmp_path / "model"))
    assert loaded.digest == BatchPredictor(library).digest
    assert numpy.array_equal(loaded(frame)["prediction"], expected)
    served = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    assert served.metadata.signature.outputs.input_names() == ["prediction"]
    assert numpy.array_equal(served.predict(frame)["prediction"], expected)
    with pytest.raises(mlflow.exceptions.MlflowException, match="mean radius"):
        served.predict(frame.drop(columns=["mean radius"]))
    with pytest.raises(FileExistsError):
        schedc_mlflow.save_model(library, tmp_path / "model")


def test_logged_models(library, frame, expected, tmp_path, monkeypatch):
    # Without a database, as with mlflow-skinny.
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    with mlflow.start_run():
        info = schedc_mlflow.log_model(BatchPredictor(library, keep=["sample"]), name="tumours")
    loaded = schedc_mlflow.load_model(info.model_uri)
    assert loaded.kept == ["sample"] and numpy.array_equal(loaded(frame)["prediction"], expected)
    assert mlflow.pyfunc.load_model(info.model_uri).predict(frame).columns.tolist() == ["sample",
                                                                                        "prediction"]
