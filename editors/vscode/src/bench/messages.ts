// What the extension and the panel of measurements say to each other.

import type { Measured } from './measured';

export interface ToBench {
    readonly file: string;
    /** The name of the file with the rows. */
    readonly rows: string;
    readonly now: Measured;
    readonly earlier: Measured | null;
}

/** `again` measures once more, `choose` with other rows. */
export type FromBench = 'ready' | 'again' | 'choose';
