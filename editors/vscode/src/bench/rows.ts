// The rows for measurements of a schedule. The user chooses them once for each schedule, and again after a
// failure of the first measurement.

import { basename, isAbsolute } from 'node:path';
import * as vscode from 'vscode';
import { EXTENSIONS, isData, likelyFirst } from './files';
import { modelOf } from './model';

const DRAWN = 'drawn';

/** The rows to measure with: a file, or random rows if `file` is null. */
export interface Choice {
    readonly file: vscode.Uri | null;
}

export const nameOf = ({ file }: Choice): string => (file === null ? 'random rows' : basename(file.path));

export class Rows {
    constructor(private readonly memory: vscode.Memento) {}

    /** The rows for a schedule; null if the user cancels. */
    async of(document: vscode.TextDocument, anew: boolean): Promise<Choice | null> {
        const known = this.memory.get<string>(keyOf(document));
        if (known !== undefined && !anew) {
            const file = known === DRAWN ? null : vscode.Uri.parse(known);
            if (file === null || (await exists(file))) return { file };
        }
        return choose(document);
    }

    /** Remembers rows with which a schedule was measured. */
    async keep(document: vscode.TextDocument, { file }: Choice): Promise<void> {
        await this.memory.update(keyOf(document), file?.toString() ?? DRAWN);
    }
}

const keyOf = (document: vscode.TextDocument): string => `rows:${document.uri.toString()}`;

async function exists(uri: vscode.Uri): Promise<boolean> {
    try {
        await vscode.workspace.fs.stat(uri);
        return true;
    } catch {
        return false;
    }
}

interface Item extends vscode.QuickPickItem {
    readonly choose: () => Thenable<Choice | null>;
}

/** The folder of a schedule's model, by the `model` line or else by the setting `schedc.model`. */
function besideModel(document: vscode.TextDocument, own: vscode.Uri, root: vscode.Uri): vscode.Uri {
    const named = modelOf(document.getText());
    const setting = vscode.workspace.getConfiguration('schedc', document).get('model', '');
    const path = named ?? setting;
    if (path === '') return own;
    const model = isAbsolute(path)
        ? vscode.Uri.file(path)
        : vscode.Uri.joinPath(named === null ? root : own, path);
    return vscode.Uri.joinPath(model, '..');
}

/**
 * Offers files with rows beside the model, beside the schedule and in the workspace's folder, a file dialog,
 * and random rows. Files whose names look like rows come first.
 */
async function choose(document: vscode.TextDocument): Promise<Choice | null> {
    const own = vscode.Uri.joinPath(document.uri, '..');
    const root = vscode.workspace.getWorkspaceFolder(document.uri)?.uri ?? own;
    const candidates = [besideModel(document, own, root), own, root];
    const folders = candidates.filter(
        (one, at) => candidates.findIndex((other) => other.toString() === one.toString()) === at,
    );
    const found = (await Promise.all(folders.map(dataFiles))).flat();
    const files = likelyFirst(found, ({ path }) => basename(path));
    const items: Item[] = [
        ...files.map((file) => ({
            label: vscode.workspace.asRelativePath(file),
            choose: async () => ({ file }),
        })),
        { label: '$(folder-opened) Choose another file…', choose: () => browse(own) },
        { label: '$(sparkle) Rows drawn at random', choose: async () => ({ file: null }) },
    ];
    const picked = await vscode.window.showQuickPick(items, { placeHolder: 'Rows to measure with' });
    return picked === undefined ? null : picked.choose();
}

async function browse(folder: vscode.Uri): Promise<Choice | null> {
    const found = await vscode.window.showOpenDialog({ defaultUri: folder, filters: { Rows: EXTENSIONS } });
    return found?.[0] === undefined ? null : { file: found[0] };
}

async function dataFiles(folder: vscode.Uri): Promise<vscode.Uri[]> {
    try {
        const entries = await vscode.workspace.fs.readDirectory(folder);
        return entries
            .filter(([name, type]) => type !== vscode.FileType.Directory && isData(name))
            .map(([name]) => vscode.Uri.joinPath(folder, name));
    } catch {
        // An unsaved schedule has no folder.
        return [];
    }
}
