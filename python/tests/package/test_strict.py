"""Rows that an object refuses by an error."""

import numpy
import pandas
import pytest
import schedc
from schedc import Refused
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

SOURCE = numpy.random.default_rng(3)
TABLE = pandas.DataFrame({"x": SOURCE.normal(size=200), "city": SOURCE.choice(["Kyiv", "Lviv"], 200),
                          "kind": SOURCE.choice(["a", "b", "c"], 200),
                          "code": SOURCE.choice([1.0, 2.0], 200)})
CLASSES = ((TABLE.city == "Kyiv") | (TABLE.x > 1)).astype(int)


def pipeline(*encoders):
    """A pipeline with a scaler of numbers, and encoders of columns."""
    steps = [(str(at), encoder, columns) for at, (encoder, columns) in enumerate(encoders)]
    kept = ColumnTransformer([("x", StandardScaler(), ["x"]), *steps])
    return make_pipeline(kept, LogisticRegression()).fit(TABLE, CLASSES)


@pytest.mark.parametrize("make", [OneHotEncoder, OrdinalEncoder])
def test_pipelines_refuse_what_their_encoders_refuse(make, tmp_path):
    """Unknown and missing texts are errors where the object's own are, in every kind of rows."""
    theirs = pipeline((make(), ["city", "kind"]))
    ours = schedc.compile(theirs, effort="fast")
    ours.save(tmp_path / "m.so")
    for model in (ours, schedc.load(tmp_path / "m.so")):
        numpy.testing.assert_array_equal(model.predict(TABLE), theirs.predict(TABLE))
        for cell, message in (("Rome", '"Rome" is not a category'), (None, "row 2: the text is missing"),
                              (numpy.nan, "row 2: the text is missing")):
            rows = TABLE[:3].assign(city=["Kyiv", cell, "Lviv"])
            with pytest.raises(ValueError, match="unknown"):
                theirs.predict(rows)
            for given in (rows, rows.to_dict("records"), rows.astype({"city": "category"})):
                with pytest.raises(Refused, match=message):
                    model.predict_proba(given)
                assert len(model.predict_proba(given, unseen="other")) == 3
        (note,) = model.notes
        assert "refuses rows with NaN or infinity by an error" in note
    lenient = schedc.compile(theirs, effort="fast", unseen="other")
    assert len(lenient.predict(TABLE[:3].assign(city=[None, "Rome", "Lviv"]))) == 3


def test_pipelines_take_what_their_encoders_take():
    """An encoder behind an imputer takes missing texts. If one encoder takes unknown texts, a note names the
    columns of the others."""
    filled = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    theirs = pipeline((filled, ["city"]))
    ours = schedc.compile(theirs, effort="fast")
    rows = TABLE[:3].assign(city=pandas.Series(["Kyiv", numpy.nan, "Lviv"], dtype=object))
    numpy.testing.assert_allclose(ours.predict_proba(rows), theirs.predict_proba(rows))
    with pytest.raises(Refused, match="not a category"):
        ours.predict(rows.assign(city="Rome"))
    theirs = pipeline((OneHotEncoder(), ["city"]), (OneHotEncoder(handle_unknown="ignore"), ["kind"]))
    ours = schedc.compile(theirs, effort="fast")
    rows = TABLE[:3].assign(kind="new")
    numpy.testing.assert_allclose(ours.predict_proba(rows), theirs.predict_proba(rows))
    assert "unknown categories in 'city'" in ours.notes[0] and "missing text in 'city'" in ours.notes[0]
    ours = schedc.compile(pipeline((OrdinalEncoder(), ["code"])), effort="fast")
    assert "unknown categories in 'code'" in ours.notes[0]


def test_notes_on_numbers(rows, target):
    """Estimators that take NaN have no note on it."""
    plain = numpy.nan_to_num(rows)
    forest = RandomForestClassifier(n_estimators=3).fit(plain, target > 0)
    (note,) = (one for one in schedc.compile(forest, effort="fast").notes if "refuses rows" in one)
    assert "NaN or infinity" in note or "rows with infinity" in note
    boosted = HistGradientBoostingRegressor(max_iter=3).fit(rows, target)
    assert not any("NaN" in one for one in schedc.compile(boosted, effort="fast").notes)
