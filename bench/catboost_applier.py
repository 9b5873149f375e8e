"""Compares CatBoost's own applier with a library of the same model. Prints microseconds per row on one
thread, as medians of alternating calls. Rows are converted beforehand: a Pool for CatBoost, floats for the
library.

    python bench/catboost_applier.py SCHEDC [TREES [DEPTH]]

Python needs catboost and numpy.

"""

import ctypes
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import catboost
import numpy

FEATURES = 28
BATCHES = [64, 1024, 16384]
TURNS = 15
# Seconds that the calls of one sample take.
SECONDS = 0.02


class Call(ctypes.Structure):
    """The call structure of a built library."""

    _fields_ = [("size", ctypes.c_uint32), ("kind", ctypes.c_int32), ("rows", ctypes.c_void_p),
                ("n_rows", ctypes.c_int64), ("out", ctypes.c_void_p), ("dtype", ctypes.c_int32),
                ("threads", ctypes.c_int32), ("row_stride", ctypes.c_int64), ("scratch", ctypes.c_void_p),
                ("scratch_size", ctypes.c_int64)]


def trained(trees, depth, folder):
    """A model with numeric features, its file, and rows."""
    random = numpy.random.default_rng(trees + depth)
    rows = random.standard_normal((max(BATCHES), FEATURES)).astype(numpy.float32)
    label = rows[:, 0] * rows[:, 1] + numpy.sin(3 * rows[:, 2]) + 0.3 * random.standard_normal(len(rows))
    model = catboost.CatBoostRegressor(iterations=trees, depth=depth, thread_count=1, verbose=False,
                                       random_seed=1, allow_writing_files=False)
    model.fit(rows[:8192], label[:8192])
    path = folder / "model.json"
    model.save_model(str(path), format="json")
    return model, path, rows


def sample(call):
    """Seconds per call, averaged over enough calls."""
    calls = 0
    start = time.process_time()
    while True:
        call()
        calls += 1
        taken = time.process_time() - start
        if taken > SECONDS:
            return taken / calls


def main():
    schedc, trees, depth = sys.argv[1], int((sys.argv + [0, 0])[2] or 500), int((sys.argv + [0, 0, 0])[3]
                                                                                or 6)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        model, path, rows = trained(trees, depth, folder)
        library = folder / "model.so"
        subprocess.run([schedc, "build", path, "-o", library], check=True, capture_output=True)
        predict = ctypes.CDLL(str(library)).schedc_predict_ex
        print(f"{trees} trees of depth {depth}, {FEATURES} features")
        for batch in BATCHES:
            pool = catboost.Pool(rows[:batch])
            out = numpy.zeros(batch)
            call = Call(size=ctypes.sizeof(Call), kind=1, rows=rows.ctypes.data, n_rows=batch,
                        out=out.ctypes.data, threads=1)

            def ours(call=call):
                if predict(ctypes.byref(call)):
                    raise SystemExit("the library refuses the call")

            def theirs(pool=pool):
                return model.predict(pool, prediction_type="RawFormulaVal", thread_count=1)

            ours()
            equal = int((theirs() == out).sum())
            pairs = [(sample(theirs), sample(ours)) for _ in range(TURNS)]
            theirs_us, ours_us = (statistics.median(times) / batch * 1e6 for times in zip(*pairs))
            print(f"{batch:6} rows: CatBoost {theirs_us:.3f}, schedc {ours_us:.3f}, "
                  f"{theirs_us / ours_us:.1f} times; "
                  f"{equal} of {batch} equal in all bits")


if __name__ == "__main__":
    main()
