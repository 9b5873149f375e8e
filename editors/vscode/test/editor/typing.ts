// Steps of a user who types a schedule line by line, with Enter after each word.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { Step } from './steps';
import { until } from './workbench';

const FILE = 'empty.sched';

export const TYPING: readonly Step[] = [
    [
        'Enter after a finished word, or an accepted directive, begins a line',
        async ({ bench, folder }) => {
            await bench.open(FILE);
            await bench.focusText();
            await bench.key('Control+A', 'Delete', 'Escape');
            // The list of proposals opens after the blank, before the word is typed.
            for (const [start, word] of [
                ['sched ', '1'], ['target ', 'cpu'], ['param STEPS = ', '3'], ['const N = ', 'STEPS'],
                ['const M = ', 'N'], ['const P = ', 'num_trees'],
            ] as const) {
                await bench.type(start);
                await bench.suggestions.first().waitFor();
                await bench.type(word);
                await bench.page.waitForTimeout(500);
                await bench.key('Enter');
            }
            await bench.type('tile');
            await bench.suggestions.filter({ hasText: 'tile(batch' }).first().waitFor();
            await bench.key('Enter');
            await until('the directive', async () => (await bench.suggestions.count()) === 0);
            await bench.key('Enter');
            await bench.type('parallel(b0)');
            await bench.key('Escape');
            const text = await bench.saved(join(folder, FILE), /parallel\(b0\)$/);
            const wanted = 'sched 1\ntarget cpu\nparam STEPS = 3\nconst N = STEPS\nconst M = N\n' +
                'const P = num_trees\ntile(batch, b0, b1, SIZE)\nparallel(b0)';
            assert.equal(text.replace(/b1, \w+\)/, 'b1, SIZE)'), wanted);
            await bench.key('Control+A', 'Delete', 'Escape');
            await bench.saved(join(folder, FILE), /^$/);
            await bench.command('View: Close Editor');
        },
    ],
];
