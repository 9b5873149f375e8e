import assert from 'node:assert/strict';
import { test } from 'node:test';
import { axis } from '../../src/bench/axis';
import { DEFAULT, describeCalls, readCalls, showCalls } from '../../src/bench/calls';
import { chart } from '../../src/bench/chart';
import { isData, likelyFirst } from '../../src/bench/files';
import { headline, readMeasured, showMicros, type Measured } from '../../src/bench/measured';
import { type Element, find, textOf } from '../../src/nest/element';

const measured = (...times: number[]): Measured => ({
    points: times.map((micros, at) => ({
        rows: 64 ** at,
        threads: 1,
        micros,
        spread: [micros * 0.98, micros * 1.02],
    })),
});
const dots = (now: Measured, earlier: Measured | null = null, width = 700): number[] =>
    find(chart(now, earlier, width), ({ attributes }) => attributes['class'] === 'point').map(
        ({ attributes }) => Number(attributes['cx']),
    );

test('equal factors of time are equal distances', () => {
    const [first, second, third, last] = dots(measured(100, 10, 1, 0.1));
    assert(first !== undefined && second !== undefined && third !== undefined && last !== undefined);
    assert(
        Math.abs(first - second - (second - third)) < 1e-6 &&
            Math.abs(second - third - (third - last)) < 1e-6,
    );
    assert(first > last && first - second > 50, 'a factor of ten is far to see');
});

test('ticks are round numbers around all times, far enough apart to be read', () => {
    for (const times of [[1.9, 2.1], [3], [2], [0.0123, 0.4], [4e-5, 8e3], [1, 10], [0.5, 5000]]) {
        for (const room of [80, 250, 900]) {
            const { ends, ticks, at } = axis(times, 130, 130 + room);
            assert(ends[0] <= Math.min(...times) && Math.max(...times) <= ends[1], `${times}: ${ends}`);
            assert(
                ticks.length > 1 && ticks.every((tick) => /^(0\.0*)?[125]0*(e-\d+)?$/.test(String(tick))),
                `${times}: ${ticks}`,
            );
            const places = ticks.map(at);
            assert(
                places.every((place, number) => number === 0 || place - (places[number - 1] ?? 0) >= 30),
                `${times} in ${room}: ${ticks}`,
            );
            assert(places.every((place) => place >= 130 - 1e-6 && place <= 130 + room + 1e-6));
        }
    }
    assert.deepEqual(axis([], 0, 100).ends, [1, 2]);
    assert.deepEqual(axis([0.0021, 0.4], 0, 900).ticks, [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5]);
});

test('everything lies inside the chart', () => {
    const picture = chart(measured(200, 1), measured(0.5, 0.01), 700);
    const shown = find(picture, ({ attributes }) =>
        ['point', 'before'].includes(String(attributes['class'])),
    );
    assert.equal(shown.length, 4);
    for (const { attributes } of shown) {
        const x = Number(attributes['cx'] ?? attributes['x']);
        assert(x > 90 && x < 560, `${x}`);
    }
    const texts = find(picture, ({ attributes }) => ['time', 'calls'].includes(String(attributes['class'])));
    for (const text of texts) {
        const [x, width] = [Number(text.attributes['x']), textOf(text).length * 7];
        const [from, to] = text.attributes['class'] === 'time' ? [x, x + width] : [x - width, x];
        assert(from >= -1 && to <= 700, `${textOf(text)}: ${from}..${to}`);
    }
});

test('a measurement is compared with the previous one, and noise is ignored', () => {
    const shown = (now: number, before: number): string =>
        textOf(chart(measured(now), measured(before), 700));
    assert(shown(1, 2).includes('2.00× faster'));
    assert(shown(3, 2).includes('1.50× slower'));
    assert(shown(2, 2.02).includes('as before'));
    assert(!textOf(chart(measured(1), null, 700)).includes('×'));
});

test('times have three digits', () => {
    assert.deepEqual([123.4, 12.34, 1.234, 0.1234, 0.01234].map(showMicros), [
        '123 µs',
        '12.3 µs',
        '1.23 µs',
        '0.123 µs',
        '0.0123 µs',
    ]);
});

test('the code lens has the best speed', () => {
    assert.equal(headline(measured(4.47, 1.252)), '1.25 µs per row, 64 at a time');
    assert.equal(headline(measured()), null);
});

test('baselines are marked beside the schedule', () => {
    const point = (schedule: string, us: number): object => ({
        schedule,
        batch: 64,
        threads: 1,
        us_per_row: us,
        spread: [us, us],
    });
    const now = readMeasured({
        points: [point('standard input', 1), point('chosen schedule', 0.5), point('plain nest', 20)],
    });
    assert.deepEqual(now.points.map(({ micros, chosen, plain }) => [micros, chosen, plain]), [[1, 0.5, 20]]);
    const picture = chart(now, null, 700);
    const marks = find(picture, ({ attributes }) =>
        ['plain', 'chosen'].includes(String(attributes['class'])),
    );
    assert.equal(marks.length, 2);
    const line = String(marks.find(({ attributes }) => attributes['class'] === 'plain')?.attributes['d']);
    const plain = Number(/^M([\d.]+) /.exec(line)?.[1]);
    assert.match(line, /V/, 'an upright line is no bullet of the number beside it');
    const diamond = String(marks.find(({ attributes }) => attributes['class'] === 'chosen')?.attributes['d']);
    const [, left, middle] = /^M([\d.]+) [\d.]+L([\d.]+) /.exec(diamond) ?? [];
    const radius = find(picture, ({ attributes }) => attributes['class'] === 'point')[0]?.attributes['r'];
    assert(Number(middle) - Number(left) > Number(radius), 'a point on the diamond does not hide it');
    assert(plain > 0);
});

test('a time stands at its dot, between the marks of its line and those of the line before', () => {
    const spread = [0.9, 1.1] as const;
    const points = [1, 64].map((rows) => ({ rows, threads: 1, micros: 1, spread, chosen: 0.8, plain: 1.4 }));
    const picture = chart({ points }, { points }, 700);
    const of = (kind: string): Element[] =>
        find(picture, ({ attributes }) => attributes['class'] === kind);
    const [dots, times] = [of('point'), of('time')];
    assert.equal(times.length, 2);
    const ends = (line: number): number[] =>
        ['plain', 'chosen'].flatMap((kind) =>
            [...String(of(kind)[line]?.attributes['d']).matchAll(/(?:[ML][\d.]+ |V)([\d.]+)/g)].map((one) =>
                Number(one[1]),
            ),
        );
    times.forEach(({ attributes }, line) => {
        const [x, y] = [Number(attributes['x']), Number(attributes['y'])];
        const dot = dots[line]?.attributes;
        assert.equal(x, Number(dot?.['cx']) - Number(dot?.['r']));
        assert(y + 3 < Math.min(...ends(line), Number(of('before')[line]?.attributes['y'])));
        // Letters are 10 pixels high.
        if (line > 0) assert(y - 10 > Math.max(...ends(line - 1)));
    });
});

test('calls are written as rows and threads', () => {
    assert.deepEqual(readCalls('1, 64,1024 on 1, all'), { batch: [1, 64, 1024], threads: [1, 0] });
    assert.deepEqual(readCalls('8'), { batch: [8], threads: [1] });
    for (const text of ['', '0', 'x', '1 on', '1 on 2 on 3', '1,', '1 on -1', '99999999999'])
        assert.equal(readCalls(text), null, text);
    assert.deepEqual(readCalls(showCalls(DEFAULT)), DEFAULT);
    assert.equal(describeCalls(DEFAULT), '1, 64, 1024, 16384 rows a call, 1 thread');
    assert.equal(describeCalls({ batch: [8], threads: [0] }), '8 rows a call, all threads');
});

test('files that look like rows come first, and values for rows last', () => {
    const sorted = (...names: string[]): string[] => likelyFirst(names, (name) => name);
    assert.deepEqual(
        sorted('expected.csv', 'a.csv', 'rows.csv', 'y_test.npy', 'X_test.npy', 'predictions.parquet'),
        ['rows.csv', 'X_test.npy', 'a.csv', 'expected.csv', 'y_test.npy', 'predictions.parquet'],
    );
    assert.deepEqual(
        sorted('labels.csv', 'expected-rows.csv', 'y.csv', 'test.data.csv', 'input.arrow'),
        ['test.data.csv', 'input.arrow', 'labels.csv', 'expected-rows.csv', 'y.csv'],
    );
    assert.deepEqual(sorted('xyz.csv', 'ys.csv', 'brows.csv'), ['xyz.csv', 'ys.csv', 'brows.csv']);
});

test('all formats that schedc reads are offered', () => {
    for (const name of ['a.csv', 'a.parquet', 'a.arrow', 'a.npy', 'a.npz', 'a.b.CSV'])
        assert(isData(name), name);
    for (const name of ['csv', 'a.json', 'a.csv.sched', '']) assert(!isData(name), name);
});

test('malformed parts of answers are skipped', () => {
    const json = {
        format: 1,
        points: [{ schedule: '-', batch: 64, threads: 2, us_per_row: 1.5, spread: [1.4, 1.6] }],
    };
    assert.deepEqual(readMeasured(json).points, [{ rows: 64, threads: 2, micros: 1.5, spread: [1.4, 1.6] }]);
    for (const json of [
        null,
        {},
        { points: 3 },
        { points: [null, {}, { batch: 1 }, { batch: 1, us_per_row: -1 }] },
    ]) {
        assert.deepEqual(readMeasured(json).points, []);
    }
});
