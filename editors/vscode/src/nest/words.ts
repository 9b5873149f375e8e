// Texts around the picture of the panel. Pure.

import type { Step } from './step';
import type { Loop, NestView, Range } from './view';

/** A piece of a text: a name of the language, or the words around names. */
export interface Piece {
    readonly text: string;
    readonly isName: boolean;
}

/** A text split at the backticks around names. */
export const pieces = (text: string): Piece[] =>
    text
        .split('`')
        .map((piece, at) => ({ text: piece, isName: at % 2 === 1 }))
        .filter((piece) => piece.text !== '');

/** Descriptions of the properties of the whole nest, a few words each. */
export function facts({ representation, treeOrder, batchSize }: NestView): string[] {
    return [
        ...(representation === null ? [] : [`${representation} layout`]),
        ...(treeOrder === null || treeOrder === 'model' ? [] : [`trees ${treeOrder.replaceAll('_', ' ')}`]),
        ...(batchSize === null ? [] : [`at most ${batchSize} rows a run`]),
    ];
}

/** The file and the model of the picture. */
export interface Shown {
    readonly stale: boolean;
    readonly view: NestView | null;
    /** Errors in the schedule; with errors, the picture is a best effort. */
    readonly leftOut: readonly Range[];
    /** The directive of that line, if it has errors; the picture then shows the nest before it. */
    readonly refused: Range | null;
    /** The line, from 0, after which the picture shows the nest; null for the whole nest. */
    readonly line: number | null;
}

/** The note below the picture; empty without a picture. */
export function remark(
    { stale, view, leftOut, refused, line }: Shown,
    step: Step | null = null,
    gone: readonly string[] = [],
): string {
    if (view === null) return '';
    if (stale) return 'nest of the last text without errors';
    const faulty = new Set(leftOut.map((range) => range.start.line + 1));
    if (refused !== null) faulty.delete(refused.start.line + 1);
    const lines = [...faulty];
    const without =
        lines.length === 0
            ? []
            : [lines.length === 1 ? `line ${lines[0]} has errors` : `lines ${lines.join(', ')} have errors`];
    const number = step === null ? '' : ` (${step.at} of ${step.of})`;
    const place = `line ${(line ?? 0) + 1}${number}`;
    const after =
        line === null ? [] : [refused === null ? `after ${place}` : `before ${place}, which has errors`];
    const lost = gone.length === 0 ? [] : [`removed: ${gone.join(', ')}`];
    return [...after, ...lost, ...without].join(', ');
}

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB'] as const;

/** A number of bytes as a text, such as `7.5 KiB`. */
export function size(bytes: number): string {
    let unit = 0;
    while (bytes >= 1024 && unit < UNITS.length - 1) {
        bytes /= 1024;
        unit += 1;
    }
    return `${bytes >= 100 || unit === 0 ? Math.round(bytes) : Number(bytes.toFixed(1))} ${UNITS[unit]}`;
}

/** Computed properties of a loop: the working set of an iteration, and idle lanes. */
export function figures(loop: Loop, near: number | null): string | null {
    const what = loop.sort === 'row' ? 'rows' : 'trees';
    const bytes =
        loop.bytes === null || loop.work !== null
            ? []
            : [`≥ ${size(loop.bytes)} of ${what}${besideCache(loop.bytes, near)}`];
    const idle =
        loop.idle === null ? [] : [`${loop.idle.idle} of ${loop.idle.lanes} lanes idle in the last vector`];
    const all = [...bytes, ...idle];
    return all.length === 0 ? null : all.join(' · ');
}

/** The comparison of a working set with the cache; empty if the cache is unknown. */
function besideCache(bytes: number, near: number | null): string {
    if (near === null) return '';
    return bytes > near ? `, larger than the cache: ${size(near)}` : ` (cache: ${size(near)})`;
}
