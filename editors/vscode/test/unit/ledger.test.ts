import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bars } from '../../src/ledger/bars';
import { labels, lensTitles, offerFor, readLedger, readSweep, type Sweep } from '../../src/ledger/read';

const range = { start: { line: 1, character: 13 }, end: { line: 1, character: 15 } };
const sweep = (...tried: [number, number | null][]): Sweep => ({
    name: 'ROWS',
    value: 64,
    range,
    version: 3,
    tried: tried.map(([value, micros]) => ({
        value,
        micros,
        spread: micros === null ? null : [micros, micros],
        why: micros === null ? 'S0042' : null,
    })),
});

test('malformed lines of a ledger are skipped', () => {
    const line = { position: { line: 2, character: 25 }, label: '1.00×', tooltip: 'After `tile`' };
    assert.deepEqual(
        readLedger({
            version: 1,
            stale: true,
            lines: [line, null, {}, { position: { line: -1 } }],
            total: '0.05 µs per row',
            ledger: {},
        }),
        {
            stale: true,
            lines: [line],
            total: '0.05 µs per row',
            offer: null,
        },
    );
    const offer = { title: "Take schedc's own schedule", command: 'schedc.choose', gain: 2 };
    assert.equal(readLedger({ lines: [], offer }).offer, offer.title);
    assert.equal(readLedger({ lines: [], offer: 'x' }).offer, null);
    assert.equal(offerFor('mine.sched', offer.title), "schedc, for mine.sched: Take schedc's own schedule");
    for (const json of [null, 3, {}, { lines: 'none' }])
        assert.deepEqual(readLedger(json), { stale: false, lines: [], total: null, offer: null });
});

test('the total stands above the lines, or else at the end of the last one', () => {
    const line = (at: number) => ({ position: { line: at, character: 9 }, label: `${at}.00×`, tooltip: '' });
    const ledger = { stale: false, lines: [line(1), line(2)], total: '0.05 µs per row', offer: null };
    assert.deepEqual(labels(ledger, true), ['1.00×', '2.00×']);
    assert.deepEqual(labels(ledger, false), ['1.00×', '2.00×, 0.05 µs per row']);
    assert.deepEqual(labels({ ...ledger, total: null }, false), ['1.00×', '2.00×']);
    assert.deepEqual(lensTitles(ledger), { total: '0.05 µs per row', take: null });
    assert.equal(lensTitles({ ...ledger, offer: 'Take it' }).take, 'take it');
    const stale = lensTitles({ ...ledger, stale: true });
    assert.equal(stale.total, '0.05 µs per row (before the last change)');
    assert.deepEqual(lensTitles({ ...ledger, total: null, offer: 'Take it' }), { total: null, take: null });
});

test('values are read with their times, or with the reason why there is none', () => {
    const tried = [
        { value: 32, us_per_row: 0.5, spread: [0.4, 0.6], over_whole: 2 },
        { value: 0, us_per_row: null, spread: null, why: 'S0042: no' },
        'nothing',
    ];
    const read = readSweep({ name: 'ROWS', value: 64, version: 3, range, tried, whole: {} });
    assert.deepEqual(read?.tried, [
        { value: 32, micros: 0.5, spread: [0.4, 0.6], why: null },
        { value: 0, micros: null, spread: null, why: 'S0042: no' },
    ]);
    for (const json of [null, {}, { name: 'X', value: 1, range: {} }]) assert.equal(readSweep(json), null);
});

test('bars are as long as the times', () => {
    const [first, second, third] = bars(sweep([32, 2], [64, 1], [128, null]));
    const length = (text: string | undefined): number =>
        [...(text ?? '')].filter((one) => '█▏▎▍▌▋▊▉'.includes(one)).length;
    assert.deepEqual([length(first?.detail), length(second?.detail)], [24, 12]);
    assert.deepEqual([first?.label, second?.label, third?.label], ['32', '64 (now, fastest)', '128']);
    assert(first?.detail.endsWith('2.00 µs  0.50×') && third?.detail === 'S0042');
    assert(second?.description.includes('1.00 µs and 1.00 µs') && third?.description === '');
    assert.deepEqual(bars(sweep()), []);
});
