"""Times the peers of schedc that run on GPUs: nvForest, XGBoost and Hummingbird. Prints lines of JSON.

    peers.py FOLDER [--until SECONDS] [--rows 1000000] [--seed 1] [--peers nvForest,XGBoost]
             [--device gpu|cpu]

FOLDER has a folder for each model, with `model.json` (XGBoost) or `model.txt` (LightGBM), `sample.npy`, and
schedc's results for these rows: `margins.npy` and `predictions.npy`. The results of a peer must be close to
one of them, or the peer is not timed. A peer that is not installed, or does not read a model, is left out.

Figures are medians of wall times: of calls with rows and results in the GPU's memory, until the results are
there (resident), and of calls with both in the host's memory (host to host). No new call begins after
`--until`, in seconds since 1970. With `--device cpu` peers use the processor, to try this program.
"""

import argparse
import importlib
import json
import statistics
import sys
import time
from pathlib import Path

BATCHES = [1, 1024, 16384, 1000000, 64]
TOLERANCE = 1e-4  # largest difference of results, relative to the larger of 1 and the result's magnitude
SAMPLES = 9
SECONDS = 0.3  # of the samples of a figure; three times as long if calls are slow
MOST_BYTES = 256 << 20  # of drawn rows


class Device:
    """Arrays in the memory of the GPU."""

    def __init__(self):
        self.cupy = importlib.import_module("cupy")

    def put(self, rows):
        return self.cupy.asarray(rows)

    def get(self, array):
        return self.cupy.asnumpy(array)

    def wait(self):
        self.cupy.cuda.get_current_stream().synchronize()


class Host:
    """The same for the processor: arrays stay where they are."""

    def put(self, rows):
        return rows

    def get(self, array):
        return array

    def wait(self):
        pass


class NvForest:
    """nvForest, in the layout and with the chunks that its own search prefers for each number of rows."""

    package = "nvforest"

    def __init__(self, model, arguments):
        self.device = Device() if arguments.device == "gpu" else Host()
        package = importlib.import_module(self.package)
        self.loaded = package.load_model(str(model), device=arguments.device, precision="single")
        self.method = "predict_proba" if hasattr(self.loaded, "predict_proba") else "predict"
        self.way = self.method

    def prepare(self, rows):
        best = self.loaded.optimize(data=rows, timeout=0.1, predict_method=self.method)
        self.way = f"{best.layout}, chunks of {best.default_chunk_size}"
        self.call = getattr(best, self.method)


class XGBoost:
    """XGBoost's inplace_predict, which computes margins."""

    package = "xgboost"
    way = "inplace_predict"

    def __init__(self, model, arguments):
        self.device = Device() if arguments.device == "gpu" else Host()
        xgboost = importlib.import_module(self.package)
        xgboost.set_config(verbosity=0)
        self.booster = xgboost.Booster(model_file=str(model))
        self.booster.set_param({"device": "cuda" if arguments.device == "gpu" else "cpu"})

    def prepare(self, rows):
        pass

    def call(self, rows):
        return self.booster.inplace_predict(rows, predict_type="margin", validate_features=False)


class Hummingbird:
    """Hummingbird's tensors for PyTorch, of a model in the scikit-learn interface of its trainer."""

    package = "hummingbird.ml"
    way = "torch"

    def __init__(self, model, arguments):
        self.torch = importlib.import_module("torch")
        package = importlib.import_module(self.package)
        self.device = self
        self.place = "cuda" if arguments.device == "gpu" else "cpu"
        if model.suffix == ".txt":
            fitted = importlib.import_module("lightgbm").Booster(model_file=str(model))
        else:
            xgboost = importlib.import_module("xgboost")
            objective = json.loads(model.read_text())["learner"]["objective"]["name"]
            is_classifier = objective.startswith(("binary:", "multi:"))
            fitted = xgboost.XGBClassifier() if is_classifier else xgboost.XGBRegressor()
            fitted.load_model(str(model))
        numpy = importlib.import_module("numpy")
        some = numpy.load(model.parent / "sample.npy")[:32]
        self.made = package.convert(fitted, "torch", some, device=self.place)

    def prepare(self, rows):
        pass

    def call(self, rows):
        with self.torch.no_grad():
            results = self.made.model(rows)
        # Classifiers return labels and probabilities.
        return results[1] if isinstance(results, (tuple, list)) else results

    def put(self, rows):
        return self.torch.from_numpy(rows).to(self.place)

    def get(self, array):
        return array.cpu().numpy()

    def wait(self):
        if self.place == "cuda":
            self.torch.cuda.synchronize()


PEERS = {"nvForest": NvForest, "XGBoost": XGBoost, "Hummingbird": Hummingbird}


def draw(numpy, sample, count, seed):
    """Rows of the sample, then rows in which every eighth value comes from another row of it."""
    count = min(count, MOST_BYTES // (4 * sample.shape[1]))
    source = numpy.random.default_rng(seed)
    rows = sample[source.integers(0, len(sample), count)]
    others = source.integers(0, len(sample), count)
    mixed = source.integers(0, 8, rows.shape, dtype=numpy.uint8) == 0
    numpy.copyto(rows, sample[others], where=mixed)
    rows[: len(sample)] = sample[:count]
    return rows


def difference(numpy, found, expected):
    """The largest difference of results, as a share of the larger of 1 and the expected magnitude."""
    found = numpy.asarray(found, dtype="float64").reshape(len(found), -1)
    expected = numpy.asarray(expected, dtype="float64").reshape(len(expected), -1)
    if found.shape[1] == 2 and expected.shape[1] == 1:
        found = found[:, 1:]  # of two classes, the probability of the second one
    if found.shape != expected.shape:
        return float("inf")
    apart = numpy.abs(found - expected) / numpy.maximum(1, numpy.abs(expected))
    return float(apart.max()) if numpy.isfinite(apart).all() else float("inf")


def median_us(call, until):
    """The median of samples of a call, in microseconds."""
    call()
    samples, began = [], time.perf_counter()
    while True:
        start = time.perf_counter()
        call()
        end = time.perf_counter()
        samples.append((end - start) * 1e6)
        is_enough = len(samples) >= SAMPLES and end - began >= SECONDS or end - began >= 3 * SECONDS
        if is_enough or time.time() >= until:
            break
    return round(statistics.median(samples), 3)


class Session:
    """The measurement of all peers and models of a folder."""

    def __init__(self, arguments, numpy):
        self.arguments, self.numpy = arguments, numpy

    def add(self, part, **fields):
        print(json.dumps({"part": part, **fields}, separators=(",", ":")), flush=True)

    def leave_out(self, peer, model, why):
        self.add("peer", peer=peer, of=f"{peer}, {model}" if model else peer, left_out=str(why)[:300])

    def is_late(self):
        return time.time() >= self.arguments.until

    def compare(self, peer, name, folder):
        """The peer for a model, if its results are close to schedc's; else prints a line and returns None."""
        models = (path for path in sorted(folder.glob("model.*")) if path.suffix in (".json", ".txt"))
        model = next(models, None)
        if model is None or (model.suffix == ".txt" and name == "XGBoost"):
            self.leave_out(name, folder.name, "it does not read this format")
            return None
        loaded = peer(model, self.arguments)
        sample = self.numpy.load(folder / "sample.npy")
        rows = loaded.device.put(sample)
        loaded.prepare(rows)
        found = loaded.device.get(loaded.call(rows))
        expected = [self.numpy.load(folder / f"{what}.npy") for what in ("margins", "predictions")]
        least = min(difference(self.numpy, found, one) for one in expected)
        is_close = least <= TOLERANCE
        shown = least if least < float("inf") else -1
        self.add("peer_check", peer=name, model=folder.name, rows=len(sample), largest=shown, ok=is_close)
        if not is_close:
            self.leave_out(name, folder.name, "its results are not close to schedc's")
            return None
        return loaded

    def time(self, name, loaded, folder, rows, batch):
        """Prints the figures of a peer for calls of `batch` rows."""
        part = self.numpy.ascontiguousarray(rows[:batch])
        device = loaded.device
        resident = device.put(part)
        loaded.prepare(resident)

        def on_device():
            loaded.call(resident)
            device.wait()

        def from_host():
            device.get(loaded.call(device.put(part)))

        fields = {"resident_us": median_us(on_device, self.arguments.until)}
        if not self.is_late():
            fields["host_us"] = median_us(from_host, self.arguments.until)
        self.add("peer", peer=name, model=folder.name, batch=len(part), way=loaded.way, **fields)

    def measure(self, name, folders):
        """All models and numbers of rows of one peer; the most telling calls of all models first."""
        peer = PEERS[name]
        module = importlib.import_module(peer.package)
        root = importlib.import_module(peer.package.split(".")[0])
        version = getattr(module, "__version__", getattr(root, "__version__", "unknown"))
        self.add("peer_version", peer=name, version=version)
        ready = {}
        for folder in folders:
            try:
                loaded = None if self.is_late() else self.compare(peer, name, folder)
                if loaded:
                    ready[folder] = loaded
            except Exception as error:  # the other models are still measured
                self.leave_out(name, folder.name, f"{type(error).__name__}: {error}")
        drawn = {folder: draw(self.numpy, self.numpy.load(folder / "sample.npy"), self.arguments.rows,
                              self.arguments.seed) for folder in ready}
        for batch in BATCHES:
            for folder, loaded in ready.items():
                if batch > self.arguments.rows:
                    continue
                if self.is_late():
                    self.leave_out(name, f"{folder.name}, {batch} rows", "no time")
                    continue
                try:
                    self.time(name, loaded, folder, drawn[folder], batch)
                except Exception as error:  # such as too little memory for one size
                    self.leave_out(name, f"{folder.name}, {batch} rows", f"{type(error).__name__}: {error}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--until", type=float, default=float("inf"))
    parser.add_argument("--rows", type=int, default=1000000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--device", choices=("gpu", "cpu"), default="gpu")
    arguments = parser.parse_args()
    folders = sorted(path.parent for path in Path(arguments.folder).glob("*/sample.npy"))
    end = arguments.until
    names = arguments.peers.split(",")
    for number, name in enumerate(names):
        # Peers share the time equally.
        arguments.until = time.time() + (end - time.time()) / (len(names) - number)
        try:
            session = Session(arguments, importlib.import_module("numpy"))
            session.measure(name, folders)
        except ImportError as error:
            Session(arguments, None).leave_out(name, "", f"it is not installed: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
