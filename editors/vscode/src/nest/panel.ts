// The extension's side of the nest panel: follows the active schedule and updates the picture.

import { basename } from 'node:path';
import * as vscode from 'vscode';
import { page } from '../page';
import { closeUnrestored } from '../panels';
import type { Server } from '../server';
import { ByHand } from './by_hand';
import { isDirective } from './cursor';
import { Fixes } from './fixes';
import type { FromPanel, ToPanel } from './messages';
import { directiveLines, Focus, lineBefore, nextStep } from './step';
import { readAnswer, type NestView, type Position, type Range } from './view';

const KIND = 'schedc.nest';
/** Time that the creation of a webview waits for the server's answer, in milliseconds. */
const FIRST = 25;
/** Milliseconds without a keystroke after which the picture is requested again. */
const PAUSE = 40;

const BODY = `<header><span id="file"></span><button id="follow" aria-pressed="true"
    title="Show the nest after the directive at the cursor">at the cursor</button><span
    id="steps" role="group" aria-label="Steps"><button id="back"
    title="Step back to the previous directive" aria-label="step back">◀</button><button id="forward"
    title="Step to the next directive" aria-label="step forward">▶</button></span><span
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
    private pending = new vscode.CancellationTokenSource();
    private readonly focus = new Focus();
    /** Whether a key or the mouse moved the cursor to its position. */
    private isByHand = false;
    private shownLine: number | null = null;
    /** The line to which the last step moved the cursor; null after the user has moved it. */
    private stepped: number | null = null;
    /** The last picture, for a webview that was not ready when it came. */
    private last: ToPanel | null = null;
    /** Called at the next picture. */
    private onPicture: () => void = () => undefined;
    private readonly byHand = new ByHand((message) => this.post(message));
    private readonly fixes = new Fixes((message) => this.post(message));
    private readonly subscriptions: vscode.Disposable[];

    constructor(private readonly extension: vscode.Uri, private readonly server: Server) {
        this.subscriptions = [
            vscode.window.registerWebviewPanelSerializer(KIND, {
                deserializeWebviewPanel: async (panel) => {
                    if (this.panel === null) await this.adopt(panel, this.openSchedule());
                    else panel.dispose();
                },
            }),
            vscode.window.onDidChangeActiveTextEditor((editor) => {
                if (editor && isSchedule(editor.document)) this.follow(editor.document);
            }),
            vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
                if (document === this.document && contentChanges.length > 0) {
                    this.focus.step = this.stepped = null;
                    this.changed();
                }
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
                if (this.isByHand) this.focus.step = this.stepped = null;
                if (this.lineToShow() !== this.shownLine) this.refresh();
            }),
            vscode.languages.onDidChangeDiagnostics(({ uris }) => {
                const document = this.document;
                if (document && this.panel && uris.some((uri) => names(uri.toString(), document)))
                    void this.fixes.collect(document);
            }),
            // The server reads the model after its first answers, and then notifies.
            server.onDidChangeAnalysis((uri) => {
                if (this.document && names(uri, this.document)) this.refresh();
            }),
            server.onDidChange(() => this.refresh()),
        ];
    }

    /** Opens the panel beside the text, or brings it to the front. */
    async show(): Promise<void> {
        const document = this.openSchedule() ?? this.document;
        if (this.panel === null) await closeUnrestored(KIND);
        if (this.panel !== null) {
            this.panel.reveal(undefined, true);
            this.follow(document);
            return;
        }
        const panel = vscode.window.createWebviewPanel(
            KIND, 'Loop nest', { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true }, {},
        );
        void this.adopt(panel, document);
    }

    /**
     * Shows the nest after the next directive, or after the previous one; the whole nest beyond the ends. The
     * first step begins at the cursor.
     */
    async stepBy(forward: boolean): Promise<void> {
        if (this.panel === null) await this.show();
        const document = this.document;
        if (document === null) return;
        const editor = vscode.window.visibleTextEditors.find((one) => one.document === document);
        const cursor = editor === undefined ? null : lineBefore(editor.selection.active, this.stepped);
        const line = this.focus.step?.line ?? cursor;
        this.focus.step = nextStep(directiveLines(document.getText()), line, forward);
        if (this.focus.step !== null) {
            this.stepped = this.focus.step.line;
            const { range } = document.lineAt(this.focus.step.line);
            if (editor !== undefined) {
                editor.selection = new vscode.Selection(range.start, range.start);
                editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
            }
        }
        clearTimeout(this.timer);
        await this.request();
    }

    dispose(): void {
        this.panel?.dispose();
        clearTimeout(this.timer);
        this.pending.dispose();
        this.fixes.dispose();
        for (const subscription of this.subscriptions) subscription.dispose();
    }

    private openSchedule(): vscode.TextDocument | null {
        const editors = [vscode.window.activeTextEditor, ...vscode.window.visibleTextEditors];
        return (
            editors.find((editor) => editor !== undefined && isSchedule(editor.document))?.document ?? null
        );
    }

    private async adopt(
        panel: vscode.WebviewPanel,
        document: vscode.TextDocument | null,
    ): Promise<void> {
        this.panel = panel;
        this.document = document;
        panel.iconPath = vscode.Uri.joinPath(this.extension, 'icons', 'file.svg');
        panel.webview.options = {
            enableScripts: true,
            localResourceRoots: [],
        };
        panel.webview.onDidReceiveMessage((message: FromPanel) => this.receive(message));
        panel.onDidDispose(() => {
            if (this.panel !== panel) return;
            this.panel = null;
            this.focus.step = null;
        });
        // The server answers in milliseconds, but loading a webview takes much longer. If the page contains
        // the answer, it shows the nest without waiting for a message.
        this.last = null;
        const pictured = new Promise<void>((resolve) => (this.onPicture = resolve));
        void this.request();
        await Promise.race([pictured, new Promise<void>((resolve) => setTimeout(resolve, FIRST))]);
        if (this.panel === panel)
            panel.webview.html = page(this.extension, 'nest', 'Loop nest', BODY, this.last);
    }

    private async receive(message: FromPanel): Promise<void> {
        switch (message.type) {
            case 'ready':
                if (!this.focus.open(message.cursor) && this.last !== null) return this.post(this.last);
                clearTimeout(this.timer);
                return this.request();
            case 'restart': return this.server.restart();
            case 'step': return this.stepBy(message.forward);
            case 'reveal': return this.reveal(message.range);
            case 'follow':
                if (this.focus.follow(message.cursor)) this.refresh();
                return;
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
        this.focus.step = this.stepped = null;
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
        this.timer = setTimeout(() => void this.request(), PAUSE);
    }

    private async request(): Promise<void> {
        const document = this.document;
        this.pending.cancel();
        const { token } = (this.pending = new vscode.CancellationTokenSource());
        if (document === null)
            return this.nothing('Open a schedule to see its loop nest.');
        const step = this.focus.step;
        const line = (this.shownLine = step?.line ?? this.lineToShow());
        try {
            const position =
                line === null ? {} : { position: { line, character: document.lineAt(line).text.length } };
            const params = { textDocument: { uri: document.uri.toString() }, ...position };
            const answer = readAnswer(
                await this.server.request('sched/nest', { ...params, leaveOut: true }, token),
            );
            const before = step === null ? null : await this.before(document, step.line, token);
            if (token.isCancellationRequested || document !== this.document) return;
            const editor = vscode.window.visibleTextEditors.find((one) => one.document === document);
            this.picture({
                type: 'nest',
                file: basename(document.uri.path),
                stale: answer.stale,
                view: answer.view,
                leftOut: answer.leftOut,
                refused: answer.refused,
                line,
                cursor: editor === undefined ? null : place(editor.selection.active),
                step: step === null ? null : { ...step, before },
            });
            const drops = await this.server.request('sched/drops', params, token);
            if (!token.isCancellationRequested) this.byHand.learn(document, drops);
            await this.fixes.collect(document);
        } catch (error) {
            if (token.isCancellationRequested) return;
            this.nothing(error instanceof Error ? error.message : String(error));
        }
    }

    /** The nest before a line: after the line above it. */
    private async before(
        document: vscode.TextDocument,
        line: number,
        token: vscode.CancellationToken,
    ): Promise<NestView | null> {
        const above = line === 0 ? { line: 0, character: 0 } : document.lineAt(line - 1).range.end;
        const textDocument = { uri: document.uri.toString() };
        const position = { line: above.line, character: above.character };
        const params = { textDocument, position, leaveOut: true };
        return readAnswer(await this.server.request('sched/nest', params, token)).view;
    }

    /** Sends a picture, and keeps it until the webview is ready. */
    private picture(message: ToPanel): void {
        this.last = message;
        this.onPicture();
        this.post(message);
    }

    private nothing(reason: string): void {
        this.picture({ type: 'nothing', reason, restart: this.server.now.kind === 'stopped' });
    }

    /** The line of the cursor, if the picture follows the cursor and the line has a directive. */
    private lineToShow(): number | null {
        const editor = vscode.window.visibleTextEditors.find((one) => one.document === this.document);
        if (!this.focus.followsCursor || !this.isByHand || editor === undefined) return null;
        const { line } = editor.selection.active;
        return isDirective(editor.document.lineAt(line).text) ? line : null;
    }

    private post(message: ToPanel): void {
        void this.panel?.webview.postMessage(message);
    }
}

/** Whether a URI is that of a document. Parses it, since programs escape different characters. */
const names = (uri: string, document: vscode.TextDocument): boolean =>
    vscode.Uri.parse(uri).toString() === document.uri.toString();

const place = ({ line, character }: vscode.Position): Position => ({ line, character });
