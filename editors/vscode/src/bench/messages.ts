// What the extension tells the panel of measurements.

import type { Measured } from './measured';

export interface ToBench {
    readonly file: string;
    readonly now: Measured;
    readonly earlier: Measured | null;
}
