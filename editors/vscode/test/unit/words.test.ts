import assert from 'node:assert/strict';
import { test } from 'node:test';
import { facts, pieces, remark } from '../../src/nest/words';
import { readAnswer } from '../../src/nest/view';
import { BLOCKS, nest } from './nests';

test('names between backticks are told apart from words', () => {
    assert.deepEqual(pieces('`group` runs over trees, as `t0`'), [
        { text: 'group', isName: true },
        { text: ' runs over trees, as ', isName: false },
        { text: 't0', isName: true },
    ]);
    assert.deepEqual(pieces('plain'), [{ text: 'plain', isName: false }]);
    for (const text of ['`a`', 'a ` b', '``']) assert(pieces(text).every((piece) => !piece.text.includes('`')), text);
});

test('facts about the nest are words', () => {
    const view = { ...nest(BLOCKS), representation: 'sparse', batchSize: '64' };
    assert.deepEqual(facts({ ...view, treeOrder: 'by_depth' }), ['sparse layout', 'trees by depth', 'at most 64 rows a run']);
    assert.deepEqual(facts({ ...nest(BLOCKS), treeOrder: 'model' }), []);
});

test('a picture of an earlier text is remarked on, and no picture is not', () => {
    const view = nest(BLOCKS);
    assert.equal(remark(true, view), 'as of the last text without mistakes');
    assert.equal(remark(false, view), '');
    const { stale, view: none } = readAnswer({ version: 3, stale: true, text: '', view: null });
    assert.equal(remark(stale, none), '');
});
