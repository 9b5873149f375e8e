// Drives the extension in a real VS Code: `main.cjs VSCODE VSIX EXAMPLE [pictures]`. EXAMPLE is the folder of
// a model with rows. `pictures` takes the pictures of the documents instead of running the tests. Screenshots
// go to artefacts/.

import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Browser } from 'playwright-core';
import { FLAGS, SHOTS } from './browser';
import { Code } from './code';
import { BEGUN, PICTURES, VECTORS } from './pictures';
import { SETTINGS, type Step, STEPS } from './steps';
import { Workbench } from './workbench';

const BROKEN = `model "model.json"
tile(batch, block, row, 64)
reorder(block, tree, row)
parallel(batch)
interleave(row, 8)
`;

/** A legal schedule with several kinds of directives. */
const BLOCKS = `model "model.json"
param ROWS = 64 in {32, 64, 128}

// Early and late trees walk differently.
tile(batch, block, row, ROWS)
reorder(block, tree, row)
split(tree, early, late, num_trees / 4)
parallel(block)
cache(block)
interleave(early.row, 8)
vectorize(late.row, 16)
unrollWalk(early, 3)
`;

/** A schedule with long hints: its last line makes two loops. */
const TWO_LOOPS = `model "model.json"
split(tree, early, late, 30)
tile(late, late_block, late_tree, 25)
`;

/** Creates a folder with a schedule that has errors, and the settings of a user; returns the folder. */
async function prepare(home: string, example: string): Promise<string> {
    const folder = join(home, 'workspace');
    const user = join(home, 'user', 'User');
    await mkdir(folder, { recursive: true });
    await mkdir(user, { recursive: true });
    await writeFile(join(folder, 'fast.sched'), BROKEN);
    await writeFile(join(folder, 'blocks.sched'), BLOCKS);
    await writeFile(join(folder, 'empty.sched'), '');
    await writeFile(join(folder, 'hints.sched'), TWO_LOOPS);
    await writeFile(join(folder, 'other.json'), '{}');
    await writeFile(join(folder, 'vectors.sched'), VECTORS);
    await writeFile(join(folder, 'begun.sched'), BEGUN);
    await cp(join(example, 'breast_cancer.json'), join(folder, 'model.json'));
    await cp(join(example, 'rows.csv'), join(folder, 'rows.csv'));
    await writeFile(join(user, 'settings.json'), JSON.stringify(SETTINGS));
    return folder;
}

/** Runs all steps in a new folder and a new editor. */
async function drive(vscode: string, vsix: string, example: string, all: readonly Step[]): Promise<void> {
    const home = await mkdtemp(join(tmpdir(), 'schedc-vscode-'));
    const folder = await prepare(home, example);
    const code = await Code.start(vscode, vsix, home);
    try {
        const browser = await chromium.launch({
            executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
            args: FLAGS,
        });
        try {
            await steps(browser, code.open(folder), folder, all);
        } finally {
            await browser.close();
        }
    } finally {
        await code.stop();
    }
    await rm(home, { recursive: true, force: true });
}

/** Runs the steps one by one. Stops at the first failure, and takes a screenshot. */
async function steps(browser: Browser, url: string, folder: string, all: readonly Step[]): Promise<void> {
    const page = await browser.newPage({ viewport: { width: 1280, height: 760 } });
    const bench = new Workbench(page, SHOTS);
    await bench.load(url);
    for (const [name, run] of all) {
        const since = performance.now();
        try {
            await run({ bench, folder });
        } catch (error) {
            await bench.shot('failed');
            console.error(`FAILED  ${name}; see ${SHOTS}/failed.png`);
            console.error(`messages of the editor: ${await bench.messages()}`);
            throw error;
        }
        console.log(`ok ${((performance.now() - since) / 1000).toFixed(1).padStart(5)} s  ${name}`);
    }
}

async function main([vscode, vsix, example, what]: string[]): Promise<void> {
    if (vscode === undefined || vsix === undefined || example === undefined)
        throw new Error('VSCODE VSIX EXAMPLE [pictures]');
    const all = what === 'pictures' ? PICTURES : STEPS;
    await rm(SHOTS, { recursive: true, force: true });
    await mkdir(SHOTS, { recursive: true });
    try {
        await drive(vscode, vsix, example, all);
    } catch (error) {
        // Retries once: browser and editor lose keys and answers when the machine stalls, while a bug of
        // schedc fails again.
        console.error(error instanceof Error ? error.message : error);
        console.error('second try, from the start');
        await drive(vscode, vsix, example, all);
    }
}

main(process.argv.slice(2)).catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
});
