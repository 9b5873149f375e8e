// Changes to completions that the protocol cannot express.

import * as vscode from 'vscode';

type Answer = vscode.CompletionItem[] | vscode.CompletionList | null | undefined;

/** Adds a command to the proposal of a `model` line: when it is accepted, the list of models opens. */
export function followed<T extends Answer>(answer: T): T {
    const items = Array.isArray(answer) ? answer : (answer?.items ?? []);
    const model = items.find(
        ({ label, kind }) => label === 'model' && kind === vscode.CompletionItemKind.Keyword,
    );
    if (model !== undefined) {
        // The quotes are empty, since a name between them would filter the list of models.
        model.insertText = new vscode.SnippetString('model "$1"');
        model.command = { command: 'editor.action.triggerSuggest', title: 'Show the Models' };
    }
    return answer;
}
