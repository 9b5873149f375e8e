// Writes directives into the text when the user drags loops in the picture.

import * as vscode from 'vscode';
import { readDrops, type Tiled } from './drops';
import type { ToPanel } from './messages';

interface Known {
    readonly document: vscode.TextDocument;
    readonly version: number;
    readonly edits: ReadonlyMap<string, unknown>;
    readonly tiles: readonly Tiled[];
}

export class ByHand {
    private key = 0;
    private known: Known | null = null;

    constructor(private readonly post: (message: ToPanel) => void) {}

    /** Stores the edits of an answer to `sched/drops`, and sends the panel the drops. */
    learn(document: vscode.TextDocument, answer: unknown): void {
        const { version, drops, edits } = readDrops(answer);
        if (version !== document.version) return;
        this.known = { document, version, edits, tiles: drops.tiles };
        this.key += 1;
        this.post({ type: 'drops', key: this.key, drops });
    }

    /** Writes a directive, if the text has not changed since the server's answer. */
    async write(key: number, directive: string): Promise<void> {
        const { known } = this;
        const edits = key === this.key ? readEdits(known?.edits.get(directive)) : [];
        if (known === null || known.document.version !== known.version || edits.length === 0) return;
        const edit = new vscode.WorkspaceEdit();
        edit.set(known.document.uri, edits);
        await vscode.workspace.applyEdit(edit);
    }

    /** Lets the user choose the size of a tile. */
    async tile(key: number, loop: string): Promise<void> {
        const tiled = key === this.key ? this.known?.tiles.find((one) => one.loop === loop) : undefined;
        if (tiled === undefined) return;
        const items = tiled.sizes.map(({ size, directive }) => ({
            label: String(size),
            description: directive,
            directive,
        }));
        const choice = await vscode.window.showQuickPick(items, {
            placeHolder: `The size of the tiles of ${loop}`,
        });
        if (choice !== undefined) await this.write(key, choice.directive);
    }
}

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;

/** The edits of one document in a workspace edit, in either of its forms. */
function readEdits(json: unknown): vscode.TextEdit[] {
    if (!isObject(json)) return [];
    const changes = Array.isArray(json['documentChanges'])
        ? json['documentChanges'].flatMap((change: unknown) => (isObject(change) ? change['edits'] : []))
        : Object.values(isObject(json['changes']) ? json['changes'] : {}).flat();
    return changes.flatMap((edit: unknown) => {
        const range = isObject(edit) ? edit['range'] : null;
        const [start, end] = isObject(range) ? [range['start'], range['end']] : [null, null];
        if (!isObject(edit) || !isObject(start) || !isObject(end)) return [];
        const place = (at: Json): vscode.Position =>
            new vscode.Position(Number(at['line']), Number(at['character']));
        return [
            vscode.TextEdit.replace(
                new vscode.Range(place(start), place(end)),
                String(edit['newText'] ?? ''),
            ),
        ];
    });
}
