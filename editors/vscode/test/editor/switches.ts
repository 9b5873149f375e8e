// The switches of hints and lenses, one by one.

import type { Step } from './steps';
import { until } from './workbench';

const FILE = 'blocks.sched';

/** Each switch of the hints, with a line of the file as shown if only this switch is on. */
const HINTS = [
    ['ranges', 'tile(batch, block: 0..n_rows step 64, row: 0..64, ROWS)'],
    ['iterations', 'tile(batch, block, row: 64 iterations, ROWS)'],
    ['parameters', 'tile(batch, block, row, size: ROWS)'],
    ['values', 'tile(batch, block, row, ROWS = 64)'],
] as const;
/** A line without spaces: the editor pads hints in several ways. */
const dense = (line: string): string => line.replaceAll(/[\s\u200b]/gu, '');
/** Whether two lists of lines are equal, in any order. */
const isSame = (shown: readonly string[], wanted: readonly string[]): boolean =>
    shown.map(dense).sort().join('\n') === wanted.map(dense).sort().join('\n');
const NO_HINTS = Object.fromEntries(HINTS.map(([kind]) => [kind, false]));

/** Each switch of the lenses, with the lenses that remain if it is off. */
const LENSES = [
    ['nest', 'build | bench | ledger', 'try values of ROWS'],
    ['build', 'show nest | bench | ledger', 'try values of ROWS'],
    ['bench', 'show nest | build | ledger', 'try values of ROWS'],
    ['ledger', 'show nest | build | bench', 'try values of ROWS'],
    ['sweep', 'show nest | build | bench | ledger'],
] as const;

export const SWITCHES: readonly Step[] = [
    [
        'the hints of a line that makes two loops are shown in full',
        async ({ bench }) => {
            await bench.open('hints.sched');
            const line =
                'tile(late, late_block: 30..100 step 25 (3 iterations), late_tree: 0..25, size: 25)';
            await until('all hints', async () =>
                (await bench.lines()).some((shown) => dense(shown) === dense(line)),
            );
            await bench.shot('hints');
            await bench.command('View: Close Editor');
        },
    ],
    [
        'each kind of hint has a switch',
        async ({ bench, folder }) => {
            await bench.open(FILE);
            for (const [kind, line] of HINTS) {
                await bench.set(folder, FILE, { 'schedc.inlayHints': { ...NO_HINTS, [kind]: true } });
                await until(`the hints of ${kind} alone`, async () =>
                    (await bench.lines()).some((shown) => dense(shown) === dense(line)),
                );
            }
            await bench.set(folder, FILE, {});
        },
    ],
    [
        'each lens has a switch',
        async ({ bench, folder }) => {
            for (const [kind, ...lenses] of LENSES) {
                await bench.set(folder, FILE, { 'schedc.lenses': { [kind]: false } });
                await until(
                    `all lenses but ${kind}`,
                    async () => isSame(await bench.lenses(), lenses),
                );
            }
            await bench.set(folder, FILE, { 'schedc.codeLens': false });
            await until('no lenses', async () => (await bench.lenses()).length === 0);
            await bench.set(folder, FILE, {});
            await bench.command('View: Close Editor');
        },
    ],
    [
        'the measured speed has a switch',
        async ({ bench, folder }) => {
            const file = 'fast.sched';
            await bench.open(file);
            await bench.sees(bench.editor.locator('.codelens-decoration'), 'at a time');
            await bench.set(folder, file, { 'schedc.lenses': { speed: false } });
            await until('no speed', async () => {
                const lenses = await bench.lenses();
                return lenses.length > 0 && !lenses.join().includes('at a time');
            });
            await bench.set(folder, file, {});
        },
    ],
];
