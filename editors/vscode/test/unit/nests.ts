// Loop nests for tests, converted from text to the server's answers.
//
//     row b0 0..n_rows step 64 [parallel, cache] @3
//       tree t 0..100 *100
//         walk
//
// `@3` is the line (from 1) of the directive that made the loop, `*100` its number of iterations. All
// annotations have line 9.

import { readAnswer, type NestView } from '../../src/nest/view';

const LOOP =
    /^(row|tree) (\S+) (\S+(?: step \S+)?)(?: \*(\d+))?(?: \[([^\]]*)\])?(?: @(\d+))?(?: while (.*))?$/;

const line = (number: number): unknown => ({
    start: { line: number - 1, character: 0 },
    end: { line: number - 1, character: 20 },
});

const KINDS: Readonly<Record<string, string>> = {
    parallel: 'parallel', cache: 'cache', interleave: 'interleave', vectorize: 'vector', unroll: 'unroll',
    unrollWalk: 'walk', atomicReduce: 'reduce', sparse: 'representation',
};

interface Open {
    indent: number;
    loop: Record<string, unknown> & { children: number[]; cases?: number[][] };
}

/** The JSON of a nest. */
export function nestJson(text: string): unknown {
    const loops: Open['loop'][] = [];
    const roots: number[] = [];
    const open: Open[] = [];
    for (const source of text.split('\n').filter((one) => one.trim() !== '')) {
        const indent = source.length - source.trimStart().length;
        while ((open.at(-1)?.indent ?? -1) >= indent) open.pop();
        const around = open.at(-1)?.loop;
        const words = source.trim();
        if (words === 'walk') {
            if (around) around['walk'] = true;
        } else if (words.startsWith('iteration')) {
            if (around) (around.cases ??= []).push([]);
        } else {
            const match = LOOP.exec(words);
            if (match === null) throw new Error(`no loop: ${words}`);
            const [, sort, name, range, count, facts, made, condition] = match;
            const id = loops.length;
            const badges = (facts?.split(', ') ?? []).map((fact) =>
                ({ kind: KINDS[fact.split(' ')[0] ?? ''] ?? 'gpu', text: fact, span: line(9) }));
            const loop = {
                id, sort, name, range, badges, children: [], walk: false,
                while: condition ?? null,
                iterations: count === undefined ? null : Number(count),
                origin: made === undefined ? null : line(Number(made)),
            };
            loops.push(loop);
            (around?.cases?.at(-1) ?? around?.children ?? roots).push(id);
            open.push({ indent, loop });
        }
    }
    return {
        version: 1,
        stale: false,
        view: {
            roots,
            loops,
            accumulation: { order: 'exact', why: null },
            representation: null,
            tree_order: 'model',
            batch_size: null,
        },
    };
}

/** A nest as the panel reads it. */
export function nest(text: string): NestView {
    const { view } = readAnswer(nestJson(text));
    if (view === null) throw new Error('no nest');
    return view;
}

export const BLOCKS = `
row b0 0..n_rows step 64 [parallel, cache] @3
  tree tree 0..100 *100
    row b1 0..64 *64 [interleave 8, unrollWalk 4] @3 while b0 + b1 < n_rows
      walk
`;

export const HALVES = `
row b0 0..n_rows step 64 [parallel] @1
  tree early 0..40 *40 @4
    row early.b1 0..64 *64 [vectorize 16] @1 while b0 + early.b1 < n_rows
      walk
  tree late 40..100 *60 @4
    row late.b1 0..64 *64 @1 while b0 + late.b1 < n_rows
      walk
`;

export const CASES = `
tree t0 0..100 step 30 *4 [parallel] @1
  iteration 0:
    row t0[0].batch 0..n_rows
      tree t0[0].t1 0..30 *30 @1 while t0 + t0[0].t1 < 100
        walk
  iteration 1:
    row t0[1].batch 0..n_rows
      tree t0[1].t1 0..30 *30 [interleave 4] @1 while t0 + t0[1].t1 < 100
        walk
`;
