import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chart } from '../../src/bench/chart';
import { headline, readMeasured, showMicros, type Measured } from '../../src/bench/measured';
import { find, textOf } from '../../src/nest/element';

const measured = (...times: number[]): Measured => ({
    points: times.map((micros, at) => ({ rows: 64 ** at, threads: 1, micros, spread: [micros * 0.98, micros * 1.02] })),
});
const widths = (now: Measured, earlier: Measured | null): number[] =>
    find(chart(now, earlier, 700), ({ attributes }) => attributes['class'] === 'bar').map(({ attributes }) => Number(attributes['width']));

test('bars are as long as the times are', () => {
    const [one, two] = widths(measured(4, 1), null);
    assert(one !== undefined && two !== undefined);
    assert(Math.abs(one / two - 4) < 1e-9);
});

test('a measurement is compared with the one before, beyond noise', () => {
    const shown = (now: number, before: number): string => textOf(chart(measured(now), measured(before), 700));
    assert(shown(1, 2).includes('2.00× faster'));
    assert(shown(3, 2).includes('1.50× slower'));
    assert(shown(2, 2.02).includes('as before'));
    assert(!textOf(chart(measured(1), null, 700)).includes('×'));
});

test('times have three digits', () => {
    assert.deepEqual([123.4, 12.34, 1.234, 0.1234, 0.01234].map(showMicros), ['123 µs', '12.3 µs', '1.23 µs', '0.123 µs', '0.0123 µs']);
});

test('the code lens has the best speed', () => {
    assert.equal(headline(measured(4.47, 1.252)), '1.25 µs per row, 64 at a time');
    assert.equal(headline(measured()), null);
});

test('answers are read as far as they make sense', () => {
    const json = { format: 1, points: [{ schedule: '-', batch: 64, threads: 2, us_per_row: 1.5, spread: [1.4, 1.6] }] };
    assert.deepEqual(readMeasured(json).points, [{ rows: 64, threads: 2, micros: 1.5, spread: [1.4, 1.6] }]);
    for (const json of [null, {}, { points: 3 }, { points: [null, {}, { batch: 1 }, { batch: 1, us_per_row: -1 }] }]) {
        assert.deepEqual(readMeasured(json).points, []);
    }
});
