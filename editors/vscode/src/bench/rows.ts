// The rows that a schedule is measured with: chosen once for each schedule, and remembered.

import { basename } from 'node:path';
import * as vscode from 'vscode';

const EXTENSIONS = ['npy', 'csv'];

export class Rows {
    constructor(private readonly memory: vscode.Memento) {}

    /** The rows for a schedule, or null if the user chooses none. */
    async of(document: vscode.TextDocument, anew: boolean): Promise<vscode.Uri | null> {
        const key = `rows:${document.uri.toString()}`;
        const known = this.memory.get<string>(key);
        if (known !== undefined && !anew) {
            const uri = vscode.Uri.parse(known);
            if (await exists(uri)) return uri;
        }
        const chosen = await choose(document);
        if (chosen !== null) await this.memory.update(key, chosen.toString());
        return chosen;
    }
}

async function exists(uri: vscode.Uri): Promise<boolean> {
    try {
        await vscode.workspace.fs.stat(uri);
        return true;
    } catch {
        return false;
    }
}

/** Offers the files with rows beside the schedule and in the workspace's folder, and to look elsewhere. */
async function choose(document: vscode.TextDocument): Promise<vscode.Uri | null> {
    const own = vscode.Uri.joinPath(document.uri, '..');
    const root = vscode.workspace.getWorkspaceFolder(document.uri)?.uri ?? own;
    const folders = root.toString() === own.toString() ? [own] : [own, root];
    const files = (await Promise.all(folders.map(dataFiles))).flat();
    const items = files.map((uri) => ({ label: basename(uri.path), description: vscode.workspace.asRelativePath(uri), uri }));
    const elsewhere = { label: '$(folder-opened) Choose another file…', description: '', uri: null };
    const picked = await vscode.window.showQuickPick([...items, elsewhere], { placeHolder: 'Rows to measure with' });
    if (picked === undefined || picked.uri !== null) return picked?.uri ?? null;
    const found = await vscode.window.showOpenDialog({ defaultUri: own, filters: { Rows: EXTENSIONS } });
    return found?.[0] ?? null;
}

async function dataFiles(folder: vscode.Uri): Promise<vscode.Uri[]> {
    try {
        const entries = await vscode.workspace.fs.readDirectory(folder);
        return entries
            .filter(([name, type]) => type !== vscode.FileType.Directory && EXTENSIONS.includes(name.split('.').at(-1) ?? ''))
            .map(([name]) => vscode.Uri.joinPath(folder, name));
    } catch {
        // A schedule that is not saved yet has no folder.
        return [];
    }
}
