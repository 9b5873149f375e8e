import assert from 'node:assert/strict';
import { test } from 'node:test';
import { layout, type Layout, type LoopBox, type Measure, type Part } from '../../src/nest/layout';
import { strip } from '../../src/nest/strip';
import { BLOCKS, CASES, HALVES, nest } from './nests';

const measure: Measure = (text, style) => text.length * (style === 'badge' ? 6 : 8);
const place = (text: string, width = 600): Layout => layout(nest(text), width, measure);

function boxes(parts: readonly Part[]): LoopBox[] {
    return parts.flatMap((part) => (part.kind === 'loop' ? [part, ...boxes(part.parts)] : []));
}

/** All pairs of a box and a part in it. */
function* pairs(parts: readonly Part[]): Generator<[LoopBox, Part]> {
    for (const part of parts) {
        if (part.kind !== 'loop') continue;
        for (const inside of part.parts) yield [part, inside];
        yield* pairs(part.parts);
    }
}

for (const [name, text] of Object.entries({ BLOCKS, HALVES, CASES })) {
    for (const width of [240, 420, 900]) {
        test(`${name} at ${width}: everything is inside what contains it`, () => {
            const placed = place(text, width);
            for (const [outer, inner] of pairs(placed.parts)) {
                const bottom = outer.y + outer.height;
                if (inner.kind === 'loop') {
                    assert(
                        inner.x > outer.x && inner.x + inner.width < outer.x + outer.width,
                        inner.loop.name,
                    );
                    assert(inner.y > outer.range.y && inner.y + inner.height < bottom, inner.loop.name);
                } else {
                    assert(inner.text.y > outer.range.y && inner.text.y + 4 < bottom, inner.text.text);
                }
            }
            for (const box of boxes(placed.parts)) {
                const right = box.x + box.width;
                for (const badge of box.badges)
                    assert(badge.x + badge.width <= right, `badges of ${box.loop.name}`);
                assert(
                    box.range.x + box.range.text.length * 8 <= (box.strip?.x ?? right),
                    `range of ${box.loop.name}`,
                );
                assert(right <= placed.width && box.y + box.height <= placed.height);
            }
        });

        test(`${name} at ${width}: boxes beside each other do not overlap`, () => {
            const check = (parts: readonly Part[]): void => {
                const found = parts.filter((part) => part.kind === 'loop');
                found.forEach((box, at) => {
                    const next = found[at + 1];
                    assert(next === undefined || box.y + box.height < next.y);
                    check(box.parts);
                });
            };
            check(place(text, width).parts);
        });
    }
}

test('a wide panel is filled, and a narrow one scrolls', () => {
    assert.equal(place(BLOCKS, 900).width, 900);
    assert(place(BLOCKS, 100).width > 100);
});

test('strips are in one column, and are left out in narrow panels', () => {
    const wide = boxes(place(HALVES, 900).parts);
    assert.equal(new Set(wide.map((box) => box.strip?.x)).size, 1);
    assert(boxes(place(HALVES, 300).parts).every((box) => box.strip === null));
});

test('badges move to a separate line if there is no room', () => {
    const badgeLines = (width: number): number => {
        const inner = boxes(place(BLOCKS, width).parts).find(({ loop }) => loop.name === 'b1');
        return new Set(inner?.badges.map(({ y }) => y)).size + (inner?.badges[0]?.y === undefined ? 0 : 1);
    };
    const height = (width: number): number => place(BLOCKS, width).height;
    assert(height(300) > height(900));
    assert(badgeLines(300) >= badgeLines(900));
});

test('a leaf loop has a walk, a specialised loop a heading for each iteration', () => {
    const kinds = boxes(place(CASES).parts).map(
        ({ loop, parts }) => `${loop.name}: ${parts.map(({ kind }) => kind).join(' ')}`,
    );
    assert.deepEqual(kinds, [
        't0: note loop note loop',
        't0[0].batch: loop', 't0[0].t1: walk',
        't0[1].batch: loop', 't0[1].t1: walk',
    ]);
});

test('of many copies the first are drawn and the rest is counted', () => {
    const many = Array.from({ length: 40 }, (_, at) => `  tree t[${at}] 0..5\n    walk`).join('\n');
    const [box] = place(`row b 0..n_rows\n${many}`).parts;
    assert(box?.kind === 'loop');
    assert.equal(boxes(box.parts).length, 12);
    const last = box.parts.at(-1);
    assert(last?.kind === 'note');
    assert.equal(last.text.text, 'and 28 more loops');
});

test('an empty nest has a place', () => {
    const { parts, width, height } = layout({ ...nest(BLOCKS), roots: [] }, 500, measure);
    assert.deepEqual(parts, []);
    assert(width === 500 && height >= 0);
});

test('filled cells are iterations at the same time', () => {
    const filled = (text: string): string => {
        const [loop] = nest(text).roots;
        assert(loop);
        const { cells, filled, more, last } = strip(loop);
        return `${filled} of ${cells}${more ? ' ...' : ''}${last === null ? '' : ` ${last}`}`;
    };
    assert.equal(filled('row b 0..n_rows'), '1 of 5 ...');
    assert.equal(filled('row b 0..n_rows step 64 [parallel]'), '5 of 5 ...');
    assert.equal(filled('tree t 0..100 step 50 *2'), '1 of 2');
    assert.equal(filled('tree t 0..100 *100 [interleave 4]'), '4 of 5 ... empty');
    assert.equal(filled('tree t 0..100 *100 [interleave 8]'), '5 of 5 ... empty');
    assert.equal(filled('tree t 0..100 *100 [parallel]'), '5 of 5 ... filled');
    assert.equal(filled('tree t 0..6 *6 [vectorize 2, interleave 2]'), '4 of 6');
    assert.equal(filled('tree t 0..0 *0'), '0 of 0');
});
