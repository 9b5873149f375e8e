// What the extension and the panel of measurements say to each other.

import type { Measured } from './measured';

export interface ToBench {
    readonly file: string;
    /** The name of the file with the rows. */
    readonly rows: string;
    /** The sizes of calls, and their threads. */
    readonly calls: string;
    readonly now: Measured;
    readonly earlier: Measured | null;
}

/** `again` measures once more, `choose` with other rows, `calls` with calls of other sizes or on other threads. */
export type FromBench = 'ready' | 'again' | 'choose' | 'calls';
