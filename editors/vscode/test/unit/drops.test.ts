import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDirective } from '../../src/nest/cursor';
import { moveOf, readDrops, sizeAt, targetsOf, tileable } from '../../src/nest/drops';
import { find } from '../../src/nest/element';
import { layout } from '../../src/nest/layout';
import { render } from '../../src/nest/render';
import { BLOCKS, nest } from './nests';

const edit = { changes: {} };
const ANSWER = {
    version: 3,
    moves: [
        { loop: 'b1', onto: 'tree', directive: 'reorder(b1, tree)', edit },
        { loop: 'b1', onto: 'b0', directive: 'reorder(b1, b0, tree)', edit },
        { loop: 'tree', onto: 'b1', directive: 'no edit' },
    ],
    tiles: [
        {
            loop: 'b1',
            sizes: [2, 4, 8].map((size) => ({ size, directive: `tile(b1, c0, c1, ${size})`, edit })),
        },
        { loop: 'tree', sizes: [] },
    ],
};

test('only drops with an edit are offered', () => {
    const { version, drops, edits } = readDrops(ANSWER);
    assert.equal(version, 3);
    assert.deepEqual([...targetsOf(drops, 'b1')], ['tree', 'b0']);
    assert.equal(targetsOf(drops, 'tree').size, 0);
    assert.equal(moveOf(drops, 'b1', 'tree')?.directive, 'reorder(b1, tree)');
    assert.equal(moveOf(drops, 'b0', 'b1'), null);
    assert.deepEqual([...tileable(drops)], ['b1']);
    assert(edits.has('tile(b1, c0, c1, 4)'));
    for (const broken of [null, 7, {}, { moves: 3, tiles: [1] }])
        assert.deepEqual(readDrops(broken).drops, { moves: [], tiles: [] });
});

test('a handle begins in the middle and stops at the ends', () => {
    const [tiled] = readDrops(ANSWER).drops.tiles;
    assert(tiled);
    const sizes = [-500, -22, 0, 10, 22, 500].map((pixels) => sizeAt(tiled, pixels)?.size);
    assert.deepEqual(sizes, [2, 2, 4, 4, 8, 8]);
});

test('loops that can be tiled have a handle', () => {
    const drawn = render(layout(nest(BLOCKS), 600, (text) => text.length * 7), undefined, new Set(['b1']));
    const handles = find(drawn, (one) => one.attributes['class'] === 'handle');
    assert.deepEqual(handles.map((one) => one.attributes['aria-label']), ['tile b1']);
});

test('a line that begins a directive is one', () => {
    for (const line of ['tile(batch, b0', '  parallel (b0)', 'reorder(']) assert(isDirective(line), line);
    for (const line of ['', '// tile(b', 'model "x"', 'when n_rows <= 8 {', 'para'])
        assert(!isDirective(line), line);
});
