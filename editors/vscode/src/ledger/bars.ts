// A chart of text lines: one line for each tried value, with a bar whose length is proportional to the time.
// Pure.

import { showMicros } from '../bench/measured';
import type { Sweep, Tried } from './read';

/** Length of the longest bar, in characters. */
const LONGEST = 24;
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const;

export interface Bar {
    readonly value: number;
    /** The value, and whether it is the current or the fastest one. */
    readonly label: string;
    /** The quartiles of its times. */
    readonly description: string;
    /**
     * The bar and the time, or the reason why the value was not measured. VS Code shows it on a separate
     * line, so that the bars are aligned.
     */
    readonly detail: string;
}

/**
 * The lines of a sweep, in the order of the values. Bars start at zero, so their lengths are proportional to
 * the times.
 */
export function bars({ value, tried }: Sweep): Bar[] {
    const times = tried.flatMap(({ micros }) => (micros === null ? [] : [micros]));
    const [least, most] = [Math.min(...times), Math.max(...times)];
    const now = tried.find((one) => one.value === value)?.micros ?? null;
    return tried.map((one) => {
        const marks = [
            ...(one.value === value ? ['now'] : []),
            ...(one.micros !== null && one.micros === least ? ['fastest'] : []),
        ];
        const label = marks.length === 0 ? String(one.value) : `${one.value} (${marks.join(', ')})`;
        return { value: one.value, label, description: quartiles(one), detail: describe(one, now, most) };
    });
}

function describe({ micros, why }: Tried, now: number | null, most: number): string {
    if (micros === null) return why ?? 'not measured';
    const factor = now === null ? '' : `  ${(now / micros).toFixed(2)}×`;
    return `${bar(micros / most)} ${showMicros(micros)}${factor}`;
}

function bar(share: number): string {
    const eighths = Math.max(1, Math.round(share * LONGEST * 8));
    return '█'.repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? '');
}

function quartiles({ spread }: Tried): string {
    return spread === null
        ? ''
        : `half of the samples lie between ${showMicros(spread[0])} and ${showMicros(spread[1])}`;
}
