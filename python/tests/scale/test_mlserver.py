"""MLServer itself, on folders of `schedc package`."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import numpy
import pytest
from conftest import EXAMPLES, SCHEDC

pytest.importorskip("mlserver")


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The address of a server with two models."""
    folder = tmp_path_factory.mktemp("served")
    for name, model in [("tumours", "model/breast_cancer.json"), ("houses", "categories/lightgbm.txt")]:
        library = folder / f"{name}.so"
        subprocess.run([SCHEDC, "build", EXAMPLES / model, "-o", library], check=True, capture_output=True)
        made = folder / "models" / name
        made.parent.mkdir(exist_ok=True)
        subprocess.run([SCHEDC, "package", library, "--for", "mlserver", "-o", made], check=True,
                       capture_output=True)
    http, grpc, metrics = free_ports(3)
    ports = {"MLSERVER_HTTP_PORT": http, "MLSERVER_GRPC_PORT": grpc, "MLSERVER_METRICS_PORT": metrics}
    environment = {**os.environ, **{name: str(port) for name, port in ports.items()},
                   "MLSERVER_HOST": "127.0.0.1"}
    with open(folder / "log", "w") as log:
        server = subprocess.Popen([sys.executable, "-m", "mlserver.cli.main", "start", folder / "models"],
                                  env=environment,
                                  stdout=log, stderr=log)
    address = f"http://127.0.0.1:{http}/v2"
    try:
        until = time.monotonic() + 120
        while True:
            assert server.poll() is None and time.monotonic() < until, (folder / "log").read_text()
            try:
                urllib.request.urlopen(f"{address}/health/ready", timeout=10).close()
                break
            except OSError:
                time.sleep(0.2)
        yield address
    finally:
        server.terminate()
        server.wait(60)


def request(address, body=None):
    request = urllib.request.Request(address, json.dumps(body).encode() if body else None,
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def test_rows_in_the_models_order(server):
    rows = numpy.load(EXAMPLES / "model/rows.npy").astype("float32")
    expected = numpy.loadtxt(EXAMPLES / "model/expected.csv", skiprows=1, dtype="float32")
    assert request(f"{server}/models/tumours")["inputs"][0] == {"name": "rows", "datatype": "FP32",
                                                            "shape": [-1, 30]}
    # JSON has no NaN.
    data = [None if numpy.isnan(value) else value for value in rows.ravel().tolist()]
    tensor = {"name": "rows", "datatype": "FP32", "shape": list(rows.shape), "data": data}
    answer = request(f"{server}/models/tumours/infer", {"inputs": [tensor]})["outputs"][0]
    assert (answer["name"], answer["datatype"], answer["shape"]) == ("prediction", "FP32", [len(rows), 1])
    assert numpy.array_equal(numpy.array(answer["data"], dtype="float32"), expected)


def test_columns_by_name(server):
    texts = {"size": ["L", "S"], "floor": ["10", "20"], "country": ["NL", "DE"]}
    inputs = [{"name": name, "datatype": "BYTES", "shape": [2, 1], "data": values}
              for name, values in texts.items()]
    inputs.insert(0, {"name": "area", "datatype": "FP64", "shape": [2, 1], "data": [157.4, 40.0]})
    answer = request(f"{server}/models/houses/infer", {"inputs": inputs})["outputs"][0]
    assert answer["datatype"] == "FP64" and round(answer["data"][0], 2) == 1660.88
    with pytest.raises(urllib.error.HTTPError) as refused:
        request(f"{server}/models/houses/infer", {"inputs": inputs[1:]})
    assert "lacks features of the model" in refused.value.read().decode()
