// A stage of the compiler as the server tells it in its answer to `sched/ir`, read with care.

import type { Range } from '../nest/view';

/** The stages that are kept up to date, the quickest first. */
export const LIVE = ['plan', 'mir', 'asm'] as const;
export type LiveStage = (typeof LIVE)[number];

export interface StageLine {
    readonly text: string;
    /** The directives that it comes of. */
    readonly ranges: readonly Range[];
}

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function isPlace(value: unknown): boolean {
    return isObject(value) && typeof value['line'] === 'number' && typeof value['character'] === 'number';
}

const isRange = (value: unknown): value is Range => isObject(value) && isPlace(value['start']) && isPlace(value['end']);

/** The lines of an answer. */
export function readStage(json: unknown): StageLine[] {
    const answer = isObject(json) ? json : {};
    const text = typeof answer['text'] === 'string' ? answer['text'] : '';
    const ranges = new Map<number, Range[]>();
    for (const line of list(answer['lines'])) {
        if (isObject(line) && typeof line['line'] === 'number') ranges.set(line['line'], list(line['ranges']).filter(isRange));
    }
    return text.trimEnd().split('\n').map((text, at) => ({ text, ranges: ranges.get(at) ?? [] }));
}

/** The lines that come of what stands in a line of the schedule. */
export function linesOf(lines: readonly StageLine[], line: number): Set<number> {
    const isOf = (range: Range): boolean => range.start.line <= line && line <= range.end.line;
    return new Set(lines.flatMap(({ ranges }, at) => (ranges.some(isOf) ? [at] : [])));
}
