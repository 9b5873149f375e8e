// The chart of a measurement: a bar for each size of call, and a mark where the one before ended. Pure.

import { element, type Element } from '../nest/element';
import { showMicros, type Measured, type Point } from './measured';

const LABEL = 150;
const VALUE = 150;
const LINE = 30;
const BAR = 16;

const same = (a: Point, b: Point): boolean => a.rows === b.rows && a.threads === b.threads;

/** Draws a measurement, compared with an earlier one of the same schedule. */
export function chart(now: Measured, earlier: Measured | null, width: number): Element {
    const room = Math.max(80, width - LABEL - VALUE);
    const all = [...now.points, ...(earlier?.points ?? [])];
    const scale = room / Math.max(...all.map(({ micros }) => micros), 1e-9);
    const height = now.points.length * LINE + 8;
    return element(
        'svg',
        { class: 'chart', width: LABEL + room + VALUE, height, role: 'list', 'aria-label': 'Microseconds for a row' },
        now.points.map((point, at) => line(point, earlier?.points.find((one) => same(one, point)) ?? null, scale, 4 + at * LINE)),
    );
}

function line(point: Point, earlier: Point | null, scale: number, y: number): Element {
    const width = Math.max(2, point.micros * scale);
    const before = earlier === null ? null : earlier.micros * scale;
    const label = calls(point);
    const change = earlier === null ? '' : compare(point, earlier);
    const end = LABEL + Math.max(width, before ?? 0) + 8;
    const marks = before === null
        ? []
        : [element('rect', { class: 'before', x: LABEL + before - 1, y: y - 2, width: 2, height: BAR + 4 })];
    return element('g', { role: 'listitem', 'aria-label': `${label}: ${showMicros(point.micros)} for a row ${change}`.trim() }, [
        element('text', { class: 'calls', x: LABEL - 12, y: y + 12.5 }, [label]),
        element('rect', { class: 'bar', x: LABEL, y, width, height: BAR, rx: 3 }),
        ...marks,
        element('text', { class: 'time', x: end, y: y + 12.5 }, [
            showMicros(point.micros),
            ...(change === '' ? [] : [element('tspan', { class: 'change', dx: 8 }, [change])]),
        ]),
    ]);
}

function calls({ rows, threads }: Point): string {
    const size = rows === 1 ? '1 row' : `${rows} rows`;
    return threads === 1 ? size : `${size}, ${threads} threads`;
}

/** How the time changed, where that is more than noise. */
function compare(now: Point, earlier: Point): string {
    const ratio = earlier.micros / now.micros;
    if (ratio >= 1.03) return `${ratio.toFixed(2)}× faster`;
    return ratio <= 0.97 ? `${(1 / ratio).toFixed(2)}× slower` : 'as before';
}
