// The ledger: shows the gain of each directive at the end of its line, and the time above the first one. Also
// tries values of numbers, and inserts chosen schedules.

import { basename } from 'node:path';
import * as vscode from 'vscode';
import type { Range } from '../nest/view';
import type { Server } from '../server';
import { bars } from './bars';
import { labels, type Ledger, offerFor, readLedger, readSweep } from './read';
import { Totals } from './total';

/** Milliseconds without a keystroke after which the ledger is requested again. */
const PAUSE = 150;

const at = ({ start, end }: Range): vscode.Range =>
    new vscode.Range(start.line, start.character, end.line, end.character);

const words = (colour: string, fontStyle: string): vscode.TextEditorDecorationType =>
    vscode.window.createTextEditorDecorationType({
        after: { color: new vscode.ThemeColor(colour), fontStyle, margin: '0 0 0 1.5em' },
        rangeBehavior: vscode.DecorationRangeBehavior.ClosedOpen,
    });

export class Ledgers implements vscode.Disposable {
    /** Documents that have a ledger. */
    private readonly known = new Set<string>();
    private readonly fresh = words('editorCodeLens.foreground', 'normal');
    private readonly stale = words('disabledForeground', 'italic');
    private readonly totals = new Totals();
    private readonly timers = new Map<string, NodeJS.Timeout>();
    private readonly subscriptions = [
        this.totals,
        this.fresh,
        this.stale,
        vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
            if (contentChanges.length > 0 && this.known.has(document.uri.toString())) this.soon(document);
        }),
        vscode.workspace.onDidCloseTextDocument(({ uri }) => this.known.delete(uri.toString())),
        vscode.window.onDidChangeVisibleTextEditors((editors) => {
            for (const { document } of editors) if (document.languageId === 'sched') this.soon(document);
        }),
    ];

    constructor(private readonly server: Server) {
        // With the setting `save`, the server measures a schedule after each save, and then notifies.
        const changed = server.onDidChangeAnalysis((uri) => {
            const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri);
            if (document !== undefined) this.soon(document);
        });
        this.subscriptions.push(changed);
    }

    /** Measures each directive of a schedule, unless its text was measured before, and shows the gains. */
    async measure(document: vscode.TextDocument): Promise<void> {
        const params = { textDocument: { uri: document.uri.toString() }, measure: true };
        const answer = await this.server.work<unknown>('measuring each directive', 'sched/ledger', params);
        if (answer === null) return;
        const ledger = readLedger(answer);
        this.show(document, ledger);
        if (ledger.offer !== null) await this.offer(document, ledger.offer);
    }

    /** Offers to take schedc's own schedule. */
    private async offer(document: vscode.TextDocument, title: string): Promise<void> {
        const take = 'Take It';
        const message = offerFor(basename(document.uri.path), title);
        if ((await vscode.window.showInformationMessage(message, take)) !== take) return;
        // The user may have closed the document since.
        await this.choose(await vscode.workspace.openTextDocument(document.uri));
    }

    /** Tries values of a number and writes the chosen one into the text. */
    async sweep(document: vscode.TextDocument, position: unknown): Promise<void> {
        const cursor = vscode.window.activeTextEditor?.selection.active;
        const place = position ?? (cursor && { line: cursor.line, character: cursor.character });
        const params = {
            command: 'schedc.sweep',
            arguments: [{ uri: document.uri.toString(), position: place }],
        };
        const answer = await this.server.work<unknown>('trying values', 'workspace/executeCommand', params);
        if (answer === null) return;
        const sweep = readSweep(answer);
        if (sweep === null) throw new Error('the measurement has no result.');
        const name = /^\d+:\d+$/.test(sweep.name) ? 'this number' : sweep.name;
        const placeHolder = `Microseconds for a row with other values of ${name}; choose one to take it`;
        const picked = await vscode.window.showQuickPick(bars(sweep), { placeHolder, ignoreFocusOut: true });
        if (picked === undefined || picked.value === sweep.value) return;
        if (document.version !== sweep.version)
            throw new Error('the text has changed since; try the values again.');
        await replace(document, at(sweep.range), String(picked.value));
    }

    /** Replaces the directives of a text with the automatic schedule. */
    choose(document: vscode.TextDocument): Promise<void> {
        return this.put(document, 'schedc.choose', 'choosing a schedule');
    }

    /** Searches for a fast schedule for some seconds and replaces the directives of a text with it. */
    tune(document: vscode.TextDocument): Promise<void> {
        return this.put(document, 'schedc.tune', 'searching for a fast schedule');
    }

    private async put(document: vscode.TextDocument, command: string, what: string): Promise<void> {
        const { version } = document;
        const params = { command, arguments: [{ uri: document.uri.toString() }] };
        const answer = await this.server.work<{ range: Range; text: string }>(
            what,
            'workspace/executeCommand',
            params,
        );
        if (answer === null) return;
        if (document.version !== version) throw new Error('the text has changed since; choose again.');
        await replace(document, at(answer.range), answer.text);
    }

    dispose(): void {
        this.timers.forEach(clearTimeout);
        for (const subscription of this.subscriptions) subscription.dispose();
    }

    /** Requests the ledger after a pause. */
    private soon(document: vscode.TextDocument): void {
        const uri = document.uri.toString();
        clearTimeout(this.timers.get(uri));
        this.timers.set(uri, setTimeout(() => void this.request(document), PAUSE));
    }

    private async request(document: vscode.TextDocument): Promise<void> {
        this.timers.delete(document.uri.toString());
        try {
            const params = { textDocument: { uri: document.uri.toString() }, measure: false };
            this.show(document, readLedger(await this.server.request<unknown>('sched/ledger', params)));
        } catch {
            // The server is still starting, or the document was closed: nothing to show.
        }
    }

    private show(document: vscode.TextDocument, ledger: Ledger): void {
        const { stale, lines, offer } = ledger;
        if (lines.length > 0) this.known.add(document.uri.toString());
        const texts = labels(ledger, this.totals.show(document, ledger));
        const shown = lines.map(({ position, tooltip }, at) => ({
            range: new vscode.Range(position.line, position.character, position.line, position.character),
            hoverMessage: hover(
                stale ? `${tooltip}\n\nThe text has changed since.` : tooltip,
                document,
                offer,
            ),
            renderOptions: { after: { contentText: texts[at] ?? '' } },
        }));
        for (const editor of vscode.window.visibleTextEditors.filter((one) => one.document === document)) {
            editor.setDecorations(this.fresh, stale ? [] : shown);
            editor.setDecorations(this.stale, stale ? shown : []);
        }
    }
}

/** The text of a hover, with a link that takes schedc's own schedule if that is offered. */
function hover(text: string, document: vscode.TextDocument, offer: string | null): vscode.MarkdownString {
    if (offer === null) return new vscode.MarkdownString(text);
    const argument = encodeURIComponent(JSON.stringify([{ uri: document.uri.toString() }]));
    const made = new vscode.MarkdownString(`${text}\n\n[${offer}](command:schedc.choose?${argument})`);
    made.isTrusted = { enabledCommands: ['schedc.choose'] };
    return made;
}

/** Replaces text, and shows a document that the user does not see. */
async function replace(document: vscode.TextDocument, range: vscode.Range, text: string): Promise<void> {
    if (!vscode.window.visibleTextEditors.some((one) => one.document === document)) {
        const viewColumn = vscode.window.activeTextEditor?.viewColumn ?? vscode.ViewColumn.One;
        await vscode.window.showTextDocument(document, { viewColumn });
    }
    const edit = new vscode.WorkspaceEdit();
    edit.replace(document.uri, range, text);
    await vscode.workspace.applyEdit(edit);
}
