// Takes the pictures of the documents: the screenshot `readme-NAME.png` becomes `images/NAME.png`.

import type { Step } from './steps';
import { until, type Workbench } from './workbench';

/** Time limit of a measurement on a shared machine, in milliseconds. */
const LONG = 120_000;

/** A schedule like fast ones, in which most lines have a gain. */
export const VECTORS = `model "model.json"
param ROWS = 256 in {64, 128, 256, 512}

tile(batch, b0, b1, ROWS)
reorder(b0, tree, b1)
parallel(b0)
cache(b0)
representation(preorder)
vectorize(b1, 64)
interleave(b1, 4)
`;

/** The beginning of such a schedule, for the picture of completion. */
export const BEGUN = `model "model.json"
tile(batch, b0, b1, 256)
reorder(b0, tree, b1)
`;

/** Opens a single file; the side bar is shown only for that. */
async function open(bench: Workbench, file: string): Promise<void> {
    await bench.open(file);
    await bench.command('View: Toggle Primary Side Bar Visibility');
}

/** Closes all editors and panels. */
async function close(bench: Workbench, file: string): Promise<void> {
    await bench.command('File: Revert File');
    await bench.page.locator('.tab.active:not(.dirty)').filter({ hasText: file }).waitFor();
    await bench.command('View: Close All Editors');
    await bench.command('View: Toggle Primary Side Bar Visibility');
}

const size = (bench: Workbench, height: number): Promise<void> =>
    bench.page.setViewportSize({ width: 1200, height });

const measured = (bench: Workbench): Promise<void> =>
    until('gains', async () => (await bench.gains()).some(({ text }) => /\d×/.test(text)), LONG);

export const PICTURES: readonly Step[] = [
    ['completion', async ({ bench }) => {
        await open(bench, 'begun.sched');
        await size(bench, 420);
        await bench.goTo(4, 1);
        await bench.proposals();
        const nest = bench.page
            .locator('.suggest-details-container')
            .filter({ hasText: 'The nest after it' });
        await bench.insist(() => bench.key('Control+Space'), nest);
        await bench.shot('readme-completion');
        await bench.key('Escape', 'Escape');
        await close(bench, 'begun.sched');
    }],
    ['the ledger at the ends of the lines', async ({ bench }) => {
        await open(bench, 'vectors.sched');
        await size(bench, 320);
        await bench.command('schedc: Measure What Each Directive Gains');
        await measured(bench);
        await bench.goTo(1, 1);
        await bench.shot('readme-ledger');
    }],
    ['values of a number', async ({ bench }) => {
        await size(bench, 580);
        await bench.editor
            .locator('.codelens-decoration a')
            .filter({ hasText: 'try values of ROWS' })
            .first()
            .click();
        await bench.brings(
            bench.page.locator('.quick-input-list .monaco-list-row').filter({ hasText: 'µs' }),
        );
        await bench.shot('readme-sweep');
        await bench.key('Escape');
    }],
    ['the speed', async ({ bench }) => {
        await size(bench, 440);
        await bench.focusText();
        await bench.command('schedc: Measure the Speed');
        await bench.page
            .locator('.quick-input-list .monaco-list-row')
            .filter({ hasText: 'Rows drawn at random' })
            .click();
        await bench.brings(bench.panel.locator('.chart .point'));
        await bench.goTo(1, 1);
        await bench.shot('readme-speed');
    }],
    ['bytes against caches, and idle lanes', async ({ bench }) => {
        await bench.rewrite(2, 'param ROWS = 200');
        await bench.command('schedc: Show the Loop Nest');
        await bench.sees(bench.panel.locator('.loop'), 'idle');
        await bench.goTo(1, 1);
        await bench.shot('readme-lanes');
        await bench.rewrite(2, 'param ROWS = 256 in {64, 128, 256, 512}');
    }],
    ['the stages', async ({ bench }) => {
        await size(bench, 800);
        await bench.command('schedc: Show the Stages Live');
        await bench.brings(bench.panel.locator('#mir .line').filter({ hasText: 'parallel b0' }));
        await bench.panel.locator('#asm summary').click();
        await bench.brings(bench.panel.locator('#asm .line').filter({ hasText: 'kernel.raw:' }));
        await bench.rewrite(10, 'interleave(b1, 2)');
        await bench.panel.locator('#mir .line.changed').first().waitFor();
        await bench.panel.locator('#asm:not(.stale)').waitFor();
        await bench.goTo(9, 3);
        await bench.panel.locator('#mir .line.marked').first().waitFor();
        await bench.shot('readme-stages');
        await bench.focusText();
        await close(bench, 'vectors.sched');
    }],
    ['the picture of the nest, in both themes, and mistakes', async ({ bench }) => {
        await open(bench, 'blocks.sched');
        await size(bench, 500);
        await bench.command('schedc: Show the Loop Nest');
        await bench.panel.locator('.badge').filter({ hasText: 'vectorize 16' }).waitFor();
        await bench.goTo(7, 3);
        await until(
            'two marked loops',
            async () => (await bench.panel.locator('.loop.marked').count()) === 2,
        );
        await bench.shot('readme-nest');
        await bench.command('Preferences: Toggle between Light/Dark Themes');
        await bench.page.locator('.monaco-workbench.vs').waitFor();
        // The colours of the text and of the status bar change with a delay.
        await bench.page.waitForTimeout(1500);
        await bench.shot('readme-light');
        await bench.command('Preferences: Toggle between Light/Dark Themes');
        await bench.rewrite(8, 'parallel(batch)');
        await bench.broken();
        await bench.goTo(8, 11);
        await bench.quickFix('block');
        await bench.panel.locator('.fix').first().waitFor();
        await bench.shot('readme-problem');
    }],
];
