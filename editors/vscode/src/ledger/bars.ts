// A small chart of the values of a number: one line of text for each, with a bar as long as its time. Pure.

import { showMicros } from '../bench/measured';
import type { Sweep, Tried } from './read';

/** Characters of the longest bar. */
const LONGEST = 24;
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const;

export interface Bar {
    readonly value: number;
    /** The value, and whether it is the present or the fastest one. */
    readonly label: string;
    /** The quartiles. */
    readonly description: string;
    /** The bar and the time, or why there is none. It has a line of its own, so that bars begin at one place. */
    readonly detail: string;
}

/** The lines for a sweep, in the order of the values. Bars begin at nothing, so that their lengths are as the times are. */
export function bars({ value, tried }: Sweep): Bar[] {
    const times = tried.flatMap(({ micros }) => (micros === null ? [] : [micros]));
    const [least, most] = [Math.min(...times), Math.max(...times)];
    const now = tried.find((one) => one.value === value)?.micros ?? null;
    return tried.map((one) => {
        const marks = [...(one.value === value ? ['now'] : []), ...(one.micros !== null && one.micros === least ? ['fastest'] : [])];
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
    return spread === null ? '' : `half of the samples lie between ${showMicros(spread[0])} and ${showMicros(spread[1])}`;
}
