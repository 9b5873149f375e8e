import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linesOf, readStage, stageLines } from '../../src/stages/answer';
import { changedLines } from '../../src/stages/diff';

const range = (line: number) => ({ start: { line, character: 0 }, end: { line, character: 5 } });

test('lines have the directives from which they stem', () => {
    const runs = [
        { line: 0, count: 1, ranges: [range(2), 'x'] },
        { line: 1, count: 2, ranges: [range(4)] },
        { line: 3, count: 9, ranges: [] },
    ];
    const lines = stageLines(readStage({ text: 'for b0 in 0..8 {\n  walk\n  walk\n}\n', lines: runs }));
    assert.deepEqual(lines.map((line) => line.text), ['for b0 in 0..8 {', '  walk', '  walk', '}']);
    assert.deepEqual([...linesOf(lines, 2)], [0]);
    assert.deepEqual([...linesOf(lines, 4)], [1, 2]);
    assert.equal(linesOf(lines, 3).size, 0);
    for (const broken of [null, 3, {}, { text: 7, lines: 8 }, { lines: [{ line: 0 }] }]) {
        assert.deepEqual(stageLines(readStage(broken)), [{ text: '', ranges: [] }]);
    }
});

test('new lines are reported, and moved lines are not', () => {
    const of = (before: string, after: string) => [...changedLines(before.split(''), after.split(''))];
    assert.deepEqual(of('abc', 'abc'), []);
    assert.deepEqual(of('abc', 'abxc'), [2]);
    assert.deepEqual(of('abcabba', 'cbabac'), [1, 5]);
    assert.deepEqual(of('', 'ab'), [0, 1]);
    assert.deepEqual(of('ab', ''), []);
    assert.deepEqual([...changedLines(['jl .LBB0_2', 'ret'], ['jl .LBB0_7', 'nop', 'ret'])], [1]);
});

test('every line that is reported as kept is in both texts in the same order', () => {
    let state = 7;
    const next = (most: number): number => (state = (state * 48271) % 2147483647) % most;
    for (let round = 0; round < 200; round += 1) {
        const before = Array.from({ length: next(12) }, () => String(next(4)));
        const after = Array.from({ length: next(12) }, () => String(next(4)));
        const changed = changedLines(before, after);
        const kept = after.filter((_, at) => !changed.has(at));
        let from = 0;
        for (const line of kept) {
            from = before.indexOf(line, from) + 1;
            assert(from > 0, `${before} -> ${after}: ${[...changed]}`);
        }
    }
});

test('texts that differ in everything are compared all the same', () => {
    const before = Array.from({ length: 900 }, (_, at) => `a${at}`);
    const after = Array.from({ length: 900 }, (_, at) => (at === 450 ? 'a3' : `b${at}`));
    const changed = changedLines(before, after);
    assert.equal(changed.size, 899);
    assert(!changed.has(450));
});
