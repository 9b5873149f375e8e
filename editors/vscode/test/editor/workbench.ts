// A user's actions in VS Code as functions. They use only the keyboard, the mouse and visible text.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FrameLocator, Locator, Page } from 'playwright-core';

/**
 * Time limit for an element to appear, in milliseconds. On a shared machine the editor's processes may take
 * seconds to start.
 */
const PATIENCE = 60_000;
/** Time limit if a compiler runs, in milliseconds. */
const LONG = 120_000;

/** Waits until a condition holds, and fails with `what` if it does not. */
export async function until(what: string, holds: () => Promise<boolean>, patience = PATIENCE): Promise<void> {
    const end = Date.now() + patience;
    while (!(await holds())) {
        if (Date.now() > end) throw new Error(`not seen: ${what}`);
        await new Promise((done) => setTimeout(done, 50));
    }
}

/** The virtual text that the extension shows at the end of a line. */
export interface Gain {
    /** The line, counted from 1. */
    readonly line: number;
    readonly text: string;
    /** Whether it is shown as outdated. */
    readonly stale: boolean;
    /** Whether no part of it lies behind the editor's right edge. */
    readonly fits: boolean;
}

/** A part of a line in the editor; a long line is wrapped, and has several parts. */
interface Part {
    /** The line, counted from 1. */
    readonly line: number;
    readonly text: string;
    readonly gains: readonly Omit<Gain, 'line'>[];
}

export class Workbench {
    constructor(readonly page: Page, private readonly shots: string) {
        page.setDefaultTimeout(PATIENCE);
    }

    async load(url: string): Promise<void> {
        await this.page.goto(url);
        await this.page.locator('.monaco-workbench').waitFor();
        await this.page.locator('.explorer-folders-view').waitFor();
    }

    async shot(name: string): Promise<void> {
        await this.page.screenshot({ path: `${this.shots}/${name}.png` });
    }

    /** The texts of the status bar and of notifications. */
    async messages(): Promise<string> {
        const texts = await this.page.locator('.statusbar-item, .notification-list-item').allTextContents();
        return texts.map((text) => text.trim()).filter((text) => text !== '').join(' | ');
    }

    async key(...keys: string[]): Promise<void> {
        for (const key of keys) await this.page.keyboard.press(key);
    }

    async type(text: string): Promise<void> {
        await this.page.keyboard.type(text);
    }

    /** Runs a command by its title. */
    async command(title: string): Promise<void> {
        await this.key('F1');
        const input = this.page.locator('.quick-input-widget input').first();
        await input.waitFor();
        await input.fill(`>${title}`);
        // Other commands have the same prefix, and recently used ones come first.
        await this.page
            .locator('.quick-input-list .monaco-list-row .label-name')
            .getByText(title, { exact: true })
            .first()
            .click();
        await until(
            `the end of ${title}`,
            async () => (await input.isHidden()) || !(await input.inputValue()).includes(title),
        );
    }

    /** Opens a file of the folder. */
    async open(file: string): Promise<void> {
        await this.page
            .locator('.explorer-folders-view .monaco-list-row')
            .filter({ hasText: file })
            .dblclick();
        await this.page.locator('.tab.active').filter({ hasText: file }).waitFor();
        await this.editor.locator('.view-line').first().waitFor();
    }

    /** The text editor. */
    get editor(): Locator {
        return this.page.locator('.editor-instance .monaco-editor').first();
    }

    async focusText(): Promise<void> {
        await this.key('Control+1');
        await until(
            'the cursor in the text',
            async () => (await this.editor.locator('.native-edit-context:focus, textarea:focus').count()) > 0,
        );
    }

    /** Moves the cursor; line and column count from 1. */
    async goTo(line: number, column: number): Promise<void> {
        await this.focusText();
        await this.key('Control+G');
        const input = this.page.locator('.quick-input-widget input').first();
        await input.fill(`:${line}:${column}`);
        await this.key('Enter');
        await until(`the cursor in line ${line}`, async () =>
            (await this.place()).startsWith(`Ln ${line}, Col ${column}`),
        );
    }

    /** The cursor's position in the status bar. */
    async place(): Promise<string> {
        return (await this.page.locator('[id="status.editor.selection"]').textContent())?.trim() ?? '';
    }

    /** Selects a line's text from a column on and replaces it. */
    async rewrite(line: number, text: string): Promise<void> {
        await this.goTo(line, 1);
        await this.key('Shift+End');
        await this.page.keyboard.insertText(text);
    }

    /** Saves until the file has the expected text, and returns its text. */
    async saved(file: string, wanted: RegExp): Promise<string> {
        await this.focusText();
        let text = '';
        await until(`${wanted} in the file`, async () => {
            await this.key('Control+S');
            text = await readFile(file, 'utf8').catch(() => '');
            return wanted.test(text) && (await this.page.locator('.tab.active.dirty').count()) === 0;
        });
        return text;
    }

    /** Writes the folder's settings, as a user does, and returns to a file. */
    async set(folder: string, file: string, settings: Readonly<Record<string, unknown>>): Promise<void> {
        await this.focusText();
        await this.command('Preferences: Open Workspace Settings (JSON)');
        // The tab appears before the cursor does.
        await this.sees(this.page.locator('[id="status.editor.mode"]'), 'JSON');
        await this.focusText();
        const text = JSON.stringify(settings);
        await this.key('Control+A');
        await this.page.keyboard.insertText(text);
        // The editor closes brackets by itself.
        await this.key('Control+Shift+End', 'Delete');
        await this.saved(join(folder, '.vscode', 'settings.json'), new RegExp(`^\\${text}$`));
        await this.command('View: Close Editor');
        await this.page.locator('.tab.active').filter({ hasText: file }).waitFor();
    }

    /**
     * Repeats an action until its result is visible, each time with twice the time limit. The editor drops an
     * answer that arrives while the focus is elsewhere, and does not send the request again.
     */
    async insist(act: () => Promise<void>, wanted: Locator): Promise<void> {
        const end = Date.now() + LONG;
        for (let wait = 3_000; Date.now() + wait < end; wait *= 2) {
            await act();
            const seen = await wanted.first().waitFor({ timeout: wait }).then(() => true, () => false);
            if (seen) return;
        }
        await wanted.first().waitFor();
    }

    /** Opens the menu of quick fixes at the cursor; one of them contains `text`. */
    async quickFix(text: string): Promise<void> {
        const open = async (): Promise<void> => {
            await this.focusText();
            await this.key('Control+.');
        };
        await this.insist(open, this.page.locator('.action-widget').filter({ hasText: text }));
    }

    /** The parts of the lines of a text that fits the window, in order. */
    private async parts(): Promise<Part[]> {
        return this.editor.evaluate((editor) => {
            const top = (part: Element): number => Number.parseFloat((part as HTMLElement).style.top);
            const margin = [...editor.querySelectorAll('.margin-view-overlays > div')];
            // Only the first part of a line has the line's number beside it.
            const number = (part: Element): number => Number.parseInt(part.textContent ?? '');
            const numbers = new Map(margin.map((part) => [top(part), number(part)]));
            const right = editor.querySelector('.minimap, .editor-scrollable')?.getBoundingClientRect();
            const edge = Math.min(right?.right ?? 0, editor.getBoundingClientRect().right);
            let line = 0;
            return [...editor.querySelectorAll('.view-line')]
                .sort((a, b) => top(a) - top(b))
                .map((part) => {
                    const found = numbers.get(top(part)) ?? Number.NaN;
                    if (!Number.isNaN(found)) line = found;
                    const gains = [...part.querySelectorAll('span')].map((span) => {
                        const { content, fontStyle } = getComputedStyle(span, '::after');
                        const fits = span.getBoundingClientRect().right <= edge;
                        return { text: content, stale: fontStyle === 'italic', fits };
                    });
                    return { line, text: (part.textContent ?? '').replaceAll('\u00a0', ' '), gains };
                });
        });
    }

    /** The virtual text behind all lines of a text that fits the window. */
    async gains(): Promise<Gain[]> {
        const parts = await this.parts();
        return parts
            .flatMap(({ line, gains }) => gains.map((gain) => ({ line, ...gain })))
            .filter(({ text }) => /×|waits|later line|not measured/.test(text))
            .map((one) => ({ ...one, text: one.text.replace(/^"|"$/g, '') }));
    }

    /** The lines of a text that fits the window. */
    async lines(): Promise<string[]> {
        const lines: string[] = [];
        for (const { line, text } of await this.parts())
            lines[line - 1] = (lines[line - 1] ?? '') + text;
        return lines;
    }

    /** The lenses above the lines of a text that fits the window. */
    async lenses(): Promise<string[]> {
        return this.editor.locator('.codelens-decoration').allTextContents();
    }

    get suggestions(): Locator {
        return this.page.locator('.suggest-widget.visible .monaco-list-row');
    }

    /** The visible proposals at the cursor. */
    async proposals(): Promise<string[]> {
        await this.insist(() => this.key('Control+Space'), this.suggestions);
        return this.suggestions.locator('.label-name').allTextContents();
    }

    /** Accepts one of the visible proposals; waits until the list has closed or changed. */
    async accept(label: string, others?: string): Promise<void> {
        const row = (text: string): Locator =>
            this.suggestions.filter({ has: this.page.getByText(text, { exact: true }) }).first();
        await row(label).click();
        if (others !== undefined) await row(others).waitFor();
        else await until(`the end of ${label}`, async () => (await this.suggestions.count()) === 0);
    }

    squiggles(kind: 'error' | 'warning'): Locator {
        return this.editor.locator(`.squiggly-${kind}`);
    }

    async clean(): Promise<void> {
        await until('a text without errors', async () => (await this.squiggles('error').count()) === 0);
    }

    async broken(): Promise<void> {
        await this.squiggles('error').first().waitFor({ state: 'attached' });
    }

    /** The frame of a panel of the extension. */
    get panel(): FrameLocator {
        return this.page.frameLocator('iframe.webview.ready').frameLocator('#active-frame');
    }

    /** Waits for the result of a slow command; fails at an error message. */
    async brings(result: Locator): Promise<void> {
        const errors = this.notifications.filter({ has: this.page.locator('.codicon-error') });
        await until('the result of a command', async () => {
            if ((await errors.count()) > 0)
                throw new Error(`an error message: ${await errors.first().textContent()}`);
            return result.first().isVisible();
        }, LONG);
    }

    /** Waits until an element has a text. */
    async sees(where: Locator, text: string | RegExp): Promise<void> {
        await where.filter({ hasText: text }).first().waitFor();
    }

    get notifications(): Locator {
        return this.page.locator('.notification-list-item');
    }

    get hover(): Locator {
        return this.page.locator('.monaco-hover:not(.hidden)');
    }
}
