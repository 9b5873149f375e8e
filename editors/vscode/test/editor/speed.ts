// Speed in the extension, step by step: the chart, the ledger, values of numbers, and searches for schedules.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { Step } from './steps';
import { until, type Workbench } from './workbench';

/** Milliseconds to wait for a measurement, on a shared machine. */
const LONG = 120_000;

/** The chart in the panel. */
const chart = (bench: Workbench) => bench.panel.locator('.chart');

/** The labels of the chart's lines. */
const calls = (bench: Workbench): Promise<string[]> => chart(bench).locator('text.calls').allTextContents();

/** Waits for a ledger of the present text, or of an earlier one. */
const gained = (bench: Workbench, stale: boolean): Promise<void> =>
    until(`gains that are ${stale ? 'stale' : 'fresh'}`, async () => {
        const gains = await bench.gains();
        return gains.some(({ text }) => /\d×/.test(text)) && gains.every((gain) => gain.stale === stale);
    }, LONG);

export const SPEED: readonly Step[] = [
    [
        'a measurement is a chart and a code lens',
        async ({ bench }) => {
            await bench.focusText();
            await bench.command('schedc: Measure the Speed');
            await bench.sees(bench.page.locator('.quick-input-list'), 'rows.csv');
            await bench.key('Enter');
            await bench.brings(chart(bench).locator('.point'));
            await bench.sees(chart(bench).locator('.time'), 'µs');
            await bench.sees(bench.editor.locator('.codelens-decoration'), 'µs per row');
            assert.equal(await bench.panel.locator('.before').count(), 0);
            await bench.panel.locator('#again').click();
            await bench.brings(chart(bench).locator('.before'));
            await bench.shot('bench');
        },
    ],
    [
        'the chart is logarithmic, and has baselines',
        async ({ bench }) => {
            const lines = (await calls(bench)).length;
            assert.deepEqual(
                [await chart(bench).locator('.chosen').count(), await chart(bench).locator('.plain').count()],
                [lines, lines],
            );
            const ticks = await chart(bench)
                .locator('text.tick')
                .evaluateAll((all) =>
                    all.map(
                        (tick) =>
                            [Math.log(Number(tick.textContent)), Number(tick.getAttribute('x'))] as const,
                    ),
                );
            const slopes = ticks
                .slice(1)
                .map(([value, x], at) => (x - (ticks[at]?.[1] ?? 0)) / (value - (ticks[at]?.[0] ?? 0)));
            assert(
                slopes.length > 0 &&
                    slopes.every((slope) => Math.abs(slope - (slopes[0] ?? 0)) < 0.01 * slope),
                `${ticks}`,
            );
        },
    ],
    [
        'rows and threads of the calls are chosen in the panel',
        async ({ bench }) => {
            await bench.panel.locator('#calls').click();
            const input = bench.page.locator('.quick-input-widget input').first();
            await input.fill('1, 32 on 1, 2');
            await bench.key('Enter');
            const wanted = ['1 row', '1 row, 2 threads', '32 rows', '32 rows, 2 threads'];
            await until(
                'the chosen calls',
                async () => `${(await calls(bench)).sort()}` === `${wanted.sort()}`,
                LONG,
            );
            await bench.sees(bench.panel.locator('#calls'), '1, 32 rows a call, 1, 2 threads');
            await bench.panel.locator('#choose').click();
            await bench.page
                .locator('.quick-input-list .monaco-list-row')
                .filter({ hasText: 'Rows drawn at random' })
                .click();
            await bench.sees(bench.panel.locator('#choose'), 'random rows');
            await bench.shot('bench-calls');
        },
    ],
    [
        'after a reload of the window the chart is shown again, and compared with',
        async ({ bench }) => {
            const before = await chart(bench).locator('.time').allTextContents();
            // The editor saves the state of extensions from time to time, and when its window closes.
            await bench.command('Developer: Reload Window');
            await until(
                'another window',
                async () =>
                    (await bench.page.locator('.tab').count()) === 0 ||
                    !(await chart(bench).first().isVisible()),
            );
            await chart(bench).locator('.point').first().waitFor();
            assert.deepEqual(await chart(bench).locator('.time').allTextContents(), before);
            await bench.sees(bench.panel.locator('#calls'), '1, 32 rows a call, 1, 2 threads');
            await bench.panel.locator('#again').click();
            await bench.brings(chart(bench).locator('.before'));
        },
    ],
    [
        'after a reload of the window there is one nest panel, though its tab was hidden',
        async ({ bench }) => {
            const tabs = bench.page.locator('.tab').filter({ hasText: 'Loop nest' });
            assert.equal(await tabs.count(), 1, 'the editor has restored the tab');
            await bench.focusText();
            await bench.command('schedc: Show the Loop Nest');
            await bench.panel.locator('.loop').first().waitFor();
            assert.equal(await tabs.count(), 1);
        },
    ],
    [
        'each line shows the gain of its directive',
        async ({ bench }) => {
            await bench.focusText();
            await bench.command('schedc: Measure What Each Directive Gains');
            await gained(bench, false);
            await until('the time above the first directive', async () =>
                (await bench.lenses()).some((text) => /µs per row, schedc's own/.test(text)),
            );
            const gains = await bench.gains();
            const cut = gains.filter(({ fits }) => !fits).map(({ line, text }) => `${line}: ${text}`);
            assert.deepEqual(cut, [], 'beside a panel, all gains are in view');
            await bench.notifications.filter({ hasText: "Take schedc's own schedule" }).waitFor();
            await bench.shot('ledger');
            await bench.command('Notifications: Clear All Notifications');
        },
    ],
    [
        'gains have their spread, and are grey while they are of an earlier text',
        async ({ bench }) => {
            await bench.goTo(5, 1);
            await bench.key('End');
            const spread = bench.hover.filter({ hasText: /µs per row \([\d.]+ to [\d.]+\)/ });
            await bench.insist(() => bench.command('Show or Focus Hover'), spread);
            await bench.shot('ledger-spread');
            await bench.key('Escape');
            await bench.rewrite(5, 'interleave(lane, 2)');
            await gained(bench, true);
            await bench.shot('ledger-stale');
            await bench.rewrite(5, 'interleave(lane, 8)');
            await gained(bench, false);
        },
    ],
    [
        'values of a number are tried, and one is taken',
        async ({ bench }) => {
            await bench.goTo(5, 1);
            await bench.key('End', 'ArrowLeft');
            await bench.command('schedc: Try Values of the Number at the Cursor');
            const rows = bench.page.locator('.quick-input-list .monaco-list-row').filter({ hasText: 'µs' });
            await bench.brings(rows);
            await bench.shot('sweep');
            await rows.filter({ hasText: /^4\D/ }).first().click();
            await bench.sees(bench.editor.locator('.view-line'), /interleave.*4\)/);
            await bench.clean();
        },
    ],
    [
        'an action on a number tries its values',
        async ({ bench }) => {
            await bench.goTo(6, 1);
            await bench.key('End', 'ArrowLeft');
            await bench.quickFix('Try values of this number');
            const focused = bench.page
                .locator('.action-widget .monaco-list-row.focused')
                .filter({ hasText: 'Try values of this number' });
            await bench.insist(() => bench.key('ArrowDown'), focused);
            await bench.key('Enter');
            const rows = bench.page
                .locator('.quick-input-list .monaco-list-row')
                .filter({ hasText: /█.*µs/ });
            await bench.brings(rows);
            await bench.sees(rows, 'now');
            await bench.key('Escape');
        },
    ],
    [
        'values of a param are tried from the lens above it',
        async ({ bench, folder }) => {
            await bench.open('blocks.sched');
            const lens = bench.editor
                .locator('.codelens-decoration a')
                .filter({ hasText: 'try values of ROWS' });
            await lens.first().click();
            const rows = bench.page.locator('.quick-input-list .monaco-list-row').filter({ hasText: 'µs' });
            await bench.brings(rows);
            // The first text of a row is its value, the second one its bar.
            const values = await rows.evaluateAll((all) =>
                all.map((row) => Number.parseInt(row.querySelector('.label-name')?.textContent ?? '')),
            );
            assert.deepEqual(values, [32, 64, 128]);
            await bench.shot('sweep-param');
            await rows.filter({ hasText: /^32\D/ }).first().click();
            await bench.sees(bench.editor.locator('.view-line'), /param.*ROWS.*=.*32.*in/);
            await bench.focusText();
            await bench.key('Control+Z');
            await bench.saved(join(folder, 'blocks.sched'), /^param ROWS = 64 in/m);
        },
    ],
    [
        'the schedule that schedc chooses, and one that is searched for, take the place of the directives',
        async ({ bench, folder }) => {
            const file = join(folder, 'blocks.sched');
            for (const [command, wanted] of [
                ['schedc: Insert the Schedule That schedc Chooses', /^\/\/ .*chosen by schedc/m],
                ['schedc: Search for a Fast Schedule', /^\/\/ .*tune/m],
            ] as const) {
                await bench.focusText();
                await bench.command(command);
                await until(
                    'another schedule',
                    async () => !(await bench.lines()).some((line) => line.startsWith('split(')),
                    LONG,
                );
                const text = await bench.saved(file, wanted);
                assert.match(text, /^model "model.json"$/m, text);
                await bench.clean();
                await bench.shot(command.includes('Search') ? 'tuned' : 'chosen');
                await bench.focusText();
                await bench.key('Control+Z');
                await bench.saved(file, /^split\(/m);
            }
            await bench.command('View: Close Editor');
        },
    ],
];
