// What the panel says around the picture, in words. Pure.

import type { Loop, NestView, Range } from './view';

/** A piece of a text: a name of the language, or words around names. */
export interface Piece {
    readonly text: string;
    readonly isName: boolean;
}

/** A text in pieces; names stand between backticks. */
export const pieces = (text: string): Piece[] =>
    text.split('`').map((piece, at) => ({ text: piece, isName: at % 2 === 1 })).filter((piece) => piece.text !== '');

/** What is true of the whole nest, in a few words each. */
export function facts({ representation, treeOrder, batchSize }: NestView): string[] {
    return [
        ...(representation === null ? [] : [`${representation} layout`]),
        ...(treeOrder === null || treeOrder === 'model' ? [] : [`trees ${treeOrder.replaceAll('_', ' ')}`]),
        ...(batchSize === null ? [] : [`at most ${batchSize} rows a run`]),
    ];
}

/** What the picture is of. */
export interface Shown {
    readonly stale: boolean;
    readonly view: NestView | null;
    /** What is wrong: of it the picture has at most what can be understood. */
    readonly leftOut: readonly Range[];
    /** The line, from 0, after which it shows the nest; null for the whole. */
    readonly line: number | null;
}

/** What is to be said of the picture itself: nothing where there is none. */
export function remark({ stale, view, leftOut, line }: Shown): string {
    if (view === null) return '';
    if (stale) return 'as of the last text without mistakes';
    const lines = [...new Set(leftOut.map((range) => range.start.line + 1))];
    const without = lines.length === 0 ? [] : [lines.length === 1 ? `line ${lines[0]} is wrong` : `lines ${lines.join(', ')} are wrong`];
    return [...(line === null ? [] : [`after line ${line + 1}`]), ...without].join(', ');
}

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB'] as const;

/** A number of bytes. */
export function size(bytes: number): string {
    let unit = 0;
    while (bytes >= 1024 && unit < UNITS.length - 1) {
        bytes /= 1024;
        unit += 1;
    }
    return `${bytes >= 100 || unit === 0 ? Math.round(bytes) : Number(bytes.toFixed(1))} ${UNITS[unit]}`;
}

/** What is known of a loop beside what is stated of it: what an iteration works on, and lanes that do nothing. */
export function figures(loop: Loop, near: number | null): string | null {
    const what = loop.sort === 'row' ? 'rows' : 'trees';
    const bytes = loop.bytes === null || loop.walk ? [] : [
        `≥ ${size(loop.bytes)} of ${what}${near === null ? '' : loop.bytes > near ? `, more than the cache has: ${size(near)}` : ` (cache: ${size(near)})`}`,
    ];
    const idle = loop.idle === null ? [] : [`${loop.idle.idle} of ${loop.idle.lanes} lanes idle in the last vector`];
    const all = [...bytes, ...idle];
    return all.length === 0 ? null : all.join(' · ');
}
