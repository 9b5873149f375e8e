// Changes to completions and signatures that the protocol cannot express.

import * as vscode from 'vscode';

type Answer = vscode.CompletionItem[] | vscode.CompletionList | null | undefined;

const SHOW_MODELS = { command: 'editor.action.triggerSuggest', title: 'Show the Models' };

/** Adds a command to proposals of a `model` line and of folders: after them, the list of models opens. */
export function followed<T extends Answer>(answer: T): T {
    const items = Array.isArray(answer) ? answer : (answer?.items ?? []);
    const model = items.find(
        ({ label, kind }) => label === 'model' && kind === vscode.CompletionItemKind.Keyword,
    );
    if (model !== undefined) {
        // The quotes are empty, since a name between them would filter the list of models.
        model.insertText = new vscode.SnippetString('model "$1"');
        model.command = SHOW_MODELS;
    }
    for (const item of items) if (item.kind === vscode.CompletionItemKind.Folder) item.command = SHOW_MODELS;
    return answer;
}

/** Lines at the start of a file, above which there is room for one line of signature help. */
const FIRST_LINES = 2;

/**
 * Shortens signature help to the signature and, after the first lines, its present parameter. Longer help
 * does not fit above the line; below it, the list of proposals would cover the help.
 */
export function shortened<T extends vscode.SignatureHelp | null | undefined>(help: T, line: number): T {
    for (const signature of help?.signatures ?? []) {
        delete signature.documentation;
        if (line < FIRST_LINES) for (const parameter of signature.parameters) delete parameter.documentation;
    }
    return help;
}
