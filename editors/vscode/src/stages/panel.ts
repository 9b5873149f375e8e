// Plan, MIR and assembly beside the schedule, recomputed when the user pauses typing.

import { basename } from 'node:path';
import * as vscode from 'vscode';
import type { Range } from '../nest/view';
import { page } from '../page';
import { readRefusal } from '../refusal';
import type { Server } from '../server';
import { LIVE, readStage, type LiveStage } from './answer';
import type { FromStages, ToStages } from './messages';

const KIND = 'schedc.stages';
/** Milliseconds without a keystroke after which stages are recomputed. */
const PAUSE = 60;

const NAMES: Record<LiveStage, string> = { plan: 'Plan', mir: 'MIR', asm: 'Assembly' };

const BODY = `<header><span id="file"></span><span id="state" role="status"></span></header>
<main>${LIVE.map(
    (stage) => `<details id="${stage}"${stage === 'asm' ? '' : ' open'}>
<summary>${NAMES[stage]} <span class="note"></span></summary><div class="lines" role="list"></div></details>`,
).join('\n')}</main>`;

export class LiveStages implements vscode.Disposable {
    private panel: vscode.WebviewPanel | null = null;
    private document: vscode.TextDocument | null = null;
    private timer: NodeJS.Timeout | undefined;
    private open: readonly LiveStage[] = [];
    /** Whether stages are being computed, and whether to compute them once more. */
    private isBusy = false;
    private isRequestedAgain = false;
    private readonly subscriptions: vscode.Disposable[];

    constructor(private readonly extension: vscode.Uri, private readonly server: Server) {
        this.subscriptions = [
            vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
                if (document !== this.document || contentChanges.length === 0) return;
                this.post({ type: 'stale' });
                this.refresh();
            }),
            vscode.window.onDidChangeActiveTextEditor((editor) => {
                if (editor?.document.languageId === 'sched') this.follow(editor.document);
            }),
            vscode.window.onDidChangeTextEditorSelection(({ textEditor, selections }) => {
                const cursor = selections[0]?.active;
                if (textEditor.document === this.document && cursor)
                    this.post({ type: 'cursor', line: cursor.line });
            }),
            server.onDidChangeAnalysis(() => this.refresh()),
            server.onDidChange(() => this.refresh()),
        ];
    }

    /** Opens the panel beside a schedule. */
    show(document: vscode.TextDocument): void {
        if (this.panel === null) {
            const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
            const panel = vscode.window.createWebviewPanel(KIND, 'Stages', column, {
                enableScripts: true,
                enableFindWidget: true,
                localResourceRoots: [],
            });
            panel.iconPath = vscode.Uri.joinPath(this.extension, 'icons', 'file.svg');
            panel.webview.onDidReceiveMessage((message: FromStages) => this.receive(message));
            panel.onDidDispose(() => (this.panel = null));
            this.document = document;
            panel.webview.html = page(this.extension, 'stages', 'Stages', BODY);
            this.panel = panel;
        } else {
            this.panel.reveal(undefined, true);
            this.follow(document);
        }
    }

    dispose(): void {
        this.panel?.dispose();
        clearTimeout(this.timer);
        for (const subscription of this.subscriptions) subscription.dispose();
    }

    private follow(document: vscode.TextDocument): void {
        if (document === this.document) return;
        this.document = document;
        this.introduce();
        this.refresh();
    }

    /** Sends the file's name and the line of its cursor. */
    private introduce(): void {
        const document = this.document;
        if (document === null) return;
        this.post({ type: 'file', file: basename(document.uri.path) });
        const editor = vscode.window.visibleTextEditors.find((one) => one.document === document);
        this.post({ type: 'cursor', line: editor?.selection.active.line ?? null });
    }

    private async receive(message: FromStages): Promise<void> {
        if (message.type === 'reveal') return this.reveal(message.range);
        this.open = message.stages;
        this.introduce();
        this.refresh();
    }

    private async reveal({ start, end }: Range): Promise<void> {
        if (this.document === null) return;
        const selection = new vscode.Range(start.line, start.character, end.line, end.character);
        const open = vscode.window.visibleTextEditors.find(({ document }) => document === this.document);
        await vscode.window.showTextDocument(this.document, {
            selection,
            viewColumn: open?.viewColumn ?? vscode.ViewColumn.One,
        });
    }

    private refresh(): void {
        if (this.panel?.visible !== true || this.document === null) return;
        clearTimeout(this.timer);
        this.timer = setTimeout(() => void this.make(), PAUSE);
    }

    /**
     * Computes the unfolded stages one by one. A computation in progress is not interrupted, since it is
     * short.
     */
    private async make(): Promise<void> {
        if (this.isBusy) {
            this.isRequestedAgain = true;
            return;
        }
        this.isBusy = true;
        do {
            this.isRequestedAgain = false;
            for (const stage of LIVE) {
                if (this.open.includes(stage) && !this.isRequestedAgain) await this.one(stage);
            }
        } while (this.isRequestedAgain);
        this.isBusy = false;
    }

    private async one(stage: LiveStage): Promise<void> {
        const document = this.document;
        if (document === null || this.panel === null) return;
        const since = Date.now();
        try {
            const params = { textDocument: { uri: document.uri.toString() }, stage, live: true };
            const output = readStage(await this.server.request('sched/ir', params));
            if (document === this.document)
                this.post({ type: 'stage', stage, output, milliseconds: Date.now() - since });
        } catch (error) {
            if (document === this.document)
                this.post({ type: 'failed', stage, reason: readRefusal(error).message });
        }
    }

    private post(message: ToStages): void {
        void this.panel?.webview.postMessage(message);
    }
}
