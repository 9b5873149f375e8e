import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstMarked, markedAt } from '../../src/nest/cursor';
import { allLoops, readAnswer } from '../../src/nest/view';
import { BLOCKS, HALVES, nest } from './nests';

function marked(text: string, line: number, character = 4): { loops: string[]; badges: string[] } {
    const view = nest(text);
    const found = markedAt(view, { line: line - 1, character });
    const loops = [...allLoops(view)];
    return {
        loops: loops.filter(({ id }) => found.loops.has(id)).map(({ name }) => name),
        badges: loops.flatMap((loop) =>
            loop.badges.filter((_, at) => found.badges.has(`${loop.id}:${at}`)).map(({ text }) => text),
        ),
    };
}

test('a directive marks the loops that it made, copies included', () => {
    assert.deepEqual(marked(BLOCKS, 3), { loops: ['b0', 'b1'], badges: [] });
    assert.deepEqual(marked(HALVES, 1).loops, ['b0', 'early.b1', 'late.b1']);
});

test('a directive marks its annotations', () => {
    assert.deepEqual(marked(BLOCKS, 9), {
        loops: [],
        badges: ['parallel', 'cache', 'interleave 8', 'unrollWalk 4'],
    });
});

test('behind a directive, the whole line is marked; on lines without directives, nothing', () => {
    assert.deepEqual(marked(BLOCKS, 3, 70).loops, ['b0', 'b1']);
    assert.deepEqual(marked(BLOCKS, 2), { loops: [], badges: [] });
});

test('of two directives on a line, only the directive at the cursor is marked', () => {
    const at = (from: number, to: number): unknown => ({
        start: { line: 0, character: from },
        end: { line: 0, character: to },
    });
    const { view } = readAnswer({
        view: {
            roots: [0, 1],
            loops: [
                { id: 0, name: 'a', origin: at(0, 10) },
                { id: 1, name: 'b', origin: at(12, 20) },
            ],
        },
    });
    assert(view);
    assert.deepEqual([...markedAt(view, { line: 0, character: 14 }).loops], [1]);
    assert.deepEqual([...markedAt(view, { line: 0, character: 30 }).loops], [0, 1]);
});

test('the first marked part is an outer loop, or a badge', () => {
    const view = nest(BLOCKS);
    const at = (line: number): string | null =>
        firstMarked(view, markedAt(view, { line: line - 1, character: 4 }));
    const ids = new Map([...allLoops(view)].map(({ id, name }) => [name, id]));
    assert.equal(at(3), String(ids.get('b0')));
    assert.match(at(9) ?? '', /^\d+:\d+$/);
    assert.equal(at(2), null);
});
