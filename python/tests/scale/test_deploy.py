"""Each Python block in docs/deploy.md runs as a separate program."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from conftest import EXAMPLES

TEXT = (EXAMPLES.parent / "docs/deploy.md").read_text()
BLOCKS = re.findall(r"^## (\w+)\n(?:(?!^## ).*\n)*?```python\n((?:(?!```).*\n)*)```$", TEXT, re.MULTILINE)


def test_all_blocks_are_found():
    assert [title for title, _ in BLOCKS] == ["Python", "Spark", "Dask", "Ray", "MLflow"]
    assert TEXT.count("```python\n") == len(BLOCKS)


@pytest.mark.parametrize("title, block", BLOCKS, ids=[title for title, _ in BLOCKS])
def test_blocks_run(title, block, library, tmp_path):
    pytest.importorskip({"Python": "numpy", "Spark": "pyspark", "MLflow": "mlflow"}.get(title, title.lower()))
    shutil.copy(library, tmp_path / "model.so")
    shutil.copy(EXAMPLES / "model/rows.parquet", tmp_path / "rows.parquet")
    (tmp_path / "program.py").write_text(block)
    ran = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True,
                         env={**os.environ, "PYSPARK_PYTHON": sys.executable})
    assert ran.returncode == 0, ran.stderr[-2000:]
    wanted = "prediction" if title != "Spark" else "0.990"
    assert wanted in ran.stdout, ran.stdout
