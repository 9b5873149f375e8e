import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allLoops, readAnswer } from '../../src/nest/view';
import { BLOCKS, CASES, nest, nestJson } from './nests';

const names = (text: string): string[] => [...allLoops(nest(text))].map(({ name }) => name);

test('loops come with what is in them, outer ones first', () => {
    assert.deepEqual(names(BLOCKS), ['b0', 'tree', 'b1']);
    const [block] = nest(BLOCKS).roots;
    assert.equal(block?.range, '0..n_rows step 64');
    assert.deepEqual(block?.badges.map(({ kind }) => kind), ['parallel', 'cache']);
    assert.equal(block?.bodies[0]?.[0]?.name, 'tree');
});

test('a specialised loop has a body for each iteration', () => {
    const [loop] = nest(CASES).roots;
    assert.equal(loop?.specialized, true);
    assert.deepEqual(
        loop?.bodies.map((body) => body.map(({ name }) => name)),
        [['t0[0].batch'], ['t0[1].batch']],
    );
});

test('a loop that contains itself is drawn once', () => {
    const { view } = readAnswer({
        version: 1,
        stale: false,
        view: {
            roots: [0, 0],
            loops: [
                { id: 0, name: 'a', sort: 'row', range: '0..1', children: [0, 1] },
                { id: 1, name: 'b', children: [0] },
            ],
        },
    });
    assert.deepEqual(view?.roots.map(({ name }) => name), ['a']);
    assert.deepEqual(view?.roots[0]?.bodies.flat().map(({ name }) => name), ['b']);
});

test('malformed answers lead to no picture and no error', () => {
    for (const json of [null, 1, 'x', [], {}, { view: 3 }, { view: null }])
        assert.equal(readAnswer(json).view, null);
    assert.deepEqual(readAnswer({ view: {} }).view?.roots, []);
    assert.deepEqual(readAnswer({ view: { roots: ['a', 7], loops: [null, { id: 'b' }] } }).view?.roots, []);
});

test('an answer says whether it is of an earlier text', () => {
    assert.equal(readAnswer(nestJson(BLOCKS)).stale, false);
    assert.equal(readAnswer({ version: 3, stale: true, view: null }).stale, true);
});
