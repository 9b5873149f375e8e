// A new user's first schedule, in a real VS Code: `trial.cjs VSCODE VSIX MODEL...`.
//
// Starts from an empty file and only accepts completions, in the order of the list. Reads the ledger and
// removes lines that make the schedule slower or do nothing. Prints the ratio to the automatic schedule.
// Fails if the result is more than a tenth slower, or takes longer than five minutes. It measures times and
// therefore needs an idle machine.

import { execFileSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { chromium, type Browser } from 'playwright-core';
import { readMeasured } from '../../src/bench/measured';
import { FLAGS, SHOTS } from './browser';
import { Code } from './code';
import { SETTINGS } from './steps';
import { type Gain, until, Workbench } from './workbench';

/** Milliseconds for a whole trial. */
const TIME = 5 * 60_000;
/** Largest ratio of the schedule's time to the automatic schedule's. */
const MOST = 1.1;
/** Ratio of times at which a user is content and stops. */
const CONTENT = 1.02;
/** Minimum gain for which a user keeps a proposal, except the first one. */
const LEAST_GAIN = 1.02;
/** Minimum gain for which a user keeps the first proposal: later lines may need it, even if it is slower. */
const HARMLESS = 0.9;
/** Number of consecutive proposals without gain after which a user gives up. */
const PATIENCE = 6;
const FILE = 'first.sched';

/** The ratio of the schedule's time to the automatic schedule's, from the lens above the first directive. */
function ratio(lenses: readonly string[]): number | null {
    const times = lenses
        .map((text) => /([\d.]+) µs per row, schedc's own ([\d.]+) µs/.exec(text))
        .find((found) => found !== null);
    return times ? Number(times[1]) / Number(times[2]) : null;
}

const modelFile = (name: string): string => `${name}.json`;

class Trial {
    private readonly since = performance.now();
    private shots = 0;

    constructor(private readonly bench: Workbench, private readonly name: string) {}

    private get file(): string {
        return modelFile(this.name);
    }

    /** Milliseconds since the editor appeared. */
    get seconds(): number {
        return (performance.now() - this.since) / 1000;
    }

    private log(text: string): void {
        console.log(`${this.name} ${this.seconds.toFixed(1).padStart(6)} s  ${text}`);
    }

    private shot(): Promise<void> {
        return this.bench.shot(`trial-${this.name}-${String(++this.shots).padStart(2, '0')}`);
    }

    /** Names the model by completion alone, in an empty file. */
    private async model(): Promise<void> {
        const { bench } = this;
        await bench.focusText();
        await bench.proposals();
        await this.shot();
        await bench.type('mod');
        // VS Code then opens the list of the models beside the schedule.
        await bench.accept('model', this.file);
        await this.shot();
        await bench.accept(this.file);
        await bench.key('Escape', 'End', 'Enter');
        this.log((await bench.lines()).join('\n'));
    }

    /**
     * Accepts the proposal at an index of the list, on the last line; returns it, or null at the end of the
     * list.
     */
    private async take(at: number): Promise<string | null> {
        const { bench } = this;
        const all = (await bench.proposals()).filter((label) => /^\w+\(.*\)$/.test(label));
        const chosen = all[at];
        if (chosen === undefined) return null;
        await bench.accept(chosen);
        // Keeps the arguments, which are legal.
        await bench.key('Escape', 'Escape', 'End');
        return chosen;
    }

    /** Measures the ratio again: a good ratio in the ledger may be noise, at which the user would stop. */
    async judged(folder: string, model: string): Promise<number> {
        const file = join(folder, FILE);
        const text = await this.bench.saved(file, /\)\s*$/);
        const words = [
            'bench',
            model,
            '-s',
            file,
            '--baseline',
            '--batch',
            '1024',
            '--threads',
            '1',
            '--json',
        ];
        const [point] = readMeasured(JSON.parse(execFileSync('schedc', words, { encoding: 'utf8' }))).points;
        if (point?.chosen === undefined) throw new Error('the measurement has no result');
        const found = point.micros / point.chosen;
        this.log(
            `${point.micros.toFixed(3)} µs per row, schedc's own ${point.chosen.toFixed(3)} µs: ` +
                `${found.toFixed(2)} times, by\n${text.trim()}`,
        );
        return found;
    }

    private async ledger(lines: number): Promise<Gain[]> {
        const { bench } = this;
        await bench.command('schedc: Measure What Each Directive Gains');
        const complete = (gains: Gain[]): boolean =>
            gains.some(({ line, stale }) => line === lines && !stale);
        await until(`a gain at the end of line ${lines}`, async () => complete(await bench.gains()), 30_000);
        return bench.gains();
    }

    async run(): Promise<void> {
        const { bench } = this;
        await bench.open(FILE);
        await this.model();
        let [line, at] = [2, 0];
        while (at < PATIENCE && this.seconds * 1000 < TIME) {
            const taken = await this.take(at);
            if (taken === null) break;
            await bench.clean();
            const gains = await this.ledger(line);
            const own = gains.find((gain) => gain.line === line)?.text ?? '';
            await this.shot();
            const gain = /([\d.]+)×/.exec(own);
            // Directives without an effect yet have no gain, and the first directive may pay off only later.
            const keeps = gain === null || Number(gain[1]) >= (at === 0 ? HARMLESS : LEAST_GAIN);
            this.log(`${keeps ? 'keeps' : 'drops'} ${taken}: ${own}`);
            if (keeps) {
                [line, at] = [line + 1, 0];
                if ((ratio(await bench.lenses()) ?? Number.POSITIVE_INFINITY) <= CONTENT) break;
                await bench.key('End', 'Enter');
            } else {
                at += 1;
                await bench.goTo(line, 1);
                await bench.key('Shift+End', 'Delete');
            }
        }
        this.log('is content');
    }
}

/** A folder with an empty schedule and a model of the given name. */
async function prepare(home: string, model: string, name: string): Promise<string> {
    const folder = join(home, 'workspace');
    await mkdir(join(home, 'user', 'User'), { recursive: true });
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, FILE), '');
    await cp(model, join(folder, modelFile(name)));
    await writeFile(join(home, 'user', 'User', 'settings.json'), JSON.stringify(SETTINGS));
    return folder;
}

async function trial(vscode: string, vsix: string, model: string, browser: Browser): Promise<boolean> {
    const home = await mkdtemp(join(tmpdir(), 'schedc-trial-'));
    const name = basename(dirname(model));
    const folder = await prepare(home, model, name);
    const code = await Code.start(vscode, vsix, home);
    try {
        const page = await browser.newPage({ viewport: { width: 1200, height: 640 } });
        const bench = new Workbench(page, SHOTS);
        await bench.load(code.open(folder));
        const trial = new Trial(bench, name);
        const factor = await trial
            .run()
            .then(() => trial.judged(folder, model))
            .catch(async (error: unknown) => {
                await bench.shot('failed');
                console.error(`see ${SHOTS}/failed.png; messages of the editor: ${await bench.messages()}`);
                throw error;
            });
        await page.close();
        return factor <= MOST && trial.seconds * 1000 <= TIME;
    } finally {
        await code.stop();
        await rm(home, { recursive: true, force: true });
    }
}

async function main([vscode, vsix, ...models]: string[]): Promise<void> {
    if (vscode === undefined || vsix === undefined || models.length === 0)
        throw new Error('VSCODE VSIX MODEL...');
    await mkdir(SHOTS, { recursive: true });
    const browser = await chromium.launch({
        executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
        args: FLAGS,
    });
    try {
        for (const model of models) if (!(await trial(vscode, vsix, model, browser))) process.exitCode = 1;
    } finally {
        await browser.close();
    }
}

main(process.argv.slice(2)).catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
});
