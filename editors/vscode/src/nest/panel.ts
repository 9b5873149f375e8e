// The extension's side of the nest panel: follows the active schedule and updates the picture.

import { basename } from 'node:path';
import * as vscode from 'vscode';
import { page } from '../page';
import type { Server } from '../server';
import { ByHand } from './by_hand';
import { isDirective } from './cursor';
import { Fixes } from './fixes';
import type { FromPanel, ToPanel } from './messages';
import { readAnswer, type Position, type Range } from './view';

const KIND = 'schedc.nest';
/** Milliseconds without a keystroke after which the picture is requested again. */
const PAUSE = 40;

const BODY = `<header><span id="file"></span><button id="follow" aria-pressed="true"
    title="Show the nest after the directive at the cursor">at the cursor</button><span
    id="facts"></span><span id="state" role="status"></span></header>
<main id="picture"></main>
<ul id="problems" aria-label="Problems" hidden></ul>
<footer><div id="order"></div><div id="legend" aria-hidden="true"><span
    class="row">rows</span><span class="tree">trees</span></div></footer>
<div id="hint" role="status" hidden></div>
<div id="fonts" aria-hidden="true"><i id="font-name"></i><i id="font-range"></i><i
    id="font-condition"></i><i id="font-badge"></i><i id="font-note"></i></div>`;

const isSchedule = (document: vscode.TextDocument): boolean => document.languageId === 'sched';

export class NestPanel implements vscode.Disposable {
    private panel: vscode.WebviewPanel | null = null;
    private document: vscode.TextDocument | null = null;
    private timer: NodeJS.Timeout | undefined;
    private asking = new vscode.CancellationTokenSource();
    /** Whether the nest after the directive at the cursor is shown. */
    private atCursor = true;
    /** Whether a key or the mouse moved the cursor to its position. */
    private isByHand = false;
    private shownLine: number | null = null;
    private readonly byHand = new ByHand((message) => this.post(message));
    private readonly fixes = new Fixes((message) => this.post(message));
    private readonly subscriptions: vscode.Disposable[];

    constructor(private readonly extension: vscode.Uri, private readonly server: Server) {
        this.subscriptions = [
            vscode.window.registerWebviewPanelSerializer(KIND, {
                deserializeWebviewPanel: async (panel) => this.adopt(panel, this.openSchedule()),
            }),
            vscode.window.onDidChangeActiveTextEditor((editor) => {
                if (editor && isSchedule(editor.document)) this.follow(editor.document);
            }),
            vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
                if (document === this.document && contentChanges.length > 0) this.changed();
            }),
            // VS Code closes and reopens a document whose language changes.
            vscode.workspace.onDidOpenTextDocument((document) => {
                if (isSchedule(document) && document === vscode.window.activeTextEditor?.document)
                    this.follow(document);
            }),
            vscode.workspace.onDidCloseTextDocument((document) => {
                if (document === this.document) this.follow(this.openSchedule());
            }),
            vscode.window.onDidChangeTextEditorSelection(({ textEditor, selections, kind }) => {
                const cursor = selections[0]?.active;
                if (textEditor.document !== this.document || !cursor) return;
                this.post({ type: 'cursor', cursor: place(cursor) });
                // A jump to a directive, such as by a click on its loop, keeps the whole nest in view.
                this.isByHand =
                    kind === vscode.TextEditorSelectionChangeKind.Keyboard ||
                    kind === vscode.TextEditorSelectionChangeKind.Mouse;
                if (this.lineToShow() !== this.shownLine) this.refresh();
            }),
            vscode.languages.onDidChangeDiagnostics(({ uris }) => {
                const document = this.document;
                if (document && this.panel && uris.some((uri) => names(uri.toString(), document)))
                    void this.fixes.collect(document);
            }),
            // The server reads a model after the text.
            server.onDidLearn((uri) => {
                if (this.document && names(uri, this.document)) this.refresh();
            }),
            server.onDidChange(() => this.refresh()),
        ];
    }

    /** Opens the panel beside the text, or brings it to the front. */
    show(): void {
        const document = this.openSchedule() ?? this.document;
        if (this.panel !== null) {
            this.panel.reveal(undefined, true);
            this.follow(document);
            return;
        }
        const panel = vscode.window.createWebviewPanel(
            KIND, 'Loop nest', { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true }, {},
        );
        this.adopt(panel, document);
    }

    dispose(): void {
        this.panel?.dispose();
        clearTimeout(this.timer);
        this.asking.dispose();
        this.fixes.dispose();
        for (const subscription of this.subscriptions) subscription.dispose();
    }

    private openSchedule(): vscode.TextDocument | null {
        const editors = [vscode.window.activeTextEditor, ...vscode.window.visibleTextEditors];
        return (
            editors.find((editor) => editor !== undefined && isSchedule(editor.document))?.document ?? null
        );
    }

    private adopt(panel: vscode.WebviewPanel, document: vscode.TextDocument | null): void {
        this.panel = panel;
        this.document = document;
        panel.iconPath = vscode.Uri.joinPath(this.extension, 'icons', 'file.svg');
        panel.webview.options = {
            enableScripts: true,
            localResourceRoots: [vscode.Uri.joinPath(this.extension, 'dist')],
        };
        panel.webview.onDidReceiveMessage((message: FromPanel) => this.receive(message));
        panel.onDidDispose(() => {
            if (this.panel === panel) this.panel = null;
        });
        panel.webview.html = page(panel.webview, this.extension, 'nest', 'Loop nest', BODY);
    }

    private async receive(message: FromPanel): Promise<void> {
        switch (message.type) {
            case 'ready': return this.refresh();
            case 'reveal': return this.reveal(message.range);
            case 'follow':
                this.atCursor = message.cursor;
                return this.refresh();
            case 'write': return this.byHand.write(message.key, message.directive);
            case 'tile': return this.byHand.tile(message.key, message.loop);
            case 'fix': return this.fixes.apply(message.key, message.problem, message.fix);
        }
    }

    private async reveal(range: Range): Promise<void> {
        if (this.document === null) return;
        const selection = new vscode.Range(
            range.start.line,
            range.start.character,
            range.end.line,
            range.end.character,
        );
        const open = vscode.window.visibleTextEditors.find(({ document }) => document === this.document);
        await vscode.window.showTextDocument(this.document, {
            selection,
            viewColumn: open?.viewColumn ?? vscode.ViewColumn.One,
        });
    }

    private follow(document: vscode.TextDocument | null): void {
        if (document === this.document) return;
        this.document = document;
        this.refresh();
    }

    private changed(): void {
        this.post({ type: 'pending' });
        this.refresh();
    }

    /** Requests the picture after a short pause, not at every letter. */
    private refresh(): void {
        if (this.panel === null) return;
        clearTimeout(this.timer);
        this.timer = setTimeout(() => void this.ask(), PAUSE);
    }

    private async ask(): Promise<void> {
        const document = this.document;
        this.asking.cancel();
        const { token } = (this.asking = new vscode.CancellationTokenSource());
        if (document === null)
            return this.post({ type: 'nothing', reason: 'Open a schedule to see its loop nest.' });
        const line = (this.shownLine = this.lineToShow());
        try {
            const position =
                line === null ? {} : { position: { line, character: document.lineAt(line).text.length } };
            const params = { textDocument: { uri: document.uri.toString() }, ...position };
            const answer = readAnswer(
                await this.server.ask('sched/nest', { ...params, leaveOut: true }, token),
            );
            if (token.isCancellationRequested || document !== this.document) return;
            const editor = vscode.window.visibleTextEditors.find((one) => one.document === document);
            this.post({
                type: 'nest',
                file: basename(document.uri.path),
                stale: answer.stale,
                view: answer.view,
                leftOut: answer.leftOut,
                line,
                cursor: editor === undefined ? null : place(editor.selection.active),
            });
            const drops = await this.server.ask('sched/drops', params, token);
            if (!token.isCancellationRequested) this.byHand.learn(document, drops);
            await this.fixes.collect(document);
        } catch (error) {
            if (token.isCancellationRequested) return;
            this.post({ type: 'nothing', reason: error instanceof Error ? error.message : String(error) });
        }
    }

    /** The cursor's line, if the nest after it is wanted and the line has a directive. */
    private lineToShow(): number | null {
        const editor = vscode.window.visibleTextEditors.find((one) => one.document === this.document);
        if (!this.atCursor || !this.isByHand || editor === undefined) return null;
        const { line } = editor.selection.active;
        return isDirective(editor.document.lineAt(line).text) ? line : null;
    }

    private post(message: ToPanel): void {
        void this.panel?.webview.postMessage(message);
    }
}

/** Whether an address is a document's; programs differ in the characters that they escape. */
const names = (uri: string, document: vscode.TextDocument): boolean =>
    vscode.Uri.parse(uri).toString() === document.uri.toString();

const place = ({ line, character }: vscode.Position): Position => ({ line, character });
