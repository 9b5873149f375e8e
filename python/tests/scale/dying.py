"""A predictor whose first call kills the worker process that runs it, as the system does when memory is
short."""

import os
import signal

from schedc_runtime import BatchPredictor


class Dying(BatchPredictor):
    """Kills its process at the partition that begins with a given row, unless another process did so
    before."""

    def dies(self, path, first):
        self.path, self.first = str(path), first
        return self

    def predict(self, table, *, threads=None):
        ids = table["id"] if len(table) else []
        if len(ids) and int(ids[0].as_py() if hasattr(ids[0], "as_py") else list(ids)[0]) >= self.first:
            try:
                os.unlink(self.path)
            except FileNotFoundError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return super().predict(table, threads=threads)

    __call__ = predict

    def __reduce__(self):
        make, arguments = super().__reduce__()
        return _restored, (arguments, self.path, self.first)


def _restored(arguments, path, first):
    from schedc_runtime import batch

    predictor = batch._restored(*arguments)
    predictor.__class__ = Dying
    return predictor.dies(path, first)


class Level(BatchPredictor):
    """Records the processor level that each of its processes allows."""

    def logs(self, folder):
        self.folder = str(folder)
        return self

    def predict(self, table, *, threads=None):
        with open(os.path.join(self.folder, str(os.getpid())), "w") as file:
            file.write(os.environ.get("SCHEDC_CPU", "any"))
        return super().predict(table, threads=threads)

    __call__ = predict

    def __reduce__(self):
        make, arguments = super().__reduce__()
        return _level, (arguments, self.folder)


def _level(arguments, folder):
    from schedc_runtime import batch

    predictor = batch._restored(*arguments)
    predictor.__class__ = Level
    return predictor.logs(folder)
