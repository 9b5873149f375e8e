// The problems below the picture, and their fixes.

import * as vscode from 'vscode';
import type { Problem, ToPanel } from './messages';

/** Maximum number of listed problems. */
const MOST = 5;

export class Fixes implements vscode.Disposable {
    private key = 0;
    private document: vscode.TextDocument | null = null;
    private version = 0;
    /** The edits of each listed problem. */
    private edits: (readonly vscode.CodeAction[])[] = [];

    constructor(private readonly post: (message: ToPanel) => void) {}

    /** Lists the problems of a document in the panel. */
    async collect(document: vscode.TextDocument): Promise<void> {
        const key = ++this.key;
        const found = vscode.languages
            .getDiagnostics(document.uri)
            .filter(({ severity }) => severity <= vscode.DiagnosticSeverity.Warning)
            .sort((a, b) => a.severity - b.severity || a.range.start.compareTo(b.range.start))
            .slice(0, MOST);
        const edits = await Promise.all(found.map((diagnostic) => fixesOf(document, diagnostic)));
        if (key !== this.key) return;
        this.document = document;
        this.version = document.version;
        this.edits = edits;
        const problems = found.map((diagnostic, at) => problem(diagnostic, edits[at] ?? []));
        this.post({ type: 'problems', key, problems });
    }

    /** Applies a fix that the panel shows, unless the text has changed since. */
    async apply(key: number, problem: number, fix: number): Promise<void> {
        const action = this.edits[problem]?.[fix];
        if (key !== this.key || this.document?.version !== this.version || action?.edit === undefined) return;
        await vscode.workspace.applyEdit(action.edit);
    }

    dispose(): void {
        this.key++;
    }
}

async function fixesOf(
    document: vscode.TextDocument,
    diagnostic: vscode.Diagnostic,
): Promise<vscode.CodeAction[]> {
    const actions = await vscode.commands.executeCommand<(vscode.CodeAction | vscode.Command)[]>(
        'vscode.executeCodeActionProvider',
        document.uri,
        diagnostic.range,
        vscode.CodeActionKind.QuickFix.value,
        MOST,
    );
    return (actions ?? []).filter(
        (action): action is vscode.CodeAction =>
            action instanceof vscode.CodeAction && action.edit !== undefined && concerns(action, diagnostic),
    );
}

/** Whether an action belongs to this diagnostic, and not to another one at the same position. */
function concerns(action: vscode.CodeAction, { range, message }: vscode.Diagnostic): boolean {
    const about = action.diagnostics ?? [];
    return about.length === 0 || about.some((one) => one.message === message && one.range.isEqual(range));
}

function problem(diagnostic: vscode.Diagnostic, fixes: readonly vscode.CodeAction[]): Problem {
    const { code, message, range, severity } = diagnostic;
    return {
        message: message.split('\n', 1)[0] ?? '',
        code: String(typeof code === 'object' ? code.value : (code ?? '')),
        severity: severity === vscode.DiagnosticSeverity.Error ? 'error' : 'warning',
        range: {
            start: { line: range.start.line, character: range.start.character },
            end: { line: range.end.line, character: range.end.character },
        },
        fixes: fixes.map(({ title }) => title),
    };
}
