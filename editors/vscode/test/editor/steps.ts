// The steps of a user of the extension. A step fails if an expected text does not appear.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { CRASHES } from './crashes';
import { servers } from './processes';
import { SPEED } from './speed';
import { SWITCHES } from './switches';
import { TYPING } from './typing';
import { until, type Workbench } from './workbench';

export interface Context {
    readonly bench: Workbench;
    /** The folder that is open. */
    readonly folder: string;
}

export type Step = readonly [name: string, run: (context: Context) => Promise<void>];

const FILE = 'fast.sched';
/** Most milliseconds from a loaded webview to the first nest: the extension's part of the time. */
const DRAWN = 300;
const path = ({ folder }: Context): string => join(folder, FILE);

export const SETTINGS = {
    'workbench.colorTheme': 'Default Dark Modern',
    'workbench.startupEditor': 'none',
    'workbench.activityBar.location': 'hidden',
    'window.commandCenter': false,
    'breadcrumbs.enabled': false,
    'editor.minimap.enabled': false,
    'editor.fontSize': 13,
    'window.title': '${activeEditorShort}',
    'workbench.layoutControl.enabled': false,
    'files.autoSave': 'off',
    'telemetry.telemetryLevel': 'off',
    'extensions.autoCheckUpdates': false,
    'extensions.ignoreRecommendations': true,
};

export const STEPS: readonly Step[] = [
    [
        'a broken schedule has a squiggle with a message',
        async (context) => {
            const { bench } = context;
            await bench.open(FILE);
            await bench.broken();
            await bench.goTo(4, 11);
            const peek = bench.page
                .locator('.marker-widget')
                .filter({ hasText: '`parallel(batch)`: `tile` replaced `batch`' });
            await bench.insist(() => bench.key('F8'), peek);
            await bench.sees(peek, 'S0041');
            await bench.shot('problem');
            // The code links to its page.
            await peek.locator('a.code-link').click();
            await bench.page.locator('.tab.active').filter({ hasText: 'S0041' }).waitFor();
            await bench.sees(bench.panel.locator('h1'), 'S0041');
            await bench.shot('page');
            await bench.command('View: Close Editor');
            await bench.focusText();
            await bench.key('Escape');
        },
    ],
    [
        'the status bar has an entry for schedc while a schedule is shown',
        async ({ bench }) => {
            const status = bench.page.locator(
                '[id="schedc.schedc.schedc"], .statusbar-item[aria-label*="schedc"]',
            );
            const language = async (name: string): Promise<void> => {
                await bench.focusText();
                await bench.command('Change Language Mode');
                await bench.type(name);
                await bench.page
                    .locator('.quick-input-list .monaco-list-row')
                    .filter({ hasText: name })
                    .first()
                    .click();
            };
            await status.first().waitFor();
            await language('Plain Text');
            await until(
                'no schedc in the status bar',
                async () => (await status.count()) === 0 || !(await status.first().isVisible()),
            );
            await language('Schedule');
            await status.first().waitFor();
            await bench.broken();
        },
    ],
    [
        'the path of a model is completed',
        async (context) => {
            const { bench } = context;
            await bench.rewrite(1, 'model "');
            const suggestions = bench.page.locator('.suggest-widget.visible');
            await bench.insist(
                () => bench.key('Control+Space'),
                suggestions.filter({ hasText: 'model.json' }),
            );
            await bench.shot('path');
            await bench.key('Enter');
            await until(
                'the path',
                async () => (await bench.editor.textContent())?.includes('model.json') === true,
            );
            await bench.rewrite(1, 'model "model.json"');
            await bench.broken();
            await bench.saved(path(context), /^model "model.json"$/m);
        },
    ],
    [
        'a quick fix puts it right',
        async (context) => {
            const { bench } = context;
            await bench.goTo(4, 11);
            await bench.quickFix('block');
            await bench.shot('quick-fix');
            await bench.key('Enter');
            await bench.clean();
            await bench.saved(path(context), /^parallel\(block\)$/m);
        },
    ],
    [
        'hover shows the range of a loop',
        async ({ bench }) => {
            await bench.goTo(5, 13);
            await bench.insist(
                () => bench.command('Show or Focus Hover'),
                bench.hover.filter({ hasText: /0\.\.64/ }),
            );
            await bench.shot('hover');
            await bench.key('Escape');
        },
    ],
    [
        'completion offers legal directives, and Enter after one begins a line',
        async (context) => {
            const { bench } = context;
            await bench.goTo(5, 17);
            await bench.key('End', 'Enter');
            await bench.type('unrollW');
            const suggestions = bench.page.locator('.suggest-widget.visible');
            await bench.insist(
                () => bench.key('Control+Space'),
                suggestions.filter({ hasText: 'unrollWalk' }),
            );
            await bench.shot('completion');
            await bench.key('Enter');
            await until(
                'the directive',
                async () => (await bench.editor.textContent())?.includes('unrollWalk(') === true,
            );
            await bench.rewrite(6, 'unrollWalk(row, 4)');
            await bench.clean();
            await bench.saved(path(context), /^unrollWalk\(row, 4\)$/m);
        },
    ],
    [
        'an empty file begins with a menu, and its first directive is ranked with its model',
        async ({ bench, folder }) => {
            await bench.open('empty.sched');
            // The menu opens by itself.
            await bench.suggestions.first().waitFor();
            const menu = await bench.suggestions.locator('.label-name').allTextContents();
            assert.deepEqual(menu.slice(0, 3), ['model', 'target', 'example of a schedule']);
            await bench.shot('menu');
            await bench.accept('model', 'model.json');
            const models = await bench.suggestions.locator('.label-name').allTextContents();
            assert.deepEqual(models, ['model.json'], 'other files are no models');
            await bench.accept('model.json');
            await bench.key('Escape', 'End', 'Enter');
            const proposals = await bench.proposals();
            assert.equal(proposals[0], "schedc's own schedule", `${proposals}`);
            assert.match(proposals[1] ?? '', /^tile\(batch, b0, b1, \d+\)$/, `${proposals}`);
            await bench.accept(proposals[1] ?? '');
            await bench.key('Escape');
            await bench.saved(
                join(folder, 'empty.sched'),
                /^model "model.json"\ntile\(batch, b0, b1, \d+\)$/,
            );
            await bench.command('View: Close Editor');
        },
    ],
    [
        'in the first line, the list of proposals does not cover the signature',
        async ({ bench, folder }) => {
            await bench.open('empty.sched');
            await bench.focusText();
            await bench.key('Control+A', 'Delete', 'Escape');
            await bench.type('tile(');
            const signature = bench.page.locator('.parameter-hints-widget.visible');
            const list = bench.page.locator('.suggest-widget.visible');
            await bench.insist(() => bench.command('Trigger Parameter Hints'), signature);
            await bench.insist(() => bench.key('Control+Space'), list.filter({ hasText: 'batch' }));
            await bench.shot('signature');
            // The editor moves both when the second one opens.
            await until('the signature above the list', async () => {
                const [above, below] = await Promise.all([signature.boundingBox(), list.boundingBox()]);
                return above !== null && below !== null && above.y + above.height <= below.y;
            });
            await bench.key('Escape', 'Escape');
            await bench.rewrite(1, '');
            await bench.saved(join(folder, 'empty.sched'), /^$/);
            await bench.command('View: Close Editor');
        },
    ],
    [
        'rename changes every occurrence',
        async (context) => {
            const { bench } = context;
            await bench.goTo(5, 13);
            const input = bench.page.locator('.rename-box input');
            await bench.insist(() => bench.key('F2'), input);
            await input.fill('lane');
            await bench.key('Enter');
            await until(
                'the new name',
                async () => (await bench.editor.textContent())?.includes('unrollWalk(lane') === true,
            );
            const text = await bench.saved(path(context), /unrollWalk\(lane/);
            assert.equal(text.match(/\blane\b/g)?.length, 4, text);
            assert.doesNotMatch(text, /\brow\b/);
            await bench.clean();
        },
    ],
    [
        'formatting lays the text out',
        async (context) => {
            const { bench } = context;
            await bench.rewrite(6, 'unrollWalk( lane ,4 )');
            await bench.command('Format Document');
            await until(
                'the layout',
                async () => (await bench.editor.textContent())?.includes('unrollWalk(lane,') === true,
            );
            await bench.saved(path(context), /^unrollWalk\(lane, 4\)$/m);
        },
    ],
    [
        'the nest panel shows the loops',
        async ({ bench }) => {
            await bench.focusText();
            const since = performance.now();
            await bench.key('Control+K', 'n');
            await bench.panel.locator('#file').waitFor({ state: 'attached' });
            const loaded = performance.now();
            const loops = bench.panel.locator('.loop');
            await loops.nth(2).waitFor();
            const load = Math.round(loaded - since);
            const draw = Math.round(performance.now() - loaded);
            const came = (await bench.panel.locator('#first').count()) > 0 ? 'in the page' : 'by a message';
            console.log(`         the first nest panel: ${load} ms to load the webview`);
            console.log(`         ${draw} ms to draw the nest, which came ${came}`);
            assert.ok(draw <= DRAWN, `${draw} ms from the loaded webview to the first nest`);
            const names = await bench.panel.locator('text.name').allTextContents();
            assert.deepEqual(names, ['block', 'tree', 'lane']);
            await bench.sees(bench.panel.locator('text.range'), '0..n_rows step 64');
            await bench.sees(bench.panel.locator('text.range'), '0..100');
            await bench.sees(bench.panel.locator('.badge'), 'interleave 8');
            await bench.sees(bench.panel.locator('#order'), 'exact');
            await bench.shot('nest-dark');
        },
    ],
    [
        'the picture follows the text',
        async ({ bench }) => {
            await bench.rewrite(2, 'tile(batch, block, lane, 32)');
            await bench.sees(bench.panel.locator('text.range'), '0..n_rows step 32');
            await bench.sees(bench.panel.locator('text.range'), '0..32');
            await bench.shot('nest-tile');
        },
    ],
    [
        'the directive at the cursor marks its loops',
        async ({ bench }) => {
            await bench.goTo(2, 3);
            await until(
                'two marked loops',
                async () => (await bench.panel.locator('.loop.marked').count()) === 2,
            );
            await bench.goTo(5, 3);
            await until(
                'a marked badge',
                async () => (await bench.panel.locator('.badge.marked').count()) === 1,
            );
            assert.equal(await bench.panel.locator('.loop.marked').count(), 0);
        },
    ],
    [
        'a click on a loop selects its directive, and a click on a badge its annotation',
        async ({ bench }) => {
            await bench.panel.locator('.loop text.name').filter({ hasText: 'block' }).click();
            await until('the selected tile', async () =>
                (await bench.place()).startsWith('Ln 2, Col 29 (28 selected)'),
            );
            await bench.panel.locator('.badge').filter({ hasText: 'unrollWalk' }).click();
            await until('the selected unrollWalk', async () => (await bench.place()).startsWith('Ln 6'));
        },
    ],
    [
        'keys reach the loops',
        async ({ bench }) => {
            await bench.panel.locator('.loop text.name').filter({ hasText: 'tree' }).click();
            const focused = async (): Promise<string | null> =>
                bench.panel.locator('.loop:focus > text.name').textContent();
            assert.equal(await focused(), 'tree');
            await bench.key('ArrowDown');
            assert.equal(await focused(), 'lane');
            await bench.key('ArrowLeft', 'ArrowLeft');
            assert.equal(await focused(), 'block');
            await bench.key('End', 'Tab');
            assert.match((await bench.panel.locator('.badge:focus').textContent()) ?? '', /interleave/);
            await bench.key('Enter');
            await until('the selected interleave', async () => (await bench.place()).startsWith('Ln 5'));
        },
    ],
    [
        'while a line has errors the picture shows the other lines, with a fix below it',
        async (context) => {
            const { bench } = context;
            await bench.rewrite(4, 'parallel(batch)');
            await bench.broken();
            await bench.panel.locator('body.partial').waitFor();
            await bench.sees(bench.panel.locator('#state'), /line 4(, which)? has errors/);
            assert.equal(await bench.panel.locator('.loop').count(), 3);
            const fix = bench.panel.locator('.fix').filter({ hasText: 'block' }).first();
            await fix.waitFor();
            await bench.shot('nest-partial');
            await bench.focusText();
            await bench.command('schedc: Build a Library');
            const hasText = 'S0041: `parallel(batch)`: `tile` replaced `batch`';
            const refused = bench.notifications.filter({ hasText });
            await refused.waitFor();
            assert.doesNotMatch((await refused.textContent()) ?? '', /[│╭╰─]/, 'a message is no drawing');
            await bench.sees(refused.locator('.monaco-button'), 'Explain S0041');
            await bench.goTo(1, 1);
            await bench.shot('refused');
            await refused.locator('.monaco-button').filter({ hasText: 'Show the Place' }).click();
            await until('the cursor at the finding', async () => (await bench.place()).startsWith('Ln 4'));
            await bench.command('Notifications: Clear All Notifications');
            await fix.click();
            await bench.clean();
            await bench.panel.locator('body:not(.partial)').waitFor();
            await bench.saved(path(context), /^parallel\(block\)$/m);
        },
    ],
    [
        'at a line with errors the picture shows the nest before it, and then marks its parts',
        async (context) => {
            const { bench } = context;
            await bench.rewrite(4, 'vectorize(block, 16)');
            await bench.broken();
            await bench.goTo(3, 1);
            await bench.key('ArrowDown');
            const state = bench.panel.locator('#state');
            await bench.sees(state, 'before line 4, which has errors');
            await until('no badge', async () => (await bench.panel.locator('.badge').count()) === 0);
            await bench.shot('nest-refused');
            await bench.key('ArrowDown');
            await bench.sees(state, 'after line 5, line 4 has errors');
            await bench.sees(bench.panel.locator('.badge.faulty'), 'vectorize 16');
            await bench.rewrite(4, 'parallel(block)');
            await bench.clean();
            await bench.saved(path(context), /^parallel\(block\)$/m);
        },
    ],
    [
        'loops are moved and tiled by hand',
        async (context) => {
            const { bench } = context;
            await bench.goTo(1, 1);
            const name = (text: string) => bench.panel.locator('.loop text.name').filter({ hasText: text });
            await bench.panel.locator('.handle').first().waitFor();
            await name('tree').dragTo(name('block'));
            await bench.saved(path(context), /^reorder\(tree, block\)$/m);
            await until(
                'the trees outside',
                async () => (await bench.panel.locator('text.name').allTextContents())[0] === 'tree',
            );
            await bench.shot('nest-moved');
            await bench.focusText();
            await bench.key('Control+Z');
            await until(
                'the blocks outside',
                async () => (await bench.panel.locator('text.name').allTextContents())[0] === 'block',
            );
            await bench.goTo(1, 1);
            await bench.panel.locator('.handle[aria-label="tile tree"]').click();
            await bench.sees(bench.page.locator('.quick-input-list'), /tile\(tree, t0, t1, \d+\)/);
            await bench.shot('nest-tile-size');
            await bench.key('Escape');
            await bench.clean();
            const text = await bench.saved(path(context), /^unrollWalk/m);
            assert.doesNotMatch(text, /reorder\(tree, block\)/);
        },
    ],
    [
        'the picture shows the nest at the cursor while the user types, and the whole nest after a jump',
        async ({ bench }) => {
            await bench.goTo(3, 1);
            await until('the whole', async () => (await bench.panel.locator('.badge').count()) > 0);
            await bench.key('ArrowUp');
            await bench.sees(bench.panel.locator('#state'), 'after line 2');
            await until('no facts yet', async () => (await bench.panel.locator('.badge').count()) === 0);
            await bench.shot('nest-at-cursor');
            await bench.panel.locator('#follow').click();
            await until('the whole again', async () => (await bench.panel.locator('.badge').count()) > 0);
            await bench.panel.locator('#follow').click();
            await bench.goTo(1, 1);
        },
    ],
    [
        'stepping forward and back through a schedule marks the changes',
        async ({ bench }) => {
            await bench.panel.locator('#forward').click();
            await bench.sees(bench.panel.locator('#state'), /after line 2 \(1 of \d\), removed: batch/);
            await bench.panel.locator('body.stepping').waitFor();
            assert((await bench.panel.locator('.loop.marked').count()) >= 2, 'the loops of the tile');
            await bench.shot('nest-step');
            await bench.panel.locator('#forward').click();
            await bench.sees(bench.panel.locator('#state'), /after line 3 \(2 of \d\)/);
            await bench.panel.locator('#forward').click();
            await bench.sees(bench.panel.locator('#state'), /after line 4 \(3 of \d\)/);
            assert.equal(await bench.panel.locator('.loop.marked').count(), 0, 'parallel makes no loop');
            assert.equal(await bench.panel.locator('.badge.marked').count(), 1);
            await bench.panel.locator('#back').click();
            await bench.sees(bench.panel.locator('#state'), /after line 3 \(2 of \d\)/);
            await bench.focusText();
            await until('the directive', async () => (await bench.place()).startsWith('Ln 3'));
            await bench.key('ArrowDown');
            await until('no step', async () => (await bench.panel.locator('body.stepping').count()) === 0);
            await bench.goTo(1, 1);
        },
    ],
    [
        'stages stay up to date beside the text',
        async (context) => {
            const { bench } = context;
            await bench.goTo(4, 3);
            await bench.command('schedc: Show the Stages Live');
            await bench.brings(bench.panel.locator('#mir .line').filter({ hasText: 'parallel block' }));
            await bench.sees(bench.panel.locator('#mir .line.marked'), 'parallel block');
            await bench.rewrite(2, 'tile(batch, block, lane, 16)');
            await bench.sees(bench.panel.locator('#mir .line.changed'), 'step 16');
            await bench.panel.locator('#asm summary').click();
            await bench.brings(bench.panel.locator('#asm .line').filter({ hasText: 'kernel.raw:' }));
            await bench.shot('stages');
            await bench.rewrite(2, 'tile(batch, block)');
            await bench.panel.locator('#mir.stale').waitFor();
            await bench.rewrite(2, 'tile(batch, block, lane, 32)');
            await bench.panel.locator('#mir:not(.stale)').waitFor();
            await bench.sees(bench.panel.locator('#mir .line.changed'), 'step 32');
            await bench.panel.locator('#mir .line.known').filter({ hasText: 'parallel block' }).click();
            await until('the directive', async () => (await bench.place()).startsWith('Ln 2'));
            await bench.saved(path(context), /^tile\(batch, block, lane, 32\)$/m);
            await bench.command('schedc: Show the Loop Nest');
            await bench.panel.locator('.loop').first().waitFor();
        },
    ],
    [
        'the picture is readable in a light theme',
        async ({ bench }) => {
            const background = async (): Promise<string> =>
                bench.panel.locator('body').evaluate((body) => getComputedStyle(body).backgroundColor);
            const dark = await background();
            const toggle = 'Preferences: Toggle between Light/Dark Themes';
            await bench.command(toggle);
            await until('the light theme', async () => (await background()) !== dark);
            await bench.shot('nest-light');
            await bench.command(toggle);
            await until('the dark theme', async () => (await background()) === dark);
        },
    ],
    [
        'a stage of the compiler opens beside the text',
        async ({ bench }) => {
            await bench.focusText();
            await bench.command('schedc: Show a Stage of the Compiler');
            await bench.sees(bench.page.locator('.quick-input-list'), 'mir');
            await bench.type('mir');
            await bench.key('Enter');
            await bench.brings(bench.page.locator('.tab').filter({ hasText: 'fast.sched.mir' }));
            const stage = bench.page
                .locator('.editor-instance .monaco-editor')
                .filter({ hasText: /walk\sarray/ });
            await stage.first().waitFor();
            await bench.shot('mir');
        },
    ],
    ...SPEED,
    ...SWITCHES,
    ...TYPING,
    [
        'a library is built',
        async ({ bench }) => {
            await bench.focusText();
            await bench.command('schedc: Build a Library');
            await bench.brings(bench.notifications.filter({ hasText: /wrote .*fast\.so/ }));
            await bench.command('Notifications: Clear All Notifications');
        },
    ],
    [
        'the message for a missing schedc names its path, and the server starts once the path is right',
        async (context) => {
            const { bench, folder } = context;
            const status = bench.page.locator('.statusbar-item');
            await bench.sees(status, 'schedc');
            await bench.set(folder, FILE, { 'schedc.path': 'no/such/schedc' });
            await bench.notifications.filter({ hasText: 'no/such/schedc, which is no program' }).waitFor();
            assert.equal(await bench.notifications.count(), 1, 'one message is enough');
            await bench.shot('missing');
            await bench.command('Notifications: Clear All Notifications');
            await bench.set(folder, FILE, {});
            await bench.focusText();
            await bench.rewrite(4, 'parallel(batch)');
            await bench.broken();
            const before = await servers();
            assert.equal(before.length, 1, `servers: ${before}`);
            await bench.command('schedc: Restart the Language Server');
            // Findings vanish too briefly to be seen: a new server starts and reports them again.
            await until('another server', async () => {
                const now = await servers();
                return now.length === 1 && now[0] !== before[0];
            });
            for (const mistake of [false, true]) {
                await bench.rewrite(4, mistake ? 'parallel(batch)' : 'parallel(block)');
                await (mistake ? bench.broken() : bench.clean());
            }
            await bench.rewrite(4, 'parallel(block)');
            await bench.clean();
            await bench.saved(path(context), /^parallel\(block\)$/m);
        },
    ],
    ...CRASHES,
];
