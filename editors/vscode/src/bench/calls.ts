// The calls to measure: rows per call, and threads. Pure.

export interface Calls {
    /** Rows per call; if empty, schedc chooses the sizes. */
    readonly batch: readonly number[];
    /** Threads per call; 0 means all hardware threads. */
    readonly threads: readonly number[];
}

export const DEFAULT: Calls = { batch: [1, 64, 1024, 16384], threads: [1] };

/** The largest numbers of rows and threads that schedc accepts. */
const [MOST_ROWS, MOST_THREADS] = [1 << 24, 4096];

/** Parses `1, 64, 1024 on 1, all`; null if it is malformed. Without threads, calls use one thread. */
export function readCalls(text: string): Calls | null {
    const [rows = '', threads = '1', ...rest] = text.split(/\bon\b/i);
    const numbers = (list: string, least: number, most: number): number[] | null => {
        const read = list
            .split(',')
            .map((word) =>
                /^\s*all\s*$/i.test(word) && least === 0 ? 0 : /^\s*\d+\s*$/.test(word) ? Number(word) : NaN,
            );
        return read.every((one) => Number.isInteger(one) && one >= least && one <= most)
            ? [...new Set(read)]
            : null;
    };
    const found = { batch: numbers(rows, 1, MOST_ROWS), threads: numbers(threads, 0, MOST_THREADS) };
    if (rest.length > 0 || found.batch === null || found.threads === null) return null;
    return { batch: found.batch, threads: found.threads };
}

/** The text of calls in the form that `readCalls` parses. */
export const showCalls = ({ batch, threads }: Calls): string =>
    `${batch.join(', ')} on ${threads.map((one) => (one === 0 ? 'all' : String(one))).join(', ')}`;

/** The text of these calls for a heading. */
export function describeCalls(calls: Calls): string {
    const { batch, threads } = calls;
    const names = threads.map((one) => (one === 0 ? 'all' : String(one))).join(', ');
    return `${batch.join(', ')} rows a call, ${names} ${names === '1' ? 'thread' : 'threads'}`;
}
