// The strip of small cells for a loop's iterations; filled cells run at the same time.

import type { Loop } from './view';

/** Maximum number of cells of a strip. */
export const MOST_CELLS = 8;

export interface Strip {
    /** Cells to draw from the left. */
    readonly cells: number;
    /** Number of filled cells: iterations that run at the same time. */
    readonly filled: number;
    /** Whether dots stand for further iterations. */
    readonly more: boolean;
    /** The cell after the dots, if the end is known; filled if it runs at the same time as the first. */
    readonly last: 'filled' | 'empty' | null;
}

/** Number of a loop's iterations that run at the same time; Infinity means all. */
function together(loop: Loop): number {
    let most = 1;
    for (const { kind, text } of loop.badges) {
        if (kind === 'parallel' || kind === 'gpu') return Infinity;
        if (kind === 'interleave' || kind === 'vector') most *= Number(/\d+/.exec(text)?.[0] ?? MOST_CELLS);
    }
    return most;
}

/** The strip of a loop. */
export function strip(loop: Loop): Strip {
    const count = loop.iterations;
    const more = count === null || count > MOST_CELLS;
    // The dots are as wide as two cells.
    const cells = more ? MOST_CELLS - 3 : count;
    const atOnce = together(loop);
    const last = !more || count === null ? null : atOnce >= count ? 'filled' : 'empty';
    return { cells, filled: Math.min(cells, atOnce), more, last };
}
