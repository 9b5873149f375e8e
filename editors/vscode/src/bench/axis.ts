// A logarithmic axis: equal factors are equal distances. Pure.

export interface Axis {
    /** The value at the left end, and at the right one: both are ticks. */
    readonly ends: readonly [number, number];
    readonly ticks: readonly number[];
    /** Where a value stands. */
    readonly at: (value: number) => number;
}

/** Pixels that a tick's number needs at least. */
const ROOM = 30;
/** Powers of ten times these are good numbers. */
const STEPS = [1, 2, 5] as const;

const good = (place: number): number => {
    const step = STEPS[((place % 3) + 3) % 3] ?? 1;
    const decade = Math.floor(place / 3);
    // Dividing keeps small numbers exact: 0.002 is 2 / 1000 and not 2 times 0.001.
    return decade < 0 ? step / 10 ** -decade : step * 10 ** decade;
};

/** The number of the last good value that is not above, counted from 1. */
function below(value: number): number {
    let place = Math.floor(Math.log10(value)) * 3 - 1;
    while (good(place + 1) <= value) place++;
    return place;
}

/** An axis over values, from one place to another. Its ends are good numbers around the values. */
export function axis(values: readonly number[], from: number, to: number): Axis {
    const known = values.filter((value) => Number.isFinite(value) && value > 0);
    const first = known.length === 0 ? 0 : below(Math.min(...known));
    const largest = known.length === 0 ? 1 : Math.max(...known);
    const top = below(largest);
    const last = Math.max(first + 1, good(top) < largest ? top + 1 : top);
    const ends = [good(first), good(last)] as const;
    const whole = Math.log(ends[1] / ends[0]);
    const at = (value: number): number => from + (Math.log(value / ends[0]) / whole) * (to - from);
    const all = Array.from({ length: last - first + 1 }, (_, number) => first + number);
    // Where not all numbers have room, powers of ten do, or every second of them, and so on; or the ends alone.
    const apart = (places: readonly number[]): boolean =>
        places.length > 1 && places.every((place, number) => number === 0 || at(good(place)) - at(good(places[number - 1] ?? 0)) >= ROOM);
    const choices = [all, ...[3, 6, 9, 15, 30].map((every) => all.filter((place) => place % every === 0))];
    const ticks = (choices.find(apart) ?? [first, last]).map(good);
    return { ends, ticks, at };
}
