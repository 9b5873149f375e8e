// The lenses above the first directive: the time of the measured schedule, and the offer of schedc's own. At
// the end of a line there is no room for them beside the nest panel.

import * as vscode from 'vscode';
import { lensTitles, type Ledger } from './read';

export class Totals implements vscode.CodeLensProvider, vscode.Disposable {
    private readonly ledgers = new Map<string, Ledger>();
    private readonly changed = new vscode.EventEmitter<void>();
    readonly onDidChangeCodeLenses = this.changed.event;
    private readonly subscriptions = [
        this.changed,
        vscode.languages.registerCodeLensProvider({ language: 'sched' }, this),
        vscode.workspace.onDidCloseTextDocument(({ uri }) => this.ledgers.delete(uri.toString())),
    ];

    /** Takes a ledger. Returns whether the user's settings let lenses show its total. */
    show(document: vscode.TextDocument, ledger: Ledger): boolean {
        this.ledgers.set(document.uri.toString(), ledger);
        this.changed.fire();
        return isWanted(document);
    }

    provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
        const ledger = this.ledgers.get(document.uri.toString());
        const first = ledger?.lines[0];
        if (ledger === undefined || first === undefined || !isWanted(document)) return [];
        const { line } = first.position;
        const range = new vscode.Range(line, 0, line, 0);
        const { total, take } = lensTitles(ledger);
        const lens = (title: string, command: string): vscode.CodeLens =>
            new vscode.CodeLens(range, { title, command, arguments: [{ uri: document.uri.toString() }] });
        return [
            ...(total === null ? [] : [lens(total, 'schedc.showLedger')]),
            ...(take === null ? [] : [lens(take, 'schedc.choose')]),
        ];
    }

    dispose(): void {
        for (const subscription of this.subscriptions) subscription.dispose();
    }
}

function isWanted(document: vscode.TextDocument): boolean {
    const schedc = vscode.workspace.getConfiguration('schedc', document);
    const editor = vscode.workspace.getConfiguration('editor', document);
    return editor.get('codeLens', true) && schedc.get('codeLens', true) && schedc.get('lenses.ledger', true);
}
