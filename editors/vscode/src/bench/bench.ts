// Measures schedules, and shows a chart in a panel and the speed above the text.

import { basename } from 'node:path';
import * as vscode from 'vscode';
import { page } from '../page';
import { closeUnrestored } from '../panels';
import { faultOf, isOfData, Remediable } from '../refusal';
import type { Server } from '../server';
import { type Calls, DEFAULT, describeCalls, readCalls, showCalls } from './calls';
import { headline, readMeasured, type Measured } from './measured';
import type { FromBench, ToBench } from './messages';
import { type Choice, nameOf, Rows } from './rows';

const BODY = `<header>
<span id="file"></span><span>time for a row, with <button id="choose" title="Choose other rows"></button>,
<button id="calls" title="Choose the sizes of calls, and threads"></button></span>
<button id="again">Measure again</button>
</header>
<div id="chart"></div>
<p id="note"></p>`;

/** A measurement of one state of a schedule. */
interface Result {
    readonly measured: Measured;
    /** The file with the rows; null if they are random. */
    readonly rows: string | null;
    readonly version: number;
}

/** The state of the panel, kept over a reload of the window. */
interface Shown {
    readonly uri: string;
    /** The file with the rows; null if they are random. */
    readonly rows: string | null;
    readonly message: ToBench;
}

const KIND = 'schedc.bench';
const LAST = 'bench:last';

export class Bench implements vscode.CodeLensProvider, vscode.Disposable {
    private readonly results = new Map<string, Result>();
    private readonly rows: Rows;
    private readonly changed = new vscode.EventEmitter<void>();
    readonly onDidChangeCodeLenses = this.changed.event;
    private panel: vscode.WebviewPanel | null = null;
    private shown: Shown | null;
    private readonly subscriptions = [
        vscode.languages.registerCodeLensProvider({ language: 'sched' }, this),
        vscode.workspace.onDidCloseTextDocument(({ uri }) => this.results.delete(uri.toString())),
        vscode.window.registerWebviewPanelSerializer(KIND, {
            deserializeWebviewPanel: async (panel) => {
                if (this.panel === null) this.adopt(panel);
                else panel.dispose();
            },
        }),
    ];

    constructor(
        private readonly extension: vscode.Uri,
        private readonly server: Server,
        private readonly memory: vscode.Memento,
    ) {
        this.rows = new Rows(memory);
        this.shown = memory.get<Shown>(LAST) ?? null;
    }

    /**
     * Measures a schedule and shows the result with the previous result. `anew` prompts again for the rows or
     * the calls.
     */
    async run(document: vscode.TextDocument, anew: 'rows' | 'calls' | null = null): Promise<void> {
        // The user need not choose rows for a schedule that cannot be measured.
        const fault = faultOf(document.uri.toString(), vscode.languages.getDiagnostics(document.uri));
        if (fault !== null) throw fault;
        const rows = await this.rows.of(document, anew === 'rows');
        if (rows === null) return;
        const calls = await this.calls(document, anew === 'calls');
        if (calls === null) return;
        const uri = document.uri.toString();
        const { version } = document;
        const what = { uri, ...calls, baseline: true, ...(rows.file && { input: rows.file.fsPath }) };
        const answer = await this.measure(document, rows, what);
        if (answer === null) return;
        const measured = readMeasured(answer);
        if (measured.points.length === 0) throw new Error('the measurement has no result.');
        await this.rows.keep(document, rows);
        const source = rows.file?.toString() ?? null;
        const earlier = this.before(uri, source);
        this.results.set(uri, { measured, rows: source, version });
        this.changed.fire();
        const message = {
            file: basename(document.uri.path),
            rows: nameOf(rows),
            calls: describeCalls(calls),
            now: measured,
            earlier,
        };
        this.shown = { uri, rows: source, message };
        void this.memory.update(LAST, this.shown);
        await this.show();
    }

    /**
     * The server's answer; null if the user cancels. If the file with the rows does not fit, the error offers
     * to choose other rows.
     */
    private async measure(document: vscode.TextDocument, rows: Choice, what: object): Promise<unknown> {
        const params = { command: 'schedc.bench', arguments: [what] };
        try {
            return await this.server.work<unknown>('measuring', 'workspace/executeCommand', params);
        } catch (error) {
            if (rows.file === null || !isOfData(error)) throw error;
            throw new Remediable(error, {
                title: 'Choose Other Rows',
                command: 'schedc.bench',
                arguments: [document.uri, 'rows'],
            });
        }
    }

    /** The last measurement of a schedule with the same rows, possibly from before a reload of the window. */
    private before(uri: string, rows: string | null): Measured | null {
        const shown =
            this.shown?.uri === uri ? { measured: this.shown.message.now, rows: this.shown.rows } : null;
        const last = this.results.get(uri) ?? shown;
        return last?.rows === rows ? last.measured : null;
    }

    /** The calls to measure; null if the user cancels. */
    private async calls(document: vscode.TextDocument, anew: boolean): Promise<Calls | null> {
        const key = `calls:${document.uri.toString()}`;
        const known = readCalls(this.memory.get<string>(key) ?? '') ?? DEFAULT;
        if (!anew) return known;
        const text = await vscode.window.showInputBox({
            prompt: 'Rows per call, and threads: several of each, with commas',
            value: showCalls(known),
            validateInput: (typed) =>
                readCalls(typed) === null ? 'Write it like `1, 64, 1024 on 1, all`' : null,
        });
        const chosen = text === undefined ? null : readCalls(text);
        if (chosen !== null) await this.memory.update(key, showCalls(chosen));
        return chosen;
    }

    provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
        const result = this.results.get(document.uri.toString());
        const text = result && headline(result.measured);
        const settings = vscode.workspace.getConfiguration('schedc', document);
        const wanted = settings.get('codeLens', true) && settings.get('lenses.speed', true);
        if (!result || !text || !wanted) return [];
        const title = result.version === document.version ? text : `${text} (before the last change)`;
        return [
            new vscode.CodeLens(new vscode.Range(0, 0, 0, 0), {
                title,
                command: 'schedc.bench',
                arguments: [document.uri],
            }),
        ];
    }

    dispose(): void {
        this.panel?.dispose();
        this.changed.dispose();
        for (const subscription of this.subscriptions) subscription.dispose();
    }

    private async show(): Promise<void> {
        if (this.panel === null) await closeUnrestored(KIND);
        if (this.panel === null) {
            const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
            this.adopt(vscode.window.createWebviewPanel(KIND, 'Speed', column, this.options()));
        } else {
            this.panel.reveal(undefined, true);
        }
        this.post();
    }

    private options(): vscode.WebviewOptions {
        return { enableScripts: true, localResourceRoots: [] };
    }

    /** Fills a panel: a new one, or one restored when the window was reloaded. */
    private adopt(panel: vscode.WebviewPanel): void {
        this.panel = panel;
        panel.webview.options = this.options();
        panel.iconPath = vscode.Uri.joinPath(this.extension, 'icons', 'file.svg');
        panel.webview.onDidReceiveMessage((message: FromBench) => this.receive(message));
        panel.onDidDispose(() => {
            if (this.panel === panel) this.panel = null;
        });
        panel.webview.html = page(this.extension, 'bench', 'Speed', BODY);
    }

    private async receive(message: FromBench): Promise<void> {
        if (message === 'ready') return this.post();
        // Runs as a command, so that VS Code shows its errors.
        const uri = this.shown === null ? undefined : vscode.Uri.parse(this.shown.uri);
        await vscode.commands.executeCommand(
            'schedc.bench',
            uri,
            { choose: 'rows', calls: 'calls', again: undefined }[message],
        );
    }

    private post(): void {
        if (this.shown !== null) void this.panel?.webview.postMessage(this.shown.message);
    }
}
