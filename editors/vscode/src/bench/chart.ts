// The chart of a measurement: a bar for each size of call, with the spread of its samples, and a mark where the one
// before ended. Pure.

import { element, type Element } from '../nest/element';
import { change, showMicros, type Measured, type Point } from './measured';

const LABEL = 130;
const VALUE = 170;
const LINE = 30;
const BAR = 16;

const same = (a: Point, b: Point): boolean => a.rows === b.rows && a.threads === b.threads;

/** Draws a measurement, compared with an earlier one of the same schedule. */
export function chart(now: Measured, earlier: Measured | null, width: number): Element {
    const room = Math.max(80, width - LABEL - VALUE);
    const all = [...now.points, ...(earlier?.points ?? [])];
    const scale = room / Math.max(...all.flatMap(({ micros, spread }) => [micros, spread[1]]), Number.MIN_VALUE);
    const height = now.points.length * LINE + 8;
    return element(
        'svg',
        { class: 'chart', width: LABEL + room + VALUE, height, role: 'list', 'aria-label': 'Microseconds for a row' },
        now.points.map((point, at) => line(point, earlier?.points.find((one) => same(one, point)) ?? null, scale, 4 + at * LINE)),
    );
}

function line(point: Point, earlier: Point | null, scale: number, y: number): Element {
    const at = (micros: number): number => LABEL + micros * scale;
    const [low, high] = point.spread;
    const middle = y + BAR / 2;
    const label = calls(point);
    const changed = earlier === null ? '' : compare(point, earlier);
    const end = Math.max(at(high), at(point.micros), earlier === null ? 0 : at(earlier.micros)) + 10;
    return element('g', { role: 'listitem', 'aria-label': `${label}: ${showMicros(point.micros)} for a row ${changed}`.trim() }, [
        element('text', { class: 'calls', x: LABEL - 12, y: y + 12.5 }, [label]),
        element('rect', { class: 'bar', x: LABEL, y, width: Math.max(2, point.micros * scale), height: BAR, rx: 3 }),
        element('path', { class: 'spread', d: `M${at(low)} ${middle}H${at(high)}M${at(low)} ${y + 4}V${y + BAR - 4}M${at(high)} ${y + 4}V${y + BAR - 4}` }),
        ...(earlier === null ? [] : [element('rect', { class: 'before', x: at(earlier.micros) - 1, y: y - 2, width: 2, height: BAR + 4 })]),
        element('text', { class: 'time', x: end, y: y + 12.5 }, [
            showMicros(point.micros),
            ...(changed === '' ? [] : [element('tspan', { class: 'change', dx: 8 }, [changed])]),
        ]),
    ]);
}

function calls({ rows, threads }: Point): string {
    const size = rows === 1 ? '1 row' : `${rows} rows`;
    return threads === 1 ? size : `${size}, ${threads} threads`;
}

function compare(now: Point, earlier: Point): string {
    const found = change(now, earlier);
    return found.verdict === 'same' ? 'as before' : `${found.factor.toFixed(2)}× ${found.verdict}`;
}
