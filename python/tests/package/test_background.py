"""Models that predict while a thread compiles them.

No test depends on the time of a compilation: the fixture `held` keeps the thread from finishing."""

import copy
import os
import pickle
import subprocess
import sys
import threading

import numpy
import pandas
import pytest
import xgboost

import schedc
from schedc import background


@pytest.fixture(scope="module")
def booster(rows, classes):
    model = xgboost.XGBClassifier(n_estimators=20, max_depth=4)
    labels = numpy.unique(classes, return_inverse=True)[1]
    return model.fit(pandas.DataFrame(rows, columns=list("abcdefgh")), labels)


@pytest.fixture
def held(monkeypatch):
    """An event; compilations do not finish before it is set."""
    event = threading.Event()
    run = background.Compilation._run

    def hold(self):
        event.wait()
        run(self)

    monkeypatch.setattr(background.Compilation, "_run", hold)
    yield event
    event.set()


def in_background(model, **more):
    return schedc.compile(model, effort="background", cache=False, **more)


def answers(model, rows):
    """Results of all methods, on arrays of both types, columns, tables and records."""
    frame = pandas.DataFrame(rows, columns=list("abcdefgh"))
    inputs = [rows, rows.astype("float64"), numpy.asfortranarray(rows), rows[:1], frame,
              frame.head(3).to_dict("records")]
    methods = [
        lambda X: model.predict(X), lambda X: model.predict(X, output="raw"),
        lambda X: model.predict_proba(X), lambda X: model.apply(X), lambda X: model.predict(X, threads=2),
    ]
    return [method(X) for method in methods for X in inputs]


def test_the_walker_and_the_code_give_the_same_results(booster, rows, held):
    model = in_background(booster)
    assert not model.ready and not model.wait(0)
    before = answers(model, rows)
    assert "not compiled yet" in repr(model)
    numpy.testing.assert_array_equal(before[0], booster.predict(rows))
    held.set()
    assert model.wait() and model.ready
    assert model.order == "exact"
    for walked, compiled in zip(before, answers(model, rows)):
        assert walked.dtype == compiled.dtype
        numpy.testing.assert_array_equal(walked, compiled)
    assert model.library == schedc.compile(booster, cache=False).library


def test_calls_in_several_threads_see_one_of_both(booster, rows, held):
    model = in_background(booster)
    frame = pandas.DataFrame(rows, columns=list("abcdefgh"))
    wanted = booster.predict_proba(rows)
    wrong, is_done = [], threading.Event()

    def call():
        while not is_done.is_set():
            for X in (rows, frame):
                if not numpy.array_equal(model.predict_proba(X), wanted):
                    wrong.append(X)

    threads = [threading.Thread(target=call) for _ in range(3)]
    [thread.start() for thread in threads]
    held.set()
    model.wait()
    assert numpy.array_equal(model.predict_proba(frame), wanted)
    is_done.set()
    [thread.join() for thread in threads]
    assert not wrong


def test_everything_about_the_code_waits_for_it(booster, rows, held):
    model = in_background(booster)
    threading.Timer(0.05, held.set).start()
    again = pickle.loads(pickle.dumps(model))
    numpy.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    assert "chosen by schedc" in str(model.schedule) and model.info["order"] == "exact"
    assert copy.deepcopy(model).ready


def test_a_regression_of_doubles_with_linear_leaves(rows, target, held):
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMRegressor(n_estimators=10, verbose=-1, linear_tree=True).fit(rows, target)
    walking = in_background(model)
    numpy.testing.assert_array_equal(walking.predict(rows), model.predict(rows))
    held.set()
    walking.wait()
    numpy.testing.assert_array_equal(walking.predict(rows), model.predict(rows))


def test_an_output_that_was_chosen(booster, rows, held):
    model = in_background(booster, output="raw")
    before = model.predict(rows)
    held.set()
    model.wait()
    numpy.testing.assert_array_equal(before, model.predict(rows))
    numpy.testing.assert_array_equal(before, booster.predict(rows, output_margin=True))


def test_refusals_come_at_once(booster):
    with pytest.raises(schedc.Refused):
        in_background(b"{}")
    with pytest.raises(schedc.Refused, match="unknown"):
        in_background(booster, schedule="tile(batch, a, b, unknown)")


def test_a_failed_compilation_is_raised_and_the_walker_stays(booster, rows, monkeypatch):
    def fail(model, made):
        raise OSError("no library")

    monkeypatch.setattr(schedc.Model, "_install", fail)
    model = in_background(booster)
    with pytest.raises(OSError, match="no library"):
        model.wait()
    with pytest.raises(OSError, match="no library"):
        model.library  # noqa: B018
    numpy.testing.assert_array_equal(model.predict(rows), booster.predict(rows))


def test_a_known_library_needs_no_thread(booster, rows):
    schedc.compile(booster).predict(rows)
    model = schedc.compile(booster, effort="background")
    assert model.ready and model.wait()


def test_a_model_that_is_gone_ends_its_compilation(booster, held):
    model = in_background(booster)
    compilation = model._compilation
    del model
    held.set()
    compilation.end()
    assert compilation not in background._all()


def test_a_fork_waits_for_the_code(booster, rows, held):
    # XGBoost predicts before the fork, since its own threads do not survive that.
    wanted = booster.predict(rows)
    model = in_background(booster)
    threading.Timer(0.05, held.set).start()
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if model.ready and numpy.array_equal(model.predict(rows), wanted) else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_program_that_ends_meanwhile_ends_well(booster, tmp_path):
    booster.save_model(tmp_path / "model.json")
    script = (
        "import schedc, numpy, sys\n"
        "model = schedc.compile(sys.argv[1], effort='background', cache=False)\n"
        "print(model.predict(numpy.zeros((1, 8), 'float32')).shape)\n"
    )
    command = [sys.executable, "-c", script, tmp_path / "model.json"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("(1, ")
