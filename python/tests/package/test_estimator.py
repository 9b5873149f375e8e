"""Compiled models in scikit-learn's tools, and errors for attributes that only the original object has."""

import pickle
import subprocess
import warnings

import lightgbm
import numpy
import pytest
import schedc
import schedc_runtime
import xgboost
from releases import frozen, has, needs
from sklearn import ensemble
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import BernoulliRBM
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


@pytest.fixture(scope="module")
def X():
    return numpy.random.default_rng(1).normal(size=(200, 4)).astype("float32")


@pytest.fixture(scope="module")
def y(X):
    return (X[:, 0] + X[:, 1] > 0).astype(int)


def classifier():
    return xgboost.XGBClassifier(n_estimators=5)


def regressor():
    return xgboost.XGBRegressor(n_estimators=5)


def test_no_fit(X, y):
    ours = schedc.compile(classifier().fit(X, y))
    random = numpy.random.default_rng(2).integers(0, 2, len(X))
    with pytest.raises(TypeError, match="fit the estimator that it was compiled from.*FrozenEstimator"):
        ours.fit(X, y)
    with pytest.raises(TypeError, match="cannot be fitted again"):
        make_pipeline(StandardScaler(), ours).fit(X, y)
    for call in (lambda: clone(ours), lambda: cross_val_score(ours, X, random),
                 lambda: GridSearchCV(ours, {}).fit(X, random),
                 lambda: CalibratedClassifierCV(ours).fit(X, random)):
        with pytest.raises(TypeError, match="no unfitted copy.*give them the estimator that it was compiled"):
            call()


def test_calibration(X, y):
    """Calibration takes a compiled model as it is."""
    theirs = classifier().fit(X, y)
    parts = (schedc.compile(theirs), theirs)
    made = (CalibratedClassifierCV(*frozen(part)) if has("1.6") else CalibratedClassifierCV(part, cv="prefit")
            for part in parts)
    ours, own = (model.fit(X, y).predict_proba(X) for model in made)
    numpy.testing.assert_allclose(ours, own, rtol=1e-6)


@needs("1.6")
def test_frozen_estimators_keep_a_compiled_model(X, y):
    theirs = classifier().fit(X, y)
    (kept,) = frozen(schedc.compile(theirs))
    assert clone(kept) is kept and kept.fit(X, y) is kept
    numpy.testing.assert_array_equal(kept.predict(X), theirs.predict(X))


def test_searches(X, y):
    """A search and a frozen estimator compile to the estimator that they hold."""
    search = GridSearchCV(classifier(), {"max_depth": [2, 3]}, cv=2).fit(X, y)
    for theirs in (search, *frozen(search.best_estimator_)):
        ours = schedc.compile(theirs)
        numpy.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
        numpy.testing.assert_array_equal(ours.predict_proba(X), theirs.predict_proba(X))
    with pytest.raises(ValueError, match="the GridSearchCV is not fitted yet"):
        schedc.compile(GridSearchCV(classifier(), {}))


def composites(X, y):
    """Estimators that combine others and do not compile as a whole, with the first part that compiles."""
    pipeline = make_pipeline(BernoulliRBM(4, n_iter=1), classifier())
    yield pipeline.fit(X, y), "model[-1]"
    search = GridSearchCV(pipeline, {"xgbclassifier__max_depth": [2]}, cv=2)
    yield search.fit(X, y), "model.best_estimator_[-1]"
    yield ensemble.AdaBoostRegressor(regressor(), n_estimators=2).fit(X, X[:, 0]), "model.estimators_[0]"
    yield ensemble.AdaBoostRegressor(n_estimators=2).fit(X, X[:, 0]), "model.estimators_[0]"
    target = TransformedTargetRegressor(regressor(), func=numpy.tan, inverse_func=numpy.arctan)
    yield target.fit(X, X[:, 0]), "model.regressor_"


def wholes(X, y):
    """Estimators that combine others and compile as a whole."""
    named = [("a", classifier()), ("b", ensemble.RandomForestClassifier(3))]
    yield ensemble.VotingClassifier(named, voting="soft").fit(X, y)
    yield ensemble.StackingClassifier(named).fit(X, y)
    yield make_pipeline(PCA(4), classifier()).fit(X, y)
    yield CalibratedClassifierCV(classifier(), cv=2).fit(X, y)
    yield ensemble.BaggingClassifier(classifier(), n_estimators=2).fit(X, y)
    yield MultiOutputRegressor(regressor()).fit(X, numpy.column_stack([X[:, 0], X[:, 1]]))


@pytest.mark.filterwarnings("ignore")
def test_wholes(X, y):
    pytest.importorskip("onnx")
    # Scaled, since projections of training rows lie on XGBoost's thresholds, where rounding would decide.
    rows = X * numpy.float32(1.0137)
    for theirs in wholes(X, y):
        ours = schedc.compile(theirs)
        numpy.testing.assert_allclose(ours.predict(rows), theirs.predict(rows), rtol=1e-6)
        if hasattr(theirs, "predict_proba"):
            found, expected = ours.predict_proba(rows), theirs.predict_proba(rows)
            numpy.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_parts(X, y):
    """The error names a part, and that part compiles."""
    pytest.importorskip("onnx")
    for model, part in composites(X, y):
        with pytest.raises((TypeError, schedc.Refused)) as refused:
            schedc.compile(model)
        text = str(refused.value).splitlines()[-1]
        assert text.startswith(f"the {type(model).__name__} is not compiled as a whole"), text
        assert f"schedc.compile({part})" in text, text
        theirs = eval(part, {"model": model})
        rows = model[:-1].transform(X) if part == "model[-1]" else X
        numpy.testing.assert_allclose(schedc.compile(theirs).predict(rows), theirs.predict(rows), rtol=1e-6)
    with pytest.raises(TypeError, match="AdaBoostRegressor.*\nschedc compiles neither .*KNeighborsRegressor"):
        schedc.compile(ensemble.AdaBoostRegressor(KNeighborsRegressor(), n_estimators=2).fit(X, X[:, 0]))
    rows = composites(X, y)
    assert "model[:-1].transform(X) computes its rows" in str(pytest.raises(
        TypeError, schedc.compile, next(rows)[0]).value)


def test_options_of_trainers(X, y):
    theirs = classifier().fit(X, y)
    ours = schedc.compile(theirs)
    for same in (ours.predict(X, output_margin=True), ours.predict(X, raw_score=True)):
        numpy.testing.assert_array_equal(same, theirs.predict(X, output_margin=True))
    numpy.testing.assert_array_equal(ours.predict(X, output_margin=False), theirs.predict(X))
    numpy.testing.assert_array_equal(
        ours.predict(X, prediction_type="Probability", iteration_range=(0, 2)),
        theirs.predict_proba(X, iteration_range=(0, 2)))
    light = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1).fit(X, y)
    compiled = schedc.compile(light)
    for option in ("raw_score", "pred_leaf"):
        numpy.testing.assert_array_equal(compiled.predict(X, **{option: True}),
                                         light.predict(X, **{option: True}))
    for option, advice in (("pred_contribs", "SHAP"), ("pred_contrib", "LightGBM object"),
                           ("num_iteration", r"iteration_range=\(0, n\)"), ("thread_count", "threads=n"),
                           ("nonsense", "take no argument 'nonsense'")):
        with pytest.raises(TypeError, match=advice):
            ours.predict(X, **{option: True})
        with pytest.raises(TypeError, match=advice):
            ours.predict_proba(X, **{option: True})


def test_attributes_of_trainers(X, y):
    ours = schedc.compile(classifier().fit(X, y))
    for name, advice in (("feature_importances_", "use that of the object from which it was"),
                         ("staged_predict", r"iteration_range=\(0, n\)"),
                         ("get_booster", "use that of the object"), ("decision_function", 'output="raw"'),
                         ("inplace_predict", "use predict, which"), ("coef_", "it only predicts")):
        assert not hasattr(ours, name)
        with pytest.raises(AttributeError, match=f"a compiled model has no '{name}'.*{advice}"):
            getattr(ours, name)
    assert not hasattr(ours, "_nothing")


@pytest.mark.filterwarnings("ignore")
def test_stages(X, y):
    """A message proposes `iteration_range` only for models whose first iterations are a stage."""
    for theirs, has_stages in (
        (ensemble.GradientBoostingClassifier(n_estimators=4), True),
        (ensemble.HistGradientBoostingClassifier(max_iter=4), True),
        (lightgbm.LGBMClassifier(n_estimators=4, verbose=-1), True),
        (ensemble.AdaBoostClassifier(n_estimators=4), False),
        (ensemble.RandomForestClassifier(4), False),
        (make_pipeline(StandardScaler(), ensemble.GradientBoostingClassifier(n_estimators=4)), False),
    ):
        ours = schedc.compile(theirs.fit(X, y), effort="fast")
        for model in (ours, pickle.loads(pickle.dumps(ours))):
            advice = r"iteration_range=\(0, n\)" if has_stages and model is ours else "selects no stages"
            with pytest.raises(AttributeError, match=f"'staged_predict': .*{advice}"):
                model.staged_predict(X)
        if has_stages:
            two = (theirs.predict(X, num_iteration=2) if isinstance(theirs, lightgbm.LGBMClassifier)
                   else list(theirs.staged_predict(X))[1])
            assert (ours.predict(X, iteration_range=(0, 2)) == two).all()


def test_probabilities_that_an_object_lacks(X, y):
    """A model has `predict_proba` if its object or its file has classes."""
    ranker = lightgbm.LGBMRanker(n_estimators=2, verbose=-1).fit(X, y, group=[len(X)])
    score = {"objective": "binary:logistic"}
    booster = xgboost.train(score, xgboost.DMatrix(X, label=y), 2)
    forest = ensemble.IsolationForest(n_estimators=5).fit(X)
    shares, logarithms = ("predict_proba",), ("predict_proba", "predict_log_proba")
    trees = ensemble.ExtraTreesClassifier(3).fit(X, y)
    for theirs, names, has in (
        (regressor().fit(X, y), logarithms, False), (ranker, logarithms, False), (forest, logarithms, False),
        (booster, logarithms, True), (classifier().fit(X, y), shares, True), (trees, logarithms, True),
    ):
        ours = schedc.compile(theirs)
        for model in (ours, schedc.load(ours.library), pickle.loads(pickle.dumps(ours))):
            for name in names:
                assert hasattr(model, name) == has
                if has:
                    assert getattr(model, name)(X[:3]).shape == (3, 2)
                else:
                    with pytest.raises(AttributeError, match=f"no '{name}': the model is no classifier"):
                        getattr(model, name)


def test_names_of_files(X, y, tmp_path):
    """A library is not written under the name of another kind of file."""
    ours = schedc.compile(classifier().fit(X, y))
    for name in ("model.json", "model.txt", "model.UBJ", "model.pkl", "model.dll", "model.dylib"):
        with pytest.raises(ValueError, match="would be a shared library.*model.so"):
            ours.save(tmp_path / name)
    assert not list(tmp_path.iterdir())
    for name in ("model.so", "model", "model.so.1"):
        ours.save(tmp_path / name)
        numpy.testing.assert_array_equal(schedc.load(tmp_path / name).predict(X), ours.predict(X))


def learners(X, y):
    labels = numpy.array(["no", "yes"])[y]
    three = numpy.digitize(X[:, 0], [-0.5, 0.5])
    early = xgboost.XGBClassifier(n_estimators=60, early_stopping_rounds=2)
    yield early.fit(X[:150], y[:150], eval_set=[(X[150:], y[150:])], verbose=False)
    yield xgboost.XGBClassifier(n_estimators=4).fit(X, three)
    yield regressor().fit(X, X[:, 0])
    yield lightgbm.LGBMClassifier(n_estimators=4, verbose=-1).fit(X, labels)
    yield ensemble.RandomForestClassifier(n_estimators=4).fit(X, labels.astype(object))
    yield ensemble.RandomForestClassifier(n_estimators=4).fit(X, y == 1)
    yield ensemble.GradientBoostingClassifier(n_estimators=4).fit(X, three)
    yield ensemble.HistGradientBoostingClassifier(max_iter=4).fit(X, labels)
    yield ensemble.IsolationForest(n_estimators=4).fit(X)


@pytest.mark.filterwarnings("ignore")
def test_methods_and_calls_without_rows(X, y):
    """A model has the methods of its object, and these accept zero rows."""
    sparse, pandas = pytest.importorskip("scipy.sparse"), pytest.importorskip("pandas")
    others = [ensemble.GradientBoostingRegressor(n_estimators=4), ensemble.RandomForestRegressor(4),
              ensemble.HistGradientBoostingRegressor(max_iter=4), lightgbm.LGBMRegressor(n_estimators=4)]
    for theirs in (*learners(X, y), *(model.fit(X, y) for model in others)):
        ours = schedc.compile(theirs, effort="fast")
        for model in (ours, schedc.load(ours.library), pickle.loads(pickle.dumps(ours))):
            for method in ("predict", "predict_proba", "predict_log_proba", "decision_function",
                           "score_samples", "transform", "score"):
                has = hasattr(theirs, method)
                assert hasattr(model, method) == has, (theirs, method)
                if not has or method == "score":
                    continue
                found = getattr(model, method)(X)
                for rows in (X[:0], sparse.csr_matrix(X[:0]), pandas.DataFrame(X[:0])):
                    empty = getattr(model, method)(rows)
                    assert empty.shape == (0, *found.shape[1:]) and empty.dtype == found.dtype


@pytest.mark.filterwarnings("ignore")
def test_loaded_models_answer_alike(X, y, tmp_path):
    """Labels, shapes, types and the best iteration are in the library, also after `strip`."""
    path = tmp_path / "model.so"
    for theirs in learners(X, y):
        ours = schedc.compile(theirs)
        ours.save(path)
        loaded = [schedc.load(path), schedc.load(ours.library), pickle.loads(pickle.dumps(ours))]
        subprocess.run(["strip", path], check=True)
        for again in (*loaded, schedc.load(path), pickle.loads(pickle.dumps(loaded[0]))):
            for method in ("predict", "predict_proba", "score_samples", "decision_function"):
                if hasattr(type(theirs), method) and hasattr(theirs, method):
                    mine, wanted = getattr(again, method)(X), getattr(theirs, method)(X)
                    numpy.testing.assert_array_equal(mine, getattr(ours, method)(X))
                    if method != "decision_function":
                        assert mine.dtype == wanted.dtype and mine.shape == wanted.shape
                    if method == "predict" and wanted.dtype.kind != "f":
                        numpy.testing.assert_array_equal(mine, wanted)
            if hasattr(theirs, "classes_"):
                numpy.testing.assert_array_equal(again.classes_, theirs.classes_)
        # The C interface gives the file's main call.
        assert schedc_runtime.load(path).predict(X).dtype.kind == "f"
    theirs = classifier().fit(X, y)
    raw = schedc.load(schedc.compile(theirs, output="raw").library)
    numpy.testing.assert_array_equal(raw.predict(X), theirs.predict(X, output_margin=True))


def test_labels_that_no_library_keeps(X, y, tmp_path):
    days = numpy.array(["2026-01-01", "2026-01-02"], dtype="datetime64[D]")[y]
    theirs = ensemble.RandomForestClassifier(n_estimators=3).fit(X, days)
    ours = schedc.compile(theirs)
    with pytest.warns(UserWarning, match="labels of the classes are neither numbers nor texts"):
        ours.save(tmp_path / "model.so")
    numpy.testing.assert_array_equal(pickle.loads(pickle.dumps(ours)).predict(X), theirs.predict(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schedc.compile(classifier().fit(X, y)).save(tmp_path / "model.so")
