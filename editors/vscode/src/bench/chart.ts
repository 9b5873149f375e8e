// The chart of a measurement, with one line for each call size. A dot is the time of a row, a bar the spread
// of its samples. Marks show the previous measurement, the automatic schedule and the plain nest. The axis is
// logarithmic, since a row in a call of one row takes much longer than in a large call. Pure.

import { element, type Element } from '../nest/element';
import { axis, type Axis } from './axis';
import { change, showMicros, type Measured, type Point } from './measured';

/** The height of a line: the time and, below it, the dot with its marks. */
const LINE = 46;
const BAR = 16;
/** The height of the axis and of the first time, above the first dot. */
const HEAD = 42;
/** The height of the axis alone. */
const AXIS = 26;
/** The radius of a dot. */
const RADIUS = 5;
/** Assumed width of a character in pixels, more than most have, since texts are not measured here. */
const CHARACTER = 7;
/** Pixels between a text and its neighbour. */
const GAP = 12;

const same = (a: Point, b: Point): boolean => a.rows === b.rows && a.threads === b.threads;

/** Draws a measurement, compared with an earlier one of the same schedule. */
export function chart(now: Measured, earlier: Measured | null, width: number): Element {
    const before = now.points.map((point) => earlier?.points.find((one) => same(one, point)) ?? null);
    const shown = [...now.points, ...before.filter((one) => one !== null)];
    const left = GAP + widest([UNIT, ...now.points.map(calls)]);
    const right =
        2 * GAP +
        widest(
            now.points.map(
                (point, at) => `${showMicros(point.micros)}  ${compare(point, before[at] ?? null)}`,
            ),
        );
    const room = Math.max(80, width - left - right);
    const marked = now.points.flatMap(({ chosen, plain }) =>
        [chosen, plain].filter((time) => time !== undefined),
    );
    const times = axis(
        [...shown.flatMap(({ micros, spread }) => [micros, ...spread]), ...marked],
        left,
        left + room,
    );
    const height = HEAD + (now.points.length - 1) * LINE + BAR + GAP;
    return element(
        'svg',
        {
            class: 'chart',
            width: left + room + right,
            height,
            role: 'list',
            'aria-label': 'Microseconds for a row',
        },
        [
            ...grid(times, left, height),
            ...now.points.map((point, at) => line(point, before[at] ?? null, times, left, HEAD + at * LINE)),
        ],
    );
}

const UNIT = 'µs for a row';

const widest = (texts: readonly string[]): number =>
    Math.max(...texts.map((text) => text.length)) * CHARACTER;

/** A grid line for each tick with its number above, and the unit of the numbers. */
function grid(times: Axis, left: number, height: number): Element[] {
    const lines = times.ticks.flatMap((tick) => [
        element('path', {
            class: 'grid',
            d: `M${times.at(tick)} ${AXIS - 8}V${height}`,
            'aria-hidden': true,
        }),
        element('text', { class: 'tick', x: times.at(tick), y: AXIS - 13, 'aria-hidden': true }, [
            String(tick),
        ]),
    ]);
    const unit = { class: 'unit', x: left - 2 * GAP, y: AXIS - 13, 'aria-hidden': true };
    return [...lines, element('text', unit, [UNIT])];
}

function line(point: Point, earlier: Point | null, { at }: Axis, left: number, y: number): Element {
    const [low, high] = point.spread;
    const middle = y + BAR / 2;
    const label = calls(point);
    const changed = compare(point, earlier);
    const { chosen, plain } = point;
    const beside = [
        ...(chosen === undefined ? [] : [`schedc's own ${showMicros(chosen)}`]),
        ...(plain === undefined ? [] : [`plain nest ${showMicros(plain)}`]),
    ];
    const description = [`${showMicros(point.micros)} for a row ${changed}`.trim(), ...beside].join(', ');
    return element('g', { role: 'listitem', 'aria-label': `${label}: ${description}` }, [
        element('text', { class: 'calls', x: left - GAP, y: y + 12.5 }, [label]),
        element('path', {
            class: 'spread',
            d:
                `M${at(low)} ${middle}H${at(high)}M${at(low)} ${y + 4}V${y + BAR - 4}` +
                `M${at(high)} ${y + 4}V${y + BAR - 4}`,
        }),
        ...(plain === undefined
            ? []
            : [element('path', { class: 'plain', d: `M${at(plain)} ${y - 2}V${y + BAR + 2}` })]),
        ...(chosen === undefined
            ? []
            : [element('path', { class: 'chosen', d: diamond(at(chosen), middle) })]),
        element('circle', { class: 'point', cx: at(point.micros), cy: middle, r: RADIUS }),
        ...(earlier === null
            ? []
            : [
                  element('rect', {
                      class: 'before',
                      x: at(earlier.micros) - 1,
                      y: y - 2,
                      width: 2,
                      height: BAR + 4,
                  }),
              ]),
        // Above the dot, since marks of other schedules may stand beside it.
        element('text', { class: 'time', x: at(point.micros) - RADIUS, y: y - 6 }, [
            showMicros(point.micros),
            ...(changed === '' ? [] : [element('tspan', { class: 'change', dx: 8 }, [changed])]),
        ]),
    ]);
}

/** A diamond around a position, larger than the point that may cover it. */
const diamond = (x: number, y: number): string => `M${x - 9} ${y}L${x} ${y - 9}L${x + 9} ${y}L${x} ${y + 9}Z`;

function calls({ rows, threads }: Point): string {
    const size = rows === 1 ? '1 row' : `${rows} rows`;
    return threads === 1 ? size : `${size}, ${threads} threads`;
}

function compare(now: Point, earlier: Point | null): string {
    if (earlier === null) return '';
    const found = change(now, earlier);
    return found.verdict === 'same' ? 'as before' : `${found.factor.toFixed(2)}× ${found.verdict}`;
}
