"""Threads, processes and signals: predictions stay the same, and nothing hangs."""

import multiprocessing
import os
import pickle
import signal
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy
import pytest

import schedc

xgboost = pytest.importorskip("xgboost")

PATIENCE = 600


@pytest.fixture(scope="module")
def model(rows, target):
    theirs = xgboost.XGBRegressor(n_estimators=40, random_state=1).fit(rows, target)
    return schedc.compile(theirs)


@pytest.fixture(scope="module")
def many(rows):
    return numpy.tile(rows, (100, 1))


def predict(given):
    model, rows = given
    return model.predict(rows)


def compile_again(given):
    model, rows = given
    return schedc.compile(model).predict(rows)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes(model, many, method):
    """Child processes of every start method predict while the parent's library has threads."""
    expected = model.predict(many)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        for found in pool.map(predict, [(model, many)] * 4, timeout=PATIENCE):
            numpy.testing.assert_array_equal(found, expected)
    numpy.testing.assert_array_equal(model.predict(many), expected)


def test_a_child_compiles_after_a_fork(rows, target):
    theirs = xgboost.XGBRegressor(n_estimators=4, random_state=1).fit(rows, target)
    content = bytes(theirs.get_booster().save_raw("ubj"))
    expected = compile_again((content, rows))
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
        numpy.testing.assert_array_equal(pool.submit(compile_again, (content, rows)).result(PATIENCE),
                                         expected)


def test_threads(model, many):
    """Sixteen threads call one model at the same time."""
    expected = model.predict(many)
    with ThreadPoolExecutor(16) as pool:
        for found in pool.map(predict, [(model, many)] * 64, timeout=PATIENCE):
            numpy.testing.assert_array_equal(found, expected)


def test_threads_compile(rows, target):
    theirs = xgboost.XGBRegressor(n_estimators=4, random_state=1).fit(rows, target)
    content = bytes(theirs.get_booster().save_raw("ubj"))
    expected = theirs.predict(rows)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(compile_again, [(content, rows)] * 8, timeout=PATIENCE):
            numpy.testing.assert_array_equal(found, expected)


def test_joblib(model, many):
    joblib = pytest.importorskip("joblib")
    expected = model.predict(many)
    for backend in ("loky", "threading"):
        found = joblib.Parallel(n_jobs=2,
                                backend=backend)(joblib.delayed(model.predict)(many) for _ in range(4))
        for one in found:
            numpy.testing.assert_array_equal(one, expected)


def test_signals(model, many):
    """The caller's signal handler runs between two calls, even with threads of the library."""
    seen = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        expected = model.predict(many)
        calls = 0
        while len(seen) < 20 or calls < 20:
            numpy.testing.assert_array_equal(model.predict(many), expected)
            calls += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_an_interrupt_ends_a_program(model, many, tmp_path):
    """Ctrl-C interrupts a program that predicts in an endless loop."""
    import subprocess

    (tmp_path / "model").write_bytes(pickle.dumps(model))
    numpy.save(tmp_path / "rows.npy", many)
    program = (
        "import pickle, numpy\n"
        "model, rows = pickle.load(open('model', 'rb')), numpy.load('rows.npy')\n"
        "model.predict(rows)\nprint('ready', flush=True)\n"
        "while True: model.predict(rows)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, env=environment, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout.readline() == "ready\n"
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=PATIENCE)
    assert child.returncode != 0 and "KeyboardInterrupt" in errors
