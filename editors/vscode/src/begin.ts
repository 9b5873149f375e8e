// Opens the completions of an empty schedule without a keystroke, once for each document.

import * as vscode from 'vscode';
import type { Server } from './server';

export class Begin implements vscode.Disposable {
    /** Documents whose menu was shown. */
    private readonly begun = new Set<string>();
    private readonly subscriptions: vscode.Disposable[];

    constructor(private readonly server: Server) {
        this.subscriptions = [
            vscode.window.onDidChangeActiveTextEditor(() => this.begin()),
            // VS Code reopens a document whose language changes.
            vscode.workspace.onDidOpenTextDocument(() => this.begin()),
            vscode.workspace.onDidCloseTextDocument(({ uri }) => this.begun.delete(uri.toString())),
            server.onDidChange(() => this.begin()),
        ];
    }

    dispose(): void {
        for (const subscription of this.subscriptions) subscription.dispose();
    }

    private begin(): void {
        const document = vscode.window.activeTextEditor?.document;
        if (document?.languageId !== 'sched' || this.server.running === null) return;
        const name = document.uri.toString();
        if (document.getText().trim() !== '' || this.begun.has(name)) return;
        this.begun.add(name);
        void vscode.commands.executeCommand('editor.action.triggerSuggest');
    }
}
