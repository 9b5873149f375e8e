// Layout of the picture of a loop nest. Loops are nested boxes, since a loop contains its body. The text of a
// box flows from the left. The strips of all boxes are in one column at the right.
//
// Pure: takes a function for the widths of texts, and returns geometry.

import { strip, MOST_CELLS, type Strip } from './strip';
import type { Loop, NestView } from './view';
import { figures } from './words';

/** The text styles; the style sheet sets their fonts. */
export type TextStyle = 'name' | 'range' | 'condition' | 'badge' | 'note';

/** The width of a text in pixels. */
export type Measure = (text: string, style: TextStyle) => number;

/** A text; `y` is its baseline. */
export interface PlacedText {
    readonly x: number;
    readonly y: number;
    readonly text: string;
}

export interface PlacedBadge {
    readonly x: number;
    readonly y: number;
    readonly width: number;
    /** Its index among the loop's badges. */
    readonly index: number;
}

export interface PlacedStrip {
    readonly x: number;
    readonly y: number;
    readonly strip: Strip;
    /** The number of iterations, aligned at the right; null if it is unknown. */
    readonly count: PlacedText | null;
}

/** A line of small text between boxes. */
export interface Note {
    readonly kind: 'note';
    readonly text: PlacedText;
}

/** The walk in a leaf loop; `x` and `y` are the centre of its symbol. */
export interface Walk {
    readonly kind: 'walk';
    readonly x: number;
    readonly y: number;
    readonly text: PlacedText;
}

/** A loop with its contents. */
export interface LoopBox {
    readonly kind: 'loop';
    readonly loop: Loop;
    /** 1 for the outermost. */
    readonly level: number;
    readonly x: number;
    readonly y: number;
    readonly width: number;
    readonly height: number;
    readonly name: PlacedText;
    readonly range: PlacedText;
    readonly condition: PlacedText | null;
    /** Working set of an iteration, and idle lanes. */
    readonly figures: PlacedText | null;
    readonly badges: readonly PlacedBadge[];
    readonly strip: PlacedStrip | null;
    readonly parts: readonly Part[];
}

export type Part = LoopBox | Note | Walk;

export interface Layout {
    readonly width: number;
    readonly height: number;
    readonly parts: readonly Part[];
}

export const BADGE_HEIGHT = 18;
export const CELL = { width: 6, height: 9, gap: 2 } as const;

const MARGIN = 10;
const GAP = 8;
const INDENT = 16;
const RIGHT = 8;
const LINE = 22;
const ABOVE = 7;
/** Width of a badge beyond its text, in pixels: the dot before the text, and the round ends. */
const BADGE_PADDING = 24;
const COUNT_WIDTH = 46;
const STRIP_WIDTH = MOST_CELLS * (CELL.width + CELL.gap) + COUNT_WIDTH;
/** Strips are left out if the panel is narrower than this, in pixels. */
const NARROW = 400;
/** Most bodies of a specialised loop, and most loops of a body, to draw. A note counts the rest. */
const MOST_PARTS = 12;

interface Frame {
    readonly measure: Measure;
    /** The right end of the column of strips; null if there are no strips. */
    readonly column: number | null;
    /** Bytes of the second-level cache of a core. */
    readonly near: number | null;
}

/** Lays out a nest in a panel that is `available` pixels wide; the result may be wider. */
export function layout(view: NestView, available: number, measure: Measure): Layout {
    const depth = Math.max(0, ...view.roots.map(depthOf));
    const column = available >= NARROW;
    const needed = Math.max(0, ...view.roots.map((loop) => neededWidth(loop, measure, column, view.near)));
    const width = Math.max(available, needed + 2 * MARGIN);
    const inner = width - 2 * MARGIN;
    const frame = { measure, near: view.near, column: column ? MARGIN + inner - depth * RIGHT : null };
    const { parts, y } = body(view.roots, frame, 1, MARGIN, MARGIN, inner);
    return { width, height: y - GAP + MARGIN, parts };
}

const depthOf = (loop: Loop): number => 1 + Math.max(0, ...loop.bodies.flat().map(depthOf));

function neededWidth(loop: Loop, measure: Measure, column: boolean, near: number | null): number {
    const header =
        measure(loop.name, 'name') + 10 + measure(loop.range, 'range') + (column ? GAP + STRIP_WIDTH : 0);
    const condition = loop.condition === null ? 0 : measure(`while ${loop.condition}`, 'condition');
    const known = measure(figures(loop, near) ?? '', 'note');
    const badges = loop.badges.map((badge) => measure(badge.text, 'badge') + BADGE_PADDING);
    const inside = loop.bodies.flat().map((child) => neededWidth(child, measure, column, near));
    return INDENT + Math.max(header, condition, known, ...badges, ...inside) + RIGHT;
}

interface Placed {
    readonly parts: Part[];
    /** The vertical position of the next part. */
    readonly y: number;
}

function body(
    loops: readonly Loop[],
    frame: Frame,
    level: number,
    x: number,
    y: number,
    width: number,
): Placed {
    const parts: Part[] = [];
    for (const loop of loops.slice(0, MOST_PARTS)) {
        const box = loopBox(loop, frame, level, x, y, width);
        parts.push(box);
        y += box.height + GAP;
    }
    const left = loops.length - MOST_PARTS;
    if (left > 0) {
        parts.push(note(`and ${left} more ${left === 1 ? 'loop' : 'loops'}`, x, y));
        y += LINE;
    }
    return { parts, y };
}

const note = (text: string, x: number, y: number): Note => ({
    kind: 'note',
    text: { x: x + 2, y: y + 13, text },
});

function loopBox(loop: Loop, frame: Frame, level: number, x: number, y: number, width: number): LoopBox {
    const left = x + INDENT;
    const line = y + ABOVE + 15;
    const rangeX = left + frame.measure(loop.name, 'name') + 10;
    const rangeEnd = rangeX + frame.measure(loop.range, 'range');
    const strip = frame.column === null ? null : placeStrip(loop, frame.column, y + ABOVE);
    const right = strip === null ? x + width - RIGHT : strip.x - GAP;
    const flow = placeBadges(loop, frame.measure, {
        left, start: rangeEnd + 12, y: y + ABOVE + 2, right, end: x + width - RIGHT,
    });
    let below = flow.y;
    let condition: PlacedText | null = null;
    if (loop.condition !== null) {
        condition = { x: left, y: below + 12, text: `while ${loop.condition}` };
        below += 18;
    }
    const summary = figures(loop, frame.near);
    let known: PlacedText | null = null;
    if (summary !== null) {
        known = { x: left, y: below + 12, text: summary };
        below += 18;
    }
    const inside = contents(loop, frame, level, left, below + 4, width - INDENT - RIGHT);
    return {
        kind: 'loop', loop, level, x, y, width,
        height: inside.y - y,
        name: { x: left, y: line, text: loop.name },
        range: { x: rangeX, y: line, text: loop.range },
        condition,
        figures: known,
        badges: flow.badges,
        strip,
        parts: inside.parts,
    };
}

/** The contents of a loop; `y` is the lower end of its box. */
function contents(loop: Loop, frame: Frame, level: number, x: number, y: number, width: number): Placed {
    const parts: Part[] = [];
    loop.bodies.slice(0, MOST_PARTS).forEach((loops, iteration) => {
        if (loop.specialized) {
            parts.push(note(`iteration ${iteration}`, x, y));
            y += LINE - 2;
        }
        const placed = body(loops, frame, level + 1, x, y, width);
        parts.push(...placed.parts);
        y = placed.y;
    });
    const left = loop.bodies.length - MOST_PARTS;
    if (left > 0) {
        parts.push(note(`and ${left} more ${left === 1 ? 'iteration' : 'iterations'}`, x, y));
        y += LINE;
    }
    if (loop.work === 'walk') {
        parts.push({ kind: 'walk', x: x + 7, y: y + 8, text: { x: x + 21, y: y + 12, text: 'walk' } });
        y += LINE;
    } else if (loop.work !== null) {
        parts.push(note(loop.work, x, y));
        y += LINE;
    }
    // A box already has a gap below it.
    return { parts, y: parts.at(-1)?.kind === 'loop' ? y : y + 4 };
}

interface Flow {
    /** The left end of further lines. */
    readonly left: number;
    /** The left end of the first badge. */
    readonly start: number;
    /** The right end of the first line. */
    readonly right: number;
    /** The right end of the other lines. */
    readonly end: number;
    readonly y: number;
}

/** Places badges behind the range, or on lines of their own if there is no room. */
function placeBadges(loop: Loop, measure: Measure, flow: Flow): { badges: PlacedBadge[]; y: number } {
    const badges: PlacedBadge[] = [];
    let { start: x, y, right } = flow;
    loop.badges.forEach((badge, index) => {
        const width = Math.ceil(measure(badge.text, 'badge')) + BADGE_PADDING;
        if (x + width > right && x > flow.left) {
            x = flow.left;
            right = flow.end;
            y += LINE;
        }
        badges.push({ x, y, width, index });
        x += width + 5;
    });
    return { badges, y: y + LINE - 1 };
}

function placeStrip(loop: Loop, right: number, y: number): PlacedStrip {
    const cells = strip(loop);
    const end = right - RIGHT - 2;
    return {
        x: end - STRIP_WIDTH,
        y: y + 6,
        strip: cells,
        count: loop.iterations === null ? null : { x: end, y: y + 15, text: `× ${loop.iterations}` },
    };
}
