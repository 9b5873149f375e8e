// Finds the loops and annotations in the picture that the directive at the cursor made.

import { allLoops, type NestView, type Position, type Range } from './view';

/** The effects of directives: the loops that they made, and their annotations. */
export interface Marked {
    readonly loops: ReadonlySet<number>;
    /** Keys made by `badgeKey`. */
    readonly badges: ReadonlySet<string>;
}

export const badgeKey = (loop: number, badge: number): string => `${loop}:${badge}`;

const before = (a: Position, b: Position): boolean =>
    a.line < b.line || (a.line === b.line && a.character <= b.character);

const touches = (range: Range, at: Position): boolean => before(range.start, at) && before(at, range.end);

const onLine = (range: Range, at: Position): boolean =>
    range.start.line <= at.line && at.line <= range.end.line;

/**
 * The parts to mark: those of the directive at the cursor or, if the cursor is beside all directives of its
 * line, those of the whole line.
 */
export function markedAt(view: NestView, cursor: Position): Marked {
    const exact = marked(view, (range) => touches(range, cursor));
    return exact.loops.size + exact.badges.size > 0 ? exact : marked(view, (range) => onLine(range, cursor));
}

/** The parts of the directives in these ranges. */
export const partsOf = (view: NestView, ranges: readonly Range[]): Marked =>
    marked(view, ({ start }) => ranges.some((range) => touches(range, start)));

/** The key of the outermost marked part: of a badge, or of a loop; null without one. */
export function firstMarked(view: NestView, { loops, badges }: Marked): string | null {
    for (const loop of allLoops(view)) {
        if (loops.has(loop.id)) return String(loop.id);
        const badge = loop.badges.findIndex((_, at) => badges.has(badgeKey(loop.id, at)));
        if (badge >= 0) return badgeKey(loop.id, badge);
    }
    return null;
}

function marked(view: NestView, matches: (range: Range) => boolean): Marked {
    const loops = new Set<number>();
    const badges = new Set<string>();
    for (const loop of allLoops(view)) {
        if (loop.origin !== null && matches(loop.origin)) loops.add(loop.id);
        loop.badges.forEach((badge, at) => {
            if (badge.span !== null && matches(badge.span)) badges.add(badgeKey(loop.id, at));
        });
    }
    return { loops, badges };
}

/** Whether a line has a directive, or the start of one. */
export const isDirective = (line: string): boolean => /^\s*[A-Za-z]\w*\s*\(/.test(line);
