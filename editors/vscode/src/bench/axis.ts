// A logarithmic axis: equal factors have equal distances. Pure.

export interface Axis {
    /** The values at the left and the right end; both are ticks. */
    readonly ends: readonly [number, number];
    readonly ticks: readonly number[];
    /** The position of a value, in pixels. */
    readonly at: (value: number) => number;
}

/** Minimum distance between the numbers of two ticks, in pixels. */
const ROOM = 30;
/** Round numbers, which ticks have, are these factors times a power of ten. */
const STEPS = [1, 2, 5] as const;

const good = (place: number): number => {
    const step = STEPS[((place % 3) + 3) % 3] ?? 1;
    const decade = Math.floor(place / 3);
    // Dividing keeps small numbers exact: 0.002 is 2 / 1000 and not 2 times 0.001.
    return decade < 0 ? step / 10 ** -decade : step * 10 ** decade;
};

/** The index of the largest round number that is not above a value. The round number 1 has index 0. */
function below(value: number): number {
    let place = Math.floor(Math.log10(value)) * 3 - 1;
    while (good(place + 1) <= value) place++;
    return place;
}

/** An axis for values, between two positions. Its ends are the round numbers around the values. */
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
    // If not all numbers fit, only powers of ten are ticks, then every second power, and so on; in the end
    // only the axis ends.
    const apart = (places: readonly number[]): boolean =>
        places.length > 1 &&
        places.every(
            (place, number) => number === 0 || at(good(place)) - at(good(places[number - 1] ?? 0)) >= ROOM,
        );
    const choices = [all, ...[3, 6, 9, 15, 30].map((every) => all.filter((place) => place % every === 0))];
    const ticks = (choices.find(apart) ?? [first, last]).map(good);
    return { ends, ticks, at };
}
