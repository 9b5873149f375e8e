// Measuring schedules: a chart in a panel, and the speed above the text.

import { basename } from 'node:path';
import * as vscode from 'vscode';
import { page } from '../page';
import type { Server } from '../server';
import { headline, readMeasured, type Measured } from './measured';
import type { ToBench } from './messages';

const BODY = `<header><span id="file"></span><span class="quiet">time for a row, median; the mark is the measurement before</span></header>
<div id="chart"></div>`;

/** A measurement of one state of a schedule. */
interface Result {
    readonly measured: Measured;
    readonly version: number;
}

export class Bench implements vscode.CodeLensProvider, vscode.Disposable {
    private readonly results = new Map<string, Result>();
    private readonly changed = new vscode.EventEmitter<void>();
    readonly onDidChangeCodeLenses = this.changed.event;
    private panel: vscode.WebviewPanel | null = null;
    private shown: ToBench | null = null;
    private readonly subscriptions = [
        vscode.languages.registerCodeLensProvider({ language: 'sched' }, this),
        vscode.workspace.onDidCloseTextDocument(({ uri }) => this.results.delete(uri.toString())),
    ];

    constructor(private readonly extension: vscode.Uri, private readonly server: Server) {}

    /** Measures a schedule and shows the result beside the one before. */
    async run(document: vscode.TextDocument): Promise<void> {
        const uri = document.uri.toString();
        const { version } = document;
        const params = { command: 'schedc.bench', arguments: [{ uri }] };
        const answer = await this.server.work<unknown>('measuring', 'workspace/executeCommand', params);
        if (answer === null) return;
        const measured = readMeasured(answer);
        if (measured.points.length === 0) throw new Error('the measurement has no result.');
        const earlier = this.results.get(uri)?.measured ?? null;
        this.results.set(uri, { measured, version });
        this.changed.fire();
        this.show({ file: basename(document.uri.path), now: measured, earlier });
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

    private show(message: ToBench): void {
        this.shown = message;
        if (this.panel === null) {
            const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
            const panel = vscode.window.createWebviewPanel('schedc.bench', 'Speed', column, {
                enableScripts: true,
                localResourceRoots: [vscode.Uri.joinPath(this.extension, 'dist')],
            });
            panel.webview.onDidReceiveMessage(() => void panel.webview.postMessage(this.shown));
            panel.onDidDispose(() => (this.panel = null));
            panel.webview.html = page(panel.webview, this.extension, 'bench', 'Speed', BODY);
            this.panel = panel;
        } else {
            this.panel.reveal(undefined, true);
        }
        void this.panel.webview.postMessage(message);
    }
}
