// Stages of the compiler as read-only documents.

import * as vscode from 'vscode';
import type { Server } from './server';

const SCHEME = 'schedc-ir';

const STAGES = [
    { label: 'hir', description: 'the forest beside the nest' },
    { label: 'mir', description: 'the nest with abstract walks and reductions' },
    { label: 'plan', description: 'how trees are stored and walked' },
    { label: 'lir', description: 'loads, steps and stores' },
    { label: 'llvm', description: 'LLVM’s text form, optimised' },
    { label: 'asm', description: 'assembly' },
] as const;

export class Stages implements vscode.TextDocumentContentProvider, vscode.Disposable {
    private readonly texts = new Map<string, string>();
    private readonly changed = new vscode.EventEmitter<vscode.Uri>();
    readonly onDidChange = this.changed.event;
    private readonly subscriptions = [
        vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
        vscode.workspace.onDidCloseTextDocument(({ uri }) => this.texts.delete(uri.toString())),
    ];

    constructor(private readonly server: Server) {}

    provideTextDocumentContent(uri: vscode.Uri): string {
        return this.texts.get(uri.toString()) ?? '';
    }

    /** Prompts for a stage, unless one is given, and shows it beside the text. */
    async show(document: vscode.TextDocument, wanted?: string): Promise<void> {
        const stage =
            wanted ?? (await vscode.window.showQuickPick(STAGES, { placeHolder: 'Which stage?' }))?.label;
        if (stage === undefined) return;
        const params = { textDocument: { uri: document.uri.toString() }, stage };
        const answer = await this.server.work<{ text: string }>(`compiling to ${stage}`, 'sched/ir', params);
        if (answer === null) return;
        const uri = document.uri.with({
            scheme: SCHEME,
            path: `${document.uri.path}.${stage}`,
            query: stage,
        });
        this.texts.set(uri.toString(), answer.text);
        this.changed.fire(uri);
        await vscode.window.showTextDocument(uri, {
            viewColumn: vscode.ViewColumn.Beside,
            preview: true,
            preserveFocus: true,
        });
    }

    dispose(): void {
        this.changed.dispose();
        for (const subscription of this.subscriptions) subscription.dispose();
    }
}
