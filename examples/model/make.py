"""Makes the example model and its data. Run by hand, in this directory:

    python3 -m venv .venv
    .venv/bin/pip install --no-deps -r requirements.txt
    .venv/bin/python make.py

`--no-deps` omits a large GPU library on which XGBoost depends, but which training on the CPU does not need.
With the pinned versions and one thread, each run writes the same files.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import xgboost as xgb
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

HERE = Path(__file__).parent
SEED = 7
MISSING = 0.05  # the share of cells made missing, so that both directions of missing values are exercised


def shortest(value: np.float32) -> str:
    """The shortest text that is read as the same float; empty for a missing value."""
    return "" if np.isnan(value) else str(value)


def write_csv(path: Path, names: list[str], table: np.ndarray) -> None:
    lines = [",".join(names), *(",".join(map(shortest, row)) for row in table)]
    path.write_text("\n".join(lines) + "\n")


def write_parquet(path: Path, names: list[str], table: np.ndarray) -> None:
    """Writes the features between two other columns, in row groups of 50 rows."""
    features = {
        name: pa.array(column, from_pandas=True) for name, column in zip(names, table.T)
    }
    sample = pa.array([f"s{row:03}" for row in range(len(table))])
    site = pa.array(["north, east", "south"])
    site = pa.DictionaryArray.from_arrays(pa.array(np.arange(len(table)) % 2, pa.int8()), site)
    columns = pa.table({"sample": sample, **features, "site": site})
    pa.parquet.write_table(
        columns, path, row_group_size=50, use_dictionary=["site"], write_statistics=False
    )


def main() -> None:
    data = load_breast_cancer()
    names = [str(name) for name in data.feature_names]
    rows = data.data.astype(np.float32)
    rows[np.random.default_rng(SEED).random(rows.shape) < MISSING] = np.nan
    # Labels: 1 is benign.
    train, test, labels, _ = train_test_split(
        rows, data.target, test_size=0.3, random_state=SEED, stratify=data.target
    )

    parameters = {
        "objective": "binary:logistic",
        "max_depth": 6,
        "eta": 0.1,
        "subsample": 0.8,
        "colsample_bytree": 0.8,
        "seed": SEED,
        "nthread": 1,
    }
    booster = xgb.train(
        parameters, xgb.DMatrix(train, labels, feature_names=names), num_boost_round=100
    )
    booster.save_model(HERE / "breast_cancer.json")

    write_csv(HERE / "rows.csv", names, test)
    np.save(HERE / "rows.npy", test)
    write_parquet(HERE / "rows.parquet", names, test)
    predictions = booster.predict(xgb.DMatrix(test, feature_names=names))
    write_csv(HERE / "expected.csv", ["prediction"], predictions.astype(np.float32)[:, None])


if __name__ == "__main__":
    main()
