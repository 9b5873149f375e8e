// The parts of the JSON of `schedc bench` that the chart shows.

/** The speed at one call size. */
export interface Point {
    /** Rows per call. */
    readonly rows: number;
    readonly threads: number;
    /** Microseconds per row, the median. */
    readonly micros: number;
    /** The lower and the upper quartile. */
    readonly spread: readonly [number, number];
    /** Microseconds per row of the automatic schedule and of the plain nest, where they were measured. */
    readonly chosen?: number;
    readonly plain?: number;
}

export interface Measured {
    readonly points: readonly Point[];
}

const isObject = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null;
const isTime = (value: unknown): value is number =>
    typeof value === 'number' && Number.isFinite(value) && value > 0;

/** Names of the baselines in the JSON. */
const BASELINES = { chosen: 'chosen schedule', plain: 'plain nest' } as const;

/** Parses the JSON of a measurement of one schedule, with or without baselines. */
export function readMeasured(json: unknown): Measured {
    const points: unknown[] = isObject(json) && Array.isArray(json['points']) ? json['points'] : [];
    const name = (one: unknown): unknown => (isObject(one) ? one['schedule'] : undefined);
    const first = name(points.find(isObject));
    const own = points.filter((one) => name(one) === first).map(point).filter((one) => one !== null);
    const beside = (wanted: string, like: Point): number | undefined => {
        const others = points.filter((one) => name(one) === wanted && name(one) !== first).map(point);
        return others.find((one) => one?.rows === like.rows && one.threads === like.threads)?.micros;
    };
    const baselines = (one: Point): Point => {
        const [chosen, plain] = [beside(BASELINES.chosen, one), beside(BASELINES.plain, one)];
        return { ...one, ...(chosen !== undefined && { chosen }), ...(plain !== undefined && { plain }) };
    };
    return { points: own.map(baselines) };
}

function point(json: unknown): Point | null {
    if (!isObject(json)) return null;
    const { batch, threads, us_per_row: micros, spread } = json;
    if (typeof batch !== 'number' || !isTime(micros)) return null;
    const [low, high]: unknown[] = Array.isArray(spread) ? spread : [];
    return {
        rows: batch,
        threads: typeof threads === 'number' ? threads : 1,
        micros,
        spread: isTime(low) && isTime(high) ? [low, high] : [micros, micros],
    };
}

/** A time with three significant digits: `1.25 µs`. */
export function showMicros(micros: number): string {
    const digits = 2 - Math.floor(Math.log10(micros));
    return `${micros.toFixed(Math.max(0, Math.min(digits, 6)))} µs`;
}

/** The text of the code lens: the best speed. */
export function headline({ points }: Measured): string | null {
    const best = points.reduce<Point | null>((a, b) => (a === null || b.micros < a.micros ? b : a), null);
    if (best === null) return null;
    const threads = best.threads === 1 ? '' : ` on ${best.threads} threads`;
    return `${showMicros(best.micros)} per row, ${best.rows} at a time${threads}`;
}

export type Change =
    | { readonly verdict: 'faster' | 'slower'; readonly factor: number }
    | { readonly verdict: 'same' };

/**
 * The change of a time. It counts as beyond noise only if the middle halves of the samples are disjoint, as
 * in `schedc bench`.
 */
export function change(now: Point, earlier: Point): Change {
    if (now.spread[1] < earlier.spread[0]) return { verdict: 'faster', factor: earlier.micros / now.micros };
    if (now.spread[0] > earlier.spread[1]) return { verdict: 'slower', factor: now.micros / earlier.micros };
    return { verdict: 'same' };
}
