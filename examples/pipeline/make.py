"""Makes the files of this folder: a fitted pipeline as ONNX, rows with text and missing values, and
predictions by scikit-learn.

Run it in an environment with scikit-learn 1.9.1, onnx 1.23.2, pandas 3.1.1 and numpy 2.4.6: `python make.py`.

"""

import pathlib
import sys

import numpy as np
import pandas as pd

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "python" / "compiler"))

from schedc import export  # noqa: E402
from sklearn.compose import ColumnTransformer  # noqa: E402
from sklearn.ensemble import GradientBoostingClassifier  # noqa: E402
from sklearn.impute import SimpleImputer  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import OneHotEncoder, StandardScaler  # noqa: E402

RNG = np.random.default_rng(40)
CITIES = ["Bonn", "Cork", "Lima", "Oslo", "Rome"]
NUMBERS, WORDS = ["age", "income", "hours"], ["city", "contract"]


def people(rows):
    """People with whole ages and rounded incomes, so that some values equal thresholds of the trees."""
    table = pd.DataFrame({
        "age": RNG.integers(18, 68, rows).astype(float),
        "income": np.round(RNG.lognormal(10, 0.4, rows), -2),
        "hours": np.round(RNG.normal(36, 6, rows) * 2) / 2,
    }).mask(RNG.random((rows, 3)) < 0.08)
    table["city"] = RNG.choice(CITIES, rows)
    table["contract"] = RNG.choice(["fixed", "open"], rows)
    table.loc[RNG.random(rows) < 0.08, "city"] = None
    return table


def stays(table):
    """Whether each person stays for another year."""
    score = table.age.fillna(40) / 20 + table.hours.fillna(36) / 12 + 1.5 * (table.contract == "open")
    score = score + 0.7 * (table.city == "Oslo") + RNG.normal(0, 0.8, len(table))
    return np.where(score > 6, "stay", "leave")


train = people(2000)
scale = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
encode = OneHotEncoder(handle_unknown="ignore")
prepare = ColumnTransformer([("numbers", scale, NUMBERS), ("words", encode, WORDS)])
pipeline = make_pipeline(prepare, GradientBoostingClassifier(n_estimators=20, random_state=0))
pipeline.fit(train, stays(train))

rows = people(12)
rows.loc[3, "city"] = "Kyiv"
rows.to_csv(HERE / "people.csv", index=False)
export(pipeline, HERE / "people.onnx", check=rows)
expected = pd.DataFrame(pipeline.predict_proba(rows), columns=pipeline.classes_)
expected["class"] = pipeline.predict(rows)
expected.to_csv(HERE / "expected.csv", index=False)
