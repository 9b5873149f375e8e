import assert from 'node:assert/strict';
import { test } from 'node:test';
import { modelOf } from '../../src/bench/model';
import { changes, directiveLines, Focus, lineBefore, nextStep } from '../../src/nest/step';
import { allLoops, readAnswer, type NestView } from '../../src/nest/view';

interface Given {
    readonly name: string;
    readonly range: string;
    readonly badges?: readonly string[];
}

/** A nest of loops inside each other. */
function nest(...loops: readonly Given[]): NestView {
    const json = loops.map(({ name, range, badges = [] }, id) => ({
        id,
        name,
        range,
        sort: 'row',
        badges: badges.map((text) => ({ kind: 'parallel', text })),
        children: id + 1 < loops.length ? [id + 1] : [],
        walk: id + 1 === loops.length,
    }));
    const { view } = readAnswer({ version: 1, stale: false, view: { loops: json, roots: [0] } });
    assert(view !== null);
    return view;
}

const names = (view: NestView, ids: ReadonlySet<number>): string[] =>
    [...allLoops(view)].filter(({ id }) => ids.has(id)).map(({ name }) => name);

test('a tile marks the loops that it makes, and names the one that is gone', () => {
    const before = nest({ name: 'batch', range: '0..n_rows' }, { name: 'tree', range: '0..100' });
    const after = nest(
        { name: 'b0', range: '0..n_rows step 64' },
        { name: 'b1', range: '0..64' },
        { name: 'tree', range: '0..100' },
    );
    const { marked, gone } = changes(before, after);
    assert.deepEqual(names(after, marked.loops), ['b0', 'b1', 'tree']);
    assert.deepEqual(gone, ['batch']);
});

test('an annotation marks its badge alone', () => {
    const before = nest({ name: 'batch', range: '0..n_rows' }, { name: 'tree', range: '0..100' });
    const after = nest(
        { name: 'batch', range: '0..n_rows', badges: ['parallel'] },
        { name: 'tree', range: '0..100' },
    );
    const { marked, gone } = changes(before, after);
    assert.deepEqual([[...marked.loops], [...marked.badges], gone], [[], ['0:0'], []]);
});

test('a reorder marks the loops that move', () => {
    const before = nest({ name: 'batch', range: '0..n_rows' }, { name: 'tree', range: '0..100' });
    const after = nest({ name: 'tree', range: '0..100' }, { name: 'batch', range: '0..n_rows' });
    assert.deepEqual(names(after, changes(before, after).marked.loops), ['tree', 'batch']);
    assert.deepEqual(changes(after, after).marked.loops.size, 0);
});

test('steps go from directive to directive, forward and back', () => {
    const lines = directiveLines('model "m.json"\ntile(a)\n// remark\nwhen n_rows <= 8 {\n    cache(b)\n}\n');
    assert.deepEqual(lines, [1, 4]);
    assert.deepEqual(nextStep(lines, null, true), { line: 1, at: 1, of: 2 });
    assert.deepEqual(nextStep(lines, 1, true), { line: 4, at: 2, of: 2 });
    assert.equal(nextStep(lines, 4, true), null);
    assert.deepEqual(nextStep(lines, null, false), { line: 4, at: 2, of: 2 });
    assert.deepEqual(nextStep(lines, 4, false), { line: 1, at: 1, of: 2 });
    assert.equal(nextStep(lines, 1, false), null);
    assert.equal(nextStep([], null, true), null);
});

test('the first step goes to the directive below or above the cursor', () => {
    const lines = [0, 4, 6, 9];
    const step = (line: number, stepped: number | null, forward: boolean): number | undefined =>
        nextStep(lines, lineBefore({ line, character: 3 }, stepped), forward)?.line;
    assert.deepEqual([step(6, null, true), step(5, null, true), step(6, null, false)], [9, 6, 4]);
    // At the start of the text the first directive is still ahead.
    assert.equal(nextStep(lines, lineBefore({ line: 0, character: 0 }, null), true)?.line, 0);
    // A step after the last one begins again.
    assert.deepEqual([step(9, null, true), step(9, 9, true), step(0, 0, false)], [undefined, 0, 9]);
});

test('a panel that opens at a step shows the nest after it, and a click on the button ends the steps', () => {
    const step = { line: 7, at: 1, of: 2 };
    for (const atCursor of [true, false]) {
        const focus = new Focus();
        focus.step = step;
        assert.equal(focus.open(atCursor), false);
        assert.deepEqual([focus.step, focus.followsCursor], [step, atCursor]);
        assert.equal(focus.follow(atCursor), true);
        assert.deepEqual([focus.step, focus.followsCursor], [null, atCursor]);
        assert.equal(focus.follow(atCursor), false);
        assert.equal(focus.follow(!atCursor), true);
    }
    const [same, other] = [new Focus(), new Focus()];
    assert.deepEqual([same.open(true), other.open(false)], [false, true]);
});

test('a schedule names its model', () => {
    assert.equal(modelOf('sched 1\nmodel "in/model.json"\n'), 'in/model.json');
    assert.equal(modelOf('model "a\\"b.json"'), 'a"b.json');
    assert.equal(modelOf('// model "x"\ntile(batch, a, b, 8)'), null);
    assert.equal(modelOf('model ""'), null);
});
