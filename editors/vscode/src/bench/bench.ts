// Measuring schedules: a chart in a panel, and the speed above the text.

import { basename } from 'node:path';
import * as vscode from 'vscode';
import { page } from '../page';
import type { Server } from '../server';
import { headline, readMeasured, type Measured } from './measured';
import type { FromBench, ToBench } from './messages';
import { nameOf, Rows } from './rows';

const BODY = `<header>
<span id="file"></span><span>time for a row, with <button id="choose" title="Choose other rows"></button></span>
<button id="again">Measure again</button>
</header>
<div id="chart"></div>
<p id="note"></p>`;

/** A measurement of one state of a schedule. */
interface Result {
    readonly measured: Measured;
    /** The file with the rows, or null where they were drawn. */
    readonly rows: string | null;
    readonly version: number;
}

export class Bench implements vscode.CodeLensProvider, vscode.Disposable {
    private readonly results = new Map<string, Result>();
    private readonly rows: Rows;
    private readonly changed = new vscode.EventEmitter<void>();
    readonly onDidChangeCodeLenses = this.changed.event;
    private panel: vscode.WebviewPanel | null = null;
    private shown: { readonly document: vscode.TextDocument; readonly message: ToBench } | null = null;
    private readonly subscriptions = [
        vscode.languages.registerCodeLensProvider({ language: 'sched' }, this),
        vscode.workspace.onDidCloseTextDocument(({ uri }) => this.results.delete(uri.toString())),
    ];

    constructor(private readonly extension: vscode.Uri, private readonly server: Server, memory: vscode.Memento) {
        this.rows = new Rows(memory);
    }

    /** Measures a schedule and shows the result beside the one before. `anew` asks again for the rows. */
    async run(document: vscode.TextDocument, anew = false): Promise<void> {
        const rows = await this.rows.of(document, anew);
        if (rows === null) return;
        const uri = document.uri.toString();
        const { version } = document;
        const params = { command: 'schedc.bench', arguments: [{ uri, ...(rows.file && { input: rows.file.fsPath }) }] };
        const answer = await this.server.work<unknown>('measuring', 'workspace/executeCommand', params);
        if (answer === null) return;
        const measured = readMeasured(answer);
        if (measured.points.length === 0) throw new Error('the measurement has no result.');
        const before = this.results.get(uri);
        const source = rows.file?.toString() ?? null;
        const earlier = before?.rows === source ? before.measured : null;
        this.results.set(uri, { measured, rows: source, version });
        this.changed.fire();
        const message = { file: basename(document.uri.path), rows: nameOf(rows), now: measured, earlier };
        this.shown = { document, message };
        this.show();
    }

    provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
        const result = this.results.get(document.uri.toString());
        const text = result && headline(result.measured);
        if (!result || !text || !vscode.workspace.getConfiguration('schedc', document).get('codeLens', true)) return [];
        const title = result.version === document.version ? text : `${text} (before the last change)`;
        return [new vscode.CodeLens(new vscode.Range(0, 0, 0, 0), { title, command: 'schedc.bench', arguments: [document.uri] })];
    }

    dispose(): void {
        this.panel?.dispose();
        this.changed.dispose();
        for (const subscription of this.subscriptions) subscription.dispose();
    }

    private show(): void {
        if (this.panel === null) {
            const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
            const panel = vscode.window.createWebviewPanel('schedc.bench', 'Speed', column, {
                enableScripts: true,
                localResourceRoots: [vscode.Uri.joinPath(this.extension, 'dist')],
            });
            panel.iconPath = vscode.Uri.joinPath(this.extension, 'icons', 'file.svg');
            panel.webview.onDidReceiveMessage((message: FromBench) => this.receive(message));
            panel.onDidDispose(() => (this.panel = null));
            panel.webview.html = page(panel.webview, this.extension, 'bench', 'Speed', BODY);
            this.panel = panel;
        } else {
            this.panel.reveal(undefined, true);
        }
        this.post();
    }

    private async receive(message: FromBench): Promise<void> {
        if (message === 'ready') return this.post();
        // As a command, so that what goes wrong is shown as for the command.
        await vscode.commands.executeCommand('schedc.bench', this.shown?.document.uri, message === 'choose');
    }

    private post(): void {
        if (this.shown !== null) void this.panel?.webview.postMessage(this.shown.message);
    }
}
