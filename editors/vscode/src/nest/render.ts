// The picture of a loop nest as a tree of SVG elements. Pure: plain data, which `toDom` converts to elements.
//
// Screen readers find a tree in which each loop is an item with a sentence as its label. The style sheet sets
// colours and fonts by class.

import { badgeKey, type Marked } from './cursor';
import { element, type Element } from './element';
import {
    BADGE_HEIGHT,
    CELL,
    type Layout,
    type LoopBox,
    type Note,
    type Part,
    type PlacedStrip,
    type PlacedText,
    type Walk,
} from './layout';
import type { Badge, Loop, Sort } from './view';

/** The radius of a box's corners. */
const CORNER = 6;

const NOTHING: Marked = { loops: new Set(), badges: new Set() };

/** Highlighted parts: those of the directive at the cursor, and those of directives with errors. */
interface Marks {
    readonly marked: Marked;
    readonly faulty: Marked;
}

/** Draws a nest. */
export function render(
    layout: Layout,
    marked: Marked = NOTHING,
    handles: ReadonlySet<string> = new Set(),
    faulty: Marked = NOTHING,
): Element {
    const { width, height } = layout;
    return element(
        'svg',
        {
            class: 'nest',
            width,
            height,
            viewBox: `0 0 ${width} ${height}`,
            role: 'tree',
            'aria-label': 'Loop nest',
        },
        parts(layout.parts, { marked, faulty }, handles),
    );
}

function parts(all: readonly Part[], marks: Marks, handles: ReadonlySet<string>): Element[] {
    const size = all.filter((part) => part.kind === 'loop').length;
    let place = 0;
    return all.map((part) => {
        switch (part.kind) {
            case 'loop': return loopItem(part, marks, ++place, size, handles);
            case 'note': return note(part);
            case 'walk': return walk(part);
        }
    });
}

function loopItem(
    box: LoopBox,
    marks: Marks,
    place: number,
    size: number,
    handles: ReadonlySet<string>,
): Element {
    const { loop, x, y, width, height } = box;
    const made = marks.marked.loops.has(loop.id);
    const isFaulty = marks.faulty.loops.has(loop.id);
    const attributes = {
        class: classes(`loop ${loop.sort}`, made, isFaulty),
        role: 'treeitem',
        tabindex: -1,
        'data-loop': loop.id,
        'aria-level': box.level,
        'aria-posinset': place,
        'aria-setsize': size,
        'aria-selected': made,
        'aria-label': isFaulty ? `${sentence(loop)}, of a line with errors` : sentence(loop),
    };
    const inside = parts(box.parts, marks, handles);
    return element('g', attributes, [
        element('title', {}, [tooltip(loop)]),
        element('rect', { class: 'box', x, y, width, height, rx: CORNER }),
        element('path', { class: 'spine', d: spine(x, y, height) }),
        text('name', box.name),
        text('range', box.range),
        ...(box.condition === null ? [] : [text('condition', box.condition)]),
        ...(box.figures === null ? [] : [text('figures', box.figures)]),
        ...(handles.has(loop.name) ? [handle(loop, x, y)] : []),
        ...(box.strip === null ? [] : [strip(box.strip)]),
        ...box.badges.map((placed) => {
            const badge = loop.badges[placed.index] as Badge;
            const key = badgeKey(loop.id, placed.index);
            return pill(badge, key, placed.x, placed.y, placed.width, marks);
        }),
        ...(inside.length === 0 ? [] : [element('g', { role: 'group' }, inside)]),
    ]);
}

const classes = (all: string, isMarked: boolean, isFaulty: boolean): string =>
    `${all}${isMarked ? ' marked' : ''}${isFaulty ? ' faulty' : ''}`;

/** The left edge of a box with its round corners. */
const spine = (x: number, y: number, height: number): string => {
    const arc = `A${CORNER} ${CORNER} 0 0 0`;
    const top = `M${x + CORNER} ${y}${arc} ${x} ${y + CORNER}`;
    return `${top}V${y + height - CORNER}${arc} ${x + CORNER} ${y + height}`;
};

/** Four small cells at the left edge. Dragging them sideways chooses the size of a tile. */
function handle(loop: Loop, x: number, y: number): Element {
    const cell = (dx: number, dy: number): Element =>
        element('rect', { class: 'grip', x: x + 5 + dx, y: y + 12 + dy, width: 3, height: 3 });
    return element(
        'g',
        { class: 'handle', role: 'button', tabindex: -1, 'aria-label': `tile ${loop.name}` },
        [
            element('title', {}, [`Tile ${loop.name}: drag to the side, or click to choose a size`]),
            element('rect', { class: 'touch', x: x + 2, y: y + 8, width: 13, height: 15 }),
            cell(0, 0),
            cell(4, 0),
            cell(0, 4),
            cell(4, 4),
        ],
    );
}

function pill(badge: Badge, key: string, x: number, y: number, width: number, marks: Marks): Element {
    const isFaulty = marks.faulty.badges.has(key);
    const attributes = {
        class: classes(`badge ${badge.kind}`, marks.marked.badges.has(key), isFaulty),
        role: 'button', tabindex: -1, 'data-badge': key,
        'aria-label': isFaulty ? `${badge.text}, of a line with errors` : badge.text,
    };
    return element('g', attributes, [
        element('rect', { class: 'pill', x, y, width, height: BADGE_HEIGHT, rx: BADGE_HEIGHT / 2 }),
        element('circle', { class: 'dot', cx: x + 9, cy: y + BADGE_HEIGHT / 2, r: 2.5 }),
        text('label', { x: x + 15, y: y + 12.5, text: badge.text }),
    ]);
}

function strip({ x, y, strip, count }: PlacedStrip): Element {
    const pitch = CELL.width + CELL.gap;
    const cell = (at: number, kind: string): Element =>
        element('rect', {
            class: kind,
            x: x + at * pitch,
            y,
            width: CELL.width,
            height: CELL.height,
            rx: 1.5,
        });
    const cells = Array.from({ length: strip.cells }, (_, at) =>
        cell(at, at < strip.filled ? 'cell filled' : 'cell'),
    );
    if (strip.more) {
        const middle = x + strip.cells * pitch;
        const dots = [1, 6, 11].map((dx) =>
            element('circle', { class: 'more', cx: middle + dx, cy: y + CELL.height / 2, r: 1.2 }));
        cells.push(...dots);
        if (strip.last !== null)
            cells.push(cell(strip.cells + 2, strip.last === 'filled' ? 'cell filled' : 'cell'));
    }
    return element('g', { class: 'strip', 'aria-hidden': true }, [
        ...cells,
        ...(count === null ? [] : [text('count', count)]),
    ]);
}

const note = (part: Note): Element => text('note', part.text);

/** A small tree beside the word `walk`. */
function walk({ x, y, text: label }: Walk): Element {
    const edge = (dx: number): Element =>
        element('path', { class: 'edge', d: `M${x} ${y - 5}L${x + dx} ${y + 4}` });
    const node = (dx: number, dy: number): Element =>
        element('circle', { class: 'node', cx: x + dx, cy: y + dy, r: 2.2 });
    return element('g', { class: 'walk' }, [
        edge(-4.5),
        edge(4.5),
        node(0, -5),
        node(-4.5, 4),
        node(4.5, 4),
        text('word', label),
    ]);
}

const text = (kind: string, placed: PlacedText): Element =>
    element('text', { class: kind, x: placed.x, y: placed.y }, [placed.text]);

const NOUNS: Record<Sort, string> = { row: 'rows', tree: 'trees', unit: 'sums', feature: 'terms' };

/** A loop in words, for screen readers. */
export function sentence(loop: Loop): string {
    const range = loop.range.replace('..', ' to ');
    const facts = [
        `${loop.name}, loop over ${NOUNS[loop.sort]} from ${range}`,
        ...(loop.condition === null ? [] : [`while ${loop.condition}`]),
        ...loop.badges.map((badge) => badge.text),
        ...(loop.work === null ? [] : [loop.work === 'walk' ? 'walks trees' : loop.work]),
    ];
    return facts.join(', ');
}

const tooltip = (loop: Loop): string =>
    loop.origin === null
        ? `${loop.name}: a loop of the initial nest`
        : `${loop.name}: made in line ${loop.origin.start.line + 1}. Click to go there.`;
