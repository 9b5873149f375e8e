"""Makes the files of this folder: rows with text and missing values, fitted pipelines as ONNX, and their
predictions by scikit-learn.

Run it in an environment with schedc, scikit-learn 1.9.1, LightGBM 4.6.0, onnx 1.23.2, pandas 3.1.1 and numpy
2.4.6: `python make.py`.

"""

import pathlib

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import LinearSVC

HERE = pathlib.Path(__file__).parent
CITIES = ["Bonn", "Cork", "Lima", "Oslo", "Rome"]
NUMBERS, WORDS = ["age", "income", "hours"], ["city", "contract"]


def people(source, rows):
    """People with whole ages and rounded incomes, so that some values equal thresholds of trees."""
    table = pd.DataFrame({
        "age": source.integers(18, 68, rows).astype(float),
        "income": np.round(source.lognormal(10, 0.4, rows), -2),
        "hours": np.round(source.normal(36, 6, rows) * 2) / 2,
    }).mask(source.random((rows, 3)) < 0.08)
    table["city"] = source.choice(CITIES, rows)
    table["contract"] = source.choice(["fixed", "open"], rows)
    table.loc[source.random(rows) < 0.08, "city"] = np.nan
    return table


def stays(source, table):
    """Whether each person stays for another year."""
    score = table.age.fillna(40) / 20 + table.hours.fillna(36) / 12 + 1.5 * (table.contract == "open")
    score = score + 0.7 * (table.city == "Oslo") + source.normal(0, 0.8, len(table))
    return np.where(score > 6, "stay", "leave")


def drawn():
    """People to fit on, whether they stay, and other people, one of them from an unknown city."""
    source = np.random.default_rng(40)
    train = people(source, 2000)
    answers = stays(source, train)
    rows = people(source, 12)
    rows.loc[3, "city"] = "Kyiv"
    return train, answers, rows


def behind(step, model):
    """A model behind an imputer and another step for numbers, and a one-hot encoder for texts."""
    numbers = make_pipeline(SimpleImputer(strategy="median"), step)
    words = OneHotEncoder(handle_unknown="ignore")
    return make_pipeline(ColumnTransformer([("numbers", numbers, NUMBERS), ("words", words, WORDS)]), model)


def pipelines():
    """Pipelines that are not fitted, by the names of their files."""
    boosting = GradientBoostingClassifier(n_estimators=20, random_state=0)
    isolation = IsolationForest(n_estimators=20, max_samples=64, contamination=0.2, random_state=0)
    forest = RandomForestClassifier(n_estimators=10, max_depth=5, random_state=0)
    linear = CalibratedClassifierCV(LinearSVC(random_state=0), ensemble=False)
    voting = VotingClassifier([("forest", forest), ("linear", linear)], voting="soft")
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    table = ColumnTransformer([("words", codes, WORDS)], remainder="passthrough")
    table.set_output(transform="pandas")
    return {
        "boosting": behind(StandardScaler(), boosting),
        "logistic": behind(StandardScaler(), LogisticRegression()),
        "bayes": behind(KBinsDiscretizer(8, encode="onehot-dense", strategy="uniform"), BernoulliNB()),
        "isolation": behind(StandardScaler(), isolation),
        "voting": behind(StandardScaler(), voting),
        "lightgbm": make_pipeline(table, LGBMClassifier(n_estimators=20, num_leaves=8, n_jobs=1, verbose=-1)),
    }


def fitted():
    """The fitted pipelines by the names of their files."""
    train, answers, _ = drawn()
    return {name: pipeline.fit(train, answers) for name, pipeline in pipelines().items()}


def predictions(model, rows):
    """Probabilities of the classes, or scores of unusual rows, and classes."""
    if hasattr(model, "predict_proba"):
        headings, numbers = [f"P({label})" for label in model.classes_], model.predict_proba(rows)
    else:
        headings, numbers = ["prediction"], model.score_samples(rows)[:, None]
    return pd.DataFrame(numbers, columns=headings).assign(**{"class": model.predict(rows)})


def main():
    from schedc import export

    *_, rows = drawn()
    rows.to_csv(HERE / "people.csv", index=False)
    for name, pipeline in fitted().items():
        export(pipeline, HERE / f"{name}.onnx", check=rows)
        predictions(pipeline, rows).to_csv(HERE / f"expected/{name}.csv", index=False)


if __name__ == "__main__":
    main()
