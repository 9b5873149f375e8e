// Changes to completions that the protocol has no means for.

import * as vscode from 'vscode';

type Answer = vscode.CompletionItem[] | vscode.CompletionList | null | undefined;

/** The proposals. After accepting the line that names the model, the list of models opens. */
export function followed<T extends Answer>(answer: T): T {
    const items = Array.isArray(answer) ? answer : (answer?.items ?? []);
    const model = items.find(
        ({ label, kind }) => label === 'model' && kind === vscode.CompletionItemKind.Keyword,
    );
    if (model !== undefined) {
        // A name between the quotes would filter the list by that name.
        model.insertText = new vscode.SnippetString('model "$1"');
        model.command = { command: 'editor.action.triggerSuggest', title: 'Show the Models' };
    }
    return answer;
}
