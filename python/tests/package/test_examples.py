"""The fitted pipelines of `examples/pipeline` predict what scikit-learn predicts, now and in its files."""

import functools
import runpy
from pathlib import Path

import numpy
import pytest

pytest.importorskip("onnx")
pytest.importorskip("lightgbm")
pandas = pytest.importorskip("pandas")

import schedc  # noqa: E402
from releases import has  # noqa: E402

FOLDER = Path(__file__).parents[3] / "examples/pipeline"
NAMES = sorted(path.stem for path in FOLDER.glob("*.onnx"))


@functools.cache
def fitted():
    return runpy.run_path(str(FOLDER / "make.py"))["fitted"]()


@pytest.mark.parametrize("name", NAMES)
def test_a_fitted_pipeline_predicts_raw_rows(name):
    """The rows have texts, missing cells and an unknown city."""
    people = pandas.read_csv(FOLDER / "people.csv")
    theirs = fitted()[name]
    ours = schedc.compile(theirs, effort="fast")
    method = "predict_proba" if hasattr(theirs, "predict_proba") else "score_samples"
    numbers, labels = getattr(ours, method)(people), ours.predict(people)
    numpy.testing.assert_allclose(numbers, getattr(theirs, method)(people), rtol=0, atol=1e-12)
    numpy.testing.assert_array_equal(labels, theirs.predict(people))
    if has("1.9"):  # other releases may fit other models
        expected = pandas.read_csv(FOLDER / f"expected/{name}.csv")
        written = expected.drop(columns="class").to_numpy().reshape(numbers.shape)
        numpy.testing.assert_allclose(numbers, written, rtol=0, atol=1e-6)
        numpy.testing.assert_array_equal(labels, expected["class"])


def test_each_file_has_its_pipeline():
    assert NAMES == sorted(fitted()) and len(NAMES) == 6
