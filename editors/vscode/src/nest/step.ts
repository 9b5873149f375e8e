// Steps through a schedule: the lines of its directives, and what a directive changed in the nest. Pure.

import { badgeKey, isDirective, type Marked } from './cursor';
import { allLoops, type Loop, type NestView, type Position } from './view';

/** A step: the line of a directive, its number among all directives, and the number of directives. */
export interface Step {
    /** The line, from 0. */
    readonly line: number;
    /** The number of the directive, from 1. */
    readonly at: number;
    readonly of: number;
}

/** The nest to show: the nest after a step, after the directive at the cursor, or the whole nest. */
export class Focus {
    /** The directive after which the nest is shown; null if the user is not stepping. */
    step: Step | null = null;
    private atCursor = true;

    /** Whether the nest after the directive at the cursor is shown while the user is not stepping. */
    get followsCursor(): boolean {
        return this.atCursor;
    }

    /** Takes the state of the button *at the cursor* from a new page. Returns whether the picture changes. */
    open(atCursor: boolean): boolean {
        const isOther = atCursor !== this.atCursor;
        this.atCursor = atCursor;
        return isOther && this.step === null;
    }

    /** Takes a click on the button, which ends the steps. Returns whether the picture changes. */
    follow(atCursor: boolean): boolean {
        const isOther = atCursor !== this.atCursor || this.step !== null;
        this.atCursor = atCursor;
        this.step = null;
        return isOther;
    }
}

/**
 * The line from which a step goes on, given the cursor and the line to which the last step moved it. Null
 * before the first directive: at the start of the text, or after the steps have ended.
 */
export function lineBefore(cursor: Position, stepped: number | null): number | null {
    const isStart = cursor.line === 0 && cursor.character === 0;
    return isStart || cursor.line === stepped ? null : cursor.line;
}

/** A change of the nest by a directive. */
export interface Change {
    readonly marked: Marked;
    /** Names of loops that the nest had before. */
    readonly gone: readonly string[];
}

/** The lines with directives, from 0. */
export const directiveLines = (text: string): number[] =>
    text.split('\n').flatMap((line, at) => (isDirective(line) ? [at] : []));

/**
 * The step after or before a line. If `line` is null, the first or the last step. Null beyond the ends, for
 * the whole nest.
 */
export function nextStep(lines: readonly number[], line: number | null, forward: boolean): Step | null {
    const left = lines.filter((one) => line === null || (forward ? one > line : one < line));
    const found = forward ? left[0] : left.at(-1);
    return found === undefined ? null : { line: found, at: lines.indexOf(found) + 1, of: lines.length };
}

/** The loops and badges of a nest that an earlier nest does not have. */
export function changes(before: NestView, after: NestView): Change {
    const known = looks(before);
    const loops = new Set<number>();
    const badges = new Set<string>();
    const now = looks(after);
    for (const { loop, place } of now.values()) {
        const old = known.get(loop.name);
        if (old === undefined || old.place !== place) loops.add(loop.id);
        const had = old?.loop.badges.map(({ text }) => text) ?? [];
        loop.badges.forEach(({ text }, at) => {
            if (!had.includes(text)) badges.add(badgeKey(loop.id, at));
        });
    }
    return {
        marked: { loops, badges },
        gone: [...known.keys()].filter((name) => !now.has(name)),
    };
}

interface Look {
    readonly loop: Loop;
    /** The loops around it, its range and its condition. */
    readonly place: string;
}

/** All loops by name. */
function looks(view: NestView): Map<string, Look> {
    const around = new Map<number, string>();
    const found = new Map<string, Look>();
    for (const loop of allLoops(view)) {
        const outer = around.get(loop.id) ?? '';
        for (const inner of loop.bodies.flat()) around.set(inner.id, `${outer}/${loop.name}`);
        found.set(loop.name, { loop, place: [outer, loop.range, loop.condition ?? ''].join('|') });
    }
    return found;
}
