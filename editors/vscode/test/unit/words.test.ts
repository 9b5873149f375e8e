import assert from 'node:assert/strict';
import { test } from 'node:test';
import { facts, figures, pieces, remark, size } from '../../src/nest/words';
import { readAnswer } from '../../src/nest/view';
import { BLOCKS, nest } from './nests';

test('names between backticks are separated from words', () => {
    assert.deepEqual(pieces('`group` runs over trees, as `t0`'), [
        { text: 'group', isName: true },
        { text: ' runs over trees, as ', isName: false },
        { text: 't0', isName: true },
    ]);
    assert.deepEqual(pieces('plain'), [{ text: 'plain', isName: false }]);
    for (const text of ['`a`', 'a ` b', '``'])
        assert(
            pieces(text).every((piece) => !piece.text.includes('`')),
            text,
        );
});

test('properties of the nest have descriptions', () => {
    const view = { ...nest(BLOCKS), representation: 'sparse', batchSize: '64' };
    assert.deepEqual(facts({ ...view, treeOrder: 'by_depth' }), [
        'sparse layout',
        'trees by depth',
        'at most 64 rows a run',
    ]);
    assert.deepEqual(facts({ ...nest(BLOCKS), treeOrder: 'model' }), []);
});

test('a picture of an earlier text is remarked on, and no picture is not', () => {
    const shown = { stale: true, view: nest(BLOCKS), leftOut: [], refused: null, line: null };
    assert.equal(remark(shown), 'nest of the last text without errors');
    assert.equal(remark({ ...shown, stale: false }), '');
    const { stale, view: none } = readAnswer({ version: 3, stale: true, text: '', view: null });
    assert.equal(remark({ ...shown, stale, view: none }), '');
});

test('a part of the nest is remarked on', () => {
    const at = (line: number) => ({ start: { line, character: 0 }, end: { line, character: 3 } });
    const leftOut = [at(2), at(2), at(4)];
    const shown = { stale: false, view: nest(BLOCKS), leftOut, refused: null, line: null };
    assert.equal(remark(shown), 'lines 3, 5 have errors');
    assert.equal(remark({ ...shown, leftOut: [at(2)], line: 6 }), 'after line 7, line 3 has errors');
    const refused = { ...shown, refused: at(4), line: 4 };
    assert.equal(remark(refused), 'before line 5, which has errors, line 3 has errors');
    assert.equal(
        remark({ ...refused, leftOut: [at(4)] }, { line: 4, at: 2, of: 3 }),
        'before line 5 (2 of 3), which has errors',
    );
    const answer = readAnswer({ version: 1, view: {}, left_out: [at(2), 'x'], refused: at(2) });
    assert.deepEqual([answer.leftOut, answer.refused], [[at(2)], at(2)]);
    assert.equal(readAnswer({ version: 1, view: {} }).refused, null);
});

test('the working set of an iteration is compared with the cache', () => {
    const [loop] = nest(BLOCKS).roots;
    assert(loop);
    assert.equal(figures({ ...loop, bytes: 7680 }, 1 << 20), '≥ 7.5 KiB of rows (cache: 1 MiB)');
    assert.equal(
        figures({ ...loop, bytes: 3 << 20 }, 1 << 20),
        '≥ 3 MiB of rows, larger than the cache: 1 MiB',
    );
    assert.equal(
        figures({ ...loop, idle: { idle: 14, lanes: 16 } }, null),
        '14 of 16 lanes idle in the last vector',
    );
    assert.equal(figures(loop, 1 << 20), null);
    assert.deepEqual([0, 1023, 1536, 200 * 1024].map(size), ['0 bytes', '1023 bytes', '1.5 KiB', '200 KiB']);
});
