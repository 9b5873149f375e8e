// What a measurement says: the answer to the server's command `schedc.bench`.

/** The speed of calls of one size. */
export interface Point {
    /** Rows of a call. */
    readonly rows: number;
    readonly threads: number;
    /** Microseconds for a row, the median. */
    readonly micros: number;
}

export interface Measured {
    readonly points: readonly Point[];
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** Reads an answer, of which the first schedule counts: it is the only one that was asked for. */
export function readMeasured(json: unknown): Measured {
    const points = isObject(json) && Array.isArray(json['points']) ? json['points'] : [];
    return { points: points.map(point).filter((one) => one !== null) };
}

function point(json: unknown): Point | null {
    if (!isObject(json)) return null;
    const { batch, threads, ns_per_row: times } = json;
    const nanos: unknown = Array.isArray(times) ? times[0] : times;
    if (typeof batch !== 'number' || typeof nanos !== 'number' || !Number.isFinite(nanos)) return null;
    return { rows: batch, threads: typeof threads === 'number' ? threads : 1, micros: nanos / 1000 };
}

/** A time with three digits that matter: `1.25 µs`. */
export function showMicros(micros: number): string {
    const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.max(micros, 1e-9))));
    return `${micros.toFixed(Math.min(digits, 4))} µs`;
}

/** The text of the code lens: the speed of the largest calls. */
export function headline({ points }: Measured): string | null {
    const best = points.reduce<Point | null>((a, b) => (a === null || b.micros < a.micros ? b : a), null);
    if (best === null) return null;
    const threads = best.threads === 1 ? '' : ` on ${best.threads} threads`;
    return `${showMicros(best.micros)} per row, ${best.rows} at a time${threads}`;
}
