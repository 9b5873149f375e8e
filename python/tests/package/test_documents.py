"""The Python programs in the documents run."""

import re
from pathlib import Path

import pytest
from releases import has

pytest.importorskip("xgboost")
pytest.importorskip("pandas")

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(("page", "printed"), [
    ("README.md", ""), ("docs/python.md", "exact"), ("docs/pipelines.md", ""),
    ("examples/pipeline/README.md", "voting leave stay leave stay\nlightgbm leave stay leave stay\n")])
def test_programs_run(page, printed, tmp_path, monkeypatch, capsys):
    """All code blocks of a page in order, in a folder with the examples."""
    if "pipeline" in page:
        pytest.importorskip("onnx")
        pytest.importorskip("lightgbm")
    monkeypatch.chdir(tmp_path)
    Path("examples").symlink_to(ROOT / "examples")
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    assert blocks
    names: dict = {}
    for block in blocks:
        if "FrozenEstimator" in block and not has("1.6"):
            continue
        exec(compile(block, page, "exec"), names)
    assert printed in capsys.readouterr().out


def test_extras():
    """Each extra of schedc-runtime for an engine is one of schedc, too, for the same version."""
    tomllib = pytest.importorskip("tomllib")
    made = {folder: tomllib.loads((ROOT / f"python/{folder}/pyproject.toml").read_text())["project"]
            for folder in ("compiler", "runtime")}
    extras = made["compiler"]["optional-dependencies"]
    version = made["runtime"]["version"]
    assert f"schedc-runtime=={version}" in made["compiler"]["dependencies"]
    engines = made["runtime"]["optional-dependencies"]
    assert {"spark", "dask", "ray", "mlflow"} <= engines.keys()
    for engine in engines:
        assert extras[engine] == [f"schedc-runtime[{engine}]=={version}"]
    # A forest compiles by way of Treelite, and in a pipeline by way of ONNX: users of pipelines need both.
    assert "treelite>=4.8" in extras["export"]
    assert extras["scikit-learn"] == ["schedc[sklearn]"] and "treelite>=4.8" in extras["sklearn"]
