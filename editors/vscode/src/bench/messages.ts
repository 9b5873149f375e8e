// Messages between the extension and the panel of measurements.

import type { Measured } from './measured';

export interface ToBench {
    readonly file: string;
    /** The name of the file with the rows. */
    readonly rows: string;
    /** The call sizes and their threads. */
    readonly calls: string;
    readonly now: Measured;
    readonly earlier: Measured | null;
}

/** `again` repeats the measurement, `choose` with other rows, `calls` with other call sizes or threads. */
export type FromBench = 'ready' | 'again' | 'choose' | 'calls';
