// What VS Code makes of proposals beyond what the protocol says.

import * as vscode from 'vscode';

type Answer = vscode.CompletionItem[] | vscode.CompletionList | null | undefined;

/** Proposals, where the line that names the model goes on with a list of the models that there are. */
export function followed<T extends Answer>(answer: T): T {
    const items = Array.isArray(answer) ? answer : (answer?.items ?? []);
    const model = items.find(({ label, kind }) => label === 'model' && kind === vscode.CompletionItemKind.Keyword);
    if (model !== undefined) {
        // With a name between the quotes the list would hold only what looks like it.
        model.insertText = new vscode.SnippetString('model "$1"');
        model.command = { command: 'editor.action.triggerSuggest', title: 'Show the Models' };
    }
    return answer;
}
