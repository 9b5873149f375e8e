"""Speed of fitted pipelines: schedc, Hummingbird and scikit-learn.

    MALLOC_MMAP_THRESHOLD_=1073741824 MALLOC_TRIM_THRESHOLD_=8589934592 \\
    python bench/tensors.py [--names forest,boosting] [--sizes 1,1000,1000000]

Needs the packages schedc, onnx 1.16.1, scikit-learn 1.5, torch and hummingbird-ml 0.4.12, which does not
support later releases of onnx. All use one thread, are called from Python with rows in single precision, and
take turns. The least processor time of the samples counts. Calls of more than 100,000 rows are cut into parts
for Hummingbird, since its intermediate results would not fit in memory. The variables of malloc keep freed
memory for the next call: without them, calls of 1,000 rows take Hummingbird up to 100 times as long.

"""

import argparse
import warnings
from importlib.metadata import version

import engines  # noqa: F401  sets the number of threads
import hummingbird.ml
import numpy
import schedc
import sklearn
import torch
from sklearn import ensemble, linear_model, neural_network, pipeline, preprocessing
from turns import Contender, race

ROUNDS = 15  # number of samples of a contender
LEAST = 0.005  # seconds of a sample
PART = 100_000  # most rows of a call of Hummingbird

MODELS = {
    "forest": lambda: ensemble.RandomForestClassifier(100, max_depth=8, random_state=0),
    "boosting": lambda: ensemble.GradientBoostingClassifier(n_estimators=100, max_depth=3, random_state=0),
    "logistic": lambda: linear_model.LogisticRegression(),
    "net": lambda: neural_network.MLPClassifier((64, 32), max_iter=20, random_state=0),
}


def in_parts(method):
    """A function that calls a method with parts of the rows."""
    def call(rows):
        if len(rows) <= PART:
            return method(rows)
        return numpy.concatenate([method(rows[at:at + PART]) for at in range(0, len(rows), PART)])
    return call


def contenders(name, rows, classes):
    """The calls to time, by contender."""
    fitted = pipeline.make_pipeline(preprocessing.StandardScaler(), MODELS[name]())
    fitted.fit(rows[:4000], classes[:4000])
    model = schedc.compile(fitted, rows="f32")
    calls = {"schedc": model.predict_proba, "scikit-learn": fitted.predict_proba}
    for backend in ("torch", "torch.jit"):
        made = hummingbird.ml.convert(fitted, backend, rows[:1000])
        calls[f"Hummingbird, {backend}"] = in_parts(made.predict_proba)
    expected = fitted.predict_proba(rows[:20000])
    for contender, call in calls.items():
        apart = numpy.abs(call(rows[:20000]) - expected)
        share = (apart.max(axis=1) > 1e-5).mean() * 100
        print(f"{name}, {contender}: at most {apart.max():.2g} apart, {share:.3g} % of rows over 1e-5")
    return calls


def times(calls, rows):
    """Microseconds per row of each contender: the least of samples in turns."""
    ways = [Contender(name, "call", call, [rows]) for name, call in calls.items()]
    race(ways, ROUNDS if len(rows) < PART else 2, seconds=LEAST)
    return {way.who: way.samples[0] / len(rows) * 1e6 for way in ways}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--names", default=",".join(MODELS))
    parser.add_argument("--sizes", default="1,1000,1000000")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    print(f"scikit-learn {sklearn.__version__}, torch {torch.__version__}, "
          "hummingbird-ml " + version("hummingbird-ml"))
    sizes = [int(size) for size in given.sizes.split(",")]
    source = numpy.random.default_rng(0)
    rows = numpy.round(source.normal(size=(max(4000, *sizes), 20)), 2).astype("float32")
    score = rows[:, :5].sum(axis=1) + source.normal(size=len(rows))
    for name in given.names.split(","):
        calls = contenders(name, rows, (score > 0).astype(int))
        found = [times(calls, rows[:size]) for size in sizes]
        for contender in calls:
            print(f"| {name} | {contender} | {' / '.join(f'{each[contender]:.3g}' for each in found)} |",
                  flush=True)


if __name__ == "__main__":
    main()
