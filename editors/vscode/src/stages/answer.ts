// A stage of the compiler, parsed defensively from the server's answer to `sched/ir`.

import type { Range } from '../nest/view';

/** The stages that are kept up to date, fastest first. */
export const LIVE = ['plan', 'mir', 'asm'] as const;
export type LiveStage = (typeof LIVE)[number];

/** Consecutive lines that stem from the same directives. */
interface Run {
    readonly first: number;
    readonly count: number;
    readonly ranges: readonly Range[];
}

/**
 * The text of a stage as sent to the panel. Thousands of lines stem from few directives, so each run of lines
 * has its directives once.
 */
export interface StageText {
    readonly text: string;
    readonly runs: readonly Run[];
}

export interface StageLine {
    readonly text: string;
    /** The directives from which the line stems. */
    readonly ranges: readonly Range[];
}

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function isPlace(value: unknown): boolean {
    return isObject(value) && typeof value['line'] === 'number' && typeof value['character'] === 'number';
}

const isRange = (value: unknown): value is Range =>
    isObject(value) && isPlace(value['start']) && isPlace(value['end']);

/** Parses an answer. */
export function readStage(json: unknown): StageText {
    const answer = isObject(json) ? json : {};
    const runs = list(answer['lines']).flatMap((run): Run[] => {
        if (!isObject(run) || typeof run['line'] !== 'number' || typeof run['count'] !== 'number') return [];
        return [{ first: run['line'], count: run['count'], ranges: list(run['ranges']).filter(isRange) }];
    });
    return { text: typeof answer['text'] === 'string' ? answer['text'] : '', runs };
}

/** The lines of a stage. */
export function stageLines({ text, runs }: StageText): StageLine[] {
    const lines: StageLine[] = text.trimEnd().split('\n').map((text) => ({ text, ranges: [] }));
    for (const { first, count, ranges } of runs) {
        for (const [at, line] of lines.slice(first, first + count).entries())
            lines[first + at] = { ...line, ranges };
    }
    return lines;
}

/** The lines that stem from a given line of the schedule. */
export function linesOf(lines: readonly StageLine[], line: number): Set<number> {
    const isOf = (range: Range): boolean => range.start.line <= line && line <= range.end.line;
    return new Set(lines.flatMap(({ ranges }, at) => (ranges.some(isOf) ? [at] : [])));
}
