"""Programs that the harness calls through their C interfaces, as contenders."""

import ctypes

import numpy

from turns import MOST_CALLS, Program


class Way:
    """One way of prediction by a program of the harness, as a contender."""

    def __init__(self, program, number):
        self.call, self.at = program.harness.call, (program.at, number)
        self.who, self.way = program.name, self.call("way", *self.at, result=ctypes.c_char_p).decode()
        self.single = bool(self.call("single", *self.at))
        self.most = self.call("most", *self.at, result=ctypes.c_int64) or MOST_CALLS

    def sample(self, calls, _):
        """The time of a sample in seconds, by the harness's clock."""
        return self.call("sample", *self.at, ctypes.c_int64(calls), result=ctypes.c_double)


class Native(Program):
    """A program of the harness."""

    def __init__(self, harness, option, library, model=""):
        self.harness = harness
        self.at = harness.call("open", option.encode(), str(library).encode(), str(model).encode())
        super().__init__(harness.call("name", self.at, result=ctypes.c_char_p).decode(), harness.kind)

    def results(self, rows):
        found = numpy.zeros(len(rows) * self.harness.outputs)
        self.harness.call("results", self.at, ctypes.c_void_p(found.ctypes.data),
                          ctypes.c_int64(self.harness.outputs), result=None)
        return found

    def ways(self, rows, batch, threads):
        count = self.harness.call("begin", self.at, ctypes.c_int64(batch), threads,
                                  ctypes.c_int64(self.harness.outputs))
        return [Way(self, number) for number in range(count)]


class Harness:
    """The harness's library, with the rows of all programs."""

    def __init__(self, path, rows, outputs, kind):
        self.library, self.rows, self.outputs, self.kind = ctypes.CDLL(str(path)), rows, outputs, kind
        self.call("rows", ctypes.c_void_p(rows.ctypes.data), *map(ctypes.c_int64, rows.shape),
                  ctypes.c_int64(rows.itemsize), int(kind != "margins"), result=None)

    def call(self, name, *arguments, result=ctypes.c_int32):
        function = getattr(self.library, f"harness_{name}")
        function.restype = result
        return function(*arguments)
