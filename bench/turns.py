"""Times contenders in turns, for all programs of bench/.

A sample is a series of calls on successive rows that together take SAMPLE seconds. The contenders' samples
alternate (A B C A B C ...), so that a change in the machine's speed affects all of them.

"""

import math
import time

SAMPLE = 4e-3  # seconds; in shorter samples, cold caches of the first calls would distort the time
PAUSE = 2e-3  # seconds after which the threads of the previous contender sleep
MOST_CALLS = 1 << 20  # maximum number of calls of a sample
FEWEST = 3  # minimum number of samples of a contender if their time is limited
MOST_PREPARED = 4096  # maximum number of calls whose rows are converted beforehand, to limit memory


class Contender:
    """A way of prediction: a function, and the rows of its calls. `most` bounds the calls of a sample."""

    def __init__(self, who, way, call, given, single=True, most=MOST_CALLS):
        self.who, self.way, self.call, self.given = who, way, call, given
        self.single, self.most, self.next, self.samples = single, most, 0, []

    def sample(self, calls, clock):
        """The time of a sample in seconds."""
        call, count = self.call, len(self.given)
        order = [self.given[(self.next + at) % count] for at in range(calls)]
        self.next = (self.next + calls) % count
        begun = clock()
        for rows in order:
            call(rows)
        return clock() - begun


def calls_of(contender, clock, seconds):
    """The number of calls that fill a sample. Measuring it also warms up caches and threads."""
    calls = 1
    contender.sample(1, clock)
    while calls < contender.most and contender.sample(calls, clock) < seconds:
        calls *= 2
    return calls


def race(contenders, repetitions, threads=1, seconds=SAMPLE, clock=None, limit=math.inf):
    """Takes the samples of all contenders: seconds per call, ascending. The default clock for one thread is
    the processor time of the process, which other processes disturb less, and for more threads wall time.
    After `limit` seconds, contenders get no further samples."""
    clock = clock or (time.process_time if threads == 1 else time.perf_counter)
    calls = [calls_of(contender, clock, seconds) for contender in contenders]
    for contender in contenders:
        contender.samples = []
    began = clock()
    for turn in range(repetitions):
        if turn >= FEWEST and clock() - began > limit:
            break
        for contender, count in zip(contenders, calls):
            if threads > 1:
                time.sleep(PAUSE)
            if seconds:
                contender.sample(1, clock)
            contender.samples.append(contender.sample(count, clock) / count)
    for contender in contenders:
        contender.samples.sort()


def quantile(samples, share):
    """A quantile of ascending samples."""
    return samples[int(share * (len(samples) - 1) + 0.5)]


class Program:
    """A program with its model. Its results are `margins`, `predictions` or `probabilities`. It has several
    ways of prediction: each has a name, a function of the rows of a call, and an unmeasured conversion of
    these rows, or None. The results of the first way are compared. `row_limit` limits the rows of a way's
    calls. `size` may return the bytes of the loaded model, if that is not the model's file."""

    def __init__(self, name, kind="margins"):
        self.name, self.kind, self.known, self.size = name, kind, [], None

    def way(self, name, call, convert=None, row_limit=None, single=True):
        """Adds a way; returns the program."""
        self.known.append((name, call, convert, row_limit, single))
        return self

    def results(self, rows):
        """The numbers to compare, for all rows."""
        _, call, convert, *_ = self.known[0]
        return call(convert(rows) if convert else rows).reshape(-1).astype("float64")

    def ways(self, rows, batch, threads):
        """The contenders for calls of `batch` rows."""
        for name, call, convert, row_limit, single in self.known:
            if row_limit and batch > row_limit:
                continue
            count = len(rows) // batch
            given = [rows[at * batch:(at + 1) * batch]
                     for at in range(min(count, MOST_PREPARED) if convert else count)]
            yield Contender(self.name, name, call, list(map(convert, given)) if convert else given, single)


def points(programs, rows, batches, threads, repetitions):
    """The figures of each way at each point, in microseconds per row: the median, and the quartiles."""
    for count in threads:
        for batch in batches:
            contenders = [way for program in programs for way in program.ways(rows, batch, count)]
            race(contenders, repetitions, count)
            for contender in contenders:
                low, median, high = (quantile(contender.samples, share) * 1e6 / batch
                                     for share in (0.25, 0.5, 0.75))
                yield {"who": contender.who, "way": contender.way, "threads": count, "batch": batch,
                       "used_threads": 1 if contender.single else count, "us_per_row": median,
                       "spread": [low, high]}


def compare(expected, found):
    """The number of results that are equal to the last bit, and the largest difference, relative to the
    larger of 1 and the expected result."""
    if len(expected) != len(found):
        return 0, float("inf")
    equal = int((expected == found).sum())
    largest = float((abs(expected - found) / abs(expected).clip(1)).max())
    return equal, largest if largest == largest else float("inf")
