import assert from 'node:assert/strict';
import { test } from 'node:test';
import { markedAt, partsOf } from '../../src/nest/cursor';
import { find, textOf, type Element } from '../../src/nest/element';
import { layout } from '../../src/nest/layout';
import { render, sentence } from '../../src/nest/render';
import { BLOCKS, CASES, nest } from './nests';

const draw = (text: string, line?: number): Element => {
    const view = nest(text);
    const marked = line === undefined ? undefined : markedAt(view, { line: line - 1, character: 0 });
    return render(layout(view, 600, (one) => one.length * 7), marked);
};
const withRole = (root: Element, role: string): Element[] =>
    find(root, ({ attributes }) => attributes['role'] === role);
const named = (root: Element, kind: string): Element[] =>
    find(root, ({ attributes }) => String(attributes['class'] ?? '').split(' ').includes(kind));

test('the picture shows names, ranges, conditions and badges', () => {
    const shown = textOf(draw(BLOCKS));
    for (const part of [
        'b0',
        '0..n_rows step 64',
        'while b0 + b1 < n_rows',
        'parallel',
        'interleave 8',
        '× 64',
        'walk',
    ]) {
        assert(shown.includes(part), part);
    }
});

test('row loops and tree loops have different colours', () => {
    const picture = draw(BLOCKS);
    assert.deepEqual(named(picture, 'row').length, 2);
    assert.deepEqual(named(picture, 'tree').length, 1);
});

test('a screen reader hears a tree of loops', () => {
    const picture = draw(CASES);
    assert.equal(picture.attributes['role'], 'tree');
    const items = withRole(picture, 'treeitem').map(({ attributes }) =>
        [attributes['aria-level'], attributes['aria-posinset'], attributes['aria-setsize']].join(' '));
    assert.deepEqual(items, ['1 1 1', '2 1 2', '3 1 1', '2 2 2', '3 1 1']);
    assert(
        withRole(picture, 'treeitem').every(({ attributes }) =>
            String(attributes['aria-label']).includes('loop over'),
        ),
    );
});

test('a loop in words', () => {
    const [block] = nest(BLOCKS).roots;
    assert(block);
    assert.equal(sentence(block), 'b0, loop over rows from 0 to n_rows step 64, parallel, cache');
});

test('loops that the directive at the cursor made are marked', () => {
    assert.equal(named(draw(BLOCKS), 'marked').length, 0);
    assert.deepEqual(
        named(draw(BLOCKS, 3), 'marked').map(({ attributes }) => attributes['data-loop']),
        [0, 2],
    );
    assert.equal(named(draw(BLOCKS, 9), 'marked').length, 4);
});

test('loops and badges of lines with errors are marked as such', () => {
    const view = nest(BLOCKS);
    const at = (line: number) => ({ start: { line, character: 0 }, end: { line, character: 20 } });
    const faulty = (...lines: number[]) => {
        const size = layout(view, 600, (one) => one.length * 7);
        return named(render(size, undefined, undefined, partsOf(view, lines.map(at))), 'faulty');
    };
    assert.equal(faulty().length, 0);
    assert.deepEqual(faulty(2).map(({ attributes }) => attributes['data-loop']), [0, 2]);
    const labels = faulty(8).map(({ attributes }) => attributes['aria-label']);
    assert.deepEqual(labels, ['parallel', 'cache', 'interleave 8', 'unrollWalk 4']
        .map((text) => `${text}, of a line with errors`));
});
