// Panels that the editor restores after a reload of its window.

import * as vscode from 'vscode';

/**
 * Closes the tabs of panels of a kind that have no panel yet. After a reload, the editor restores a panel
 * only when its tab becomes visible; a new panel would be a second one.
 */
export async function closeUnrestored(kind: string): Promise<void> {
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
    // The editor puts a prefix before the kind.
    const isOne = ({ input }: vscode.Tab): boolean =>
        input instanceof vscode.TabInputWebview && input.viewType.endsWith(kind);
    await vscode.window.tabGroups.close(tabs.filter(isOne), true);
}
