// The entry for schedc in the status bar, shown while a schedule is open.

import * as vscode from 'vscode';
import type { Condition, Server } from './server';

export class Status implements vscode.Disposable {
    private readonly item = vscode.window.createStatusBarItem('schedc', vscode.StatusBarAlignment.Right, 90);
    private readonly subscriptions: vscode.Disposable[];

    constructor(server: Server) {
        this.item.name = 'schedc';
        this.item.command = 'schedc.showOutput';
        this.subscriptions = [
            server.onDidChange((condition) => this.show(condition)),
            vscode.window.onDidChangeActiveTextEditor(() => this.follow()),
            // VS Code reopens a document whose language changes.
            vscode.workspace.onDidOpenTextDocument(() => this.follow()),
        ];
        this.show(server.now);
        this.follow();
    }

    dispose(): void {
        this.item.dispose();
        for (const subscription of this.subscriptions) subscription.dispose();
    }

    private show(condition: Condition): void {
        const { text, tooltip } = words(condition);
        this.item.text = text;
        this.item.tooltip = new vscode.MarkdownString(`${tooltip}\n\n[Restart](command:schedc.restart)`);
        this.item.tooltip.isTrusted = { enabledCommands: ['schedc.restart'] };
        this.item.backgroundColor =
            condition.kind === 'stopped' ? new vscode.ThemeColor('statusBarItem.errorBackground') : undefined;
    }

    private follow(): void {
        if (vscode.window.activeTextEditor?.document.languageId === 'sched') this.item.show();
        else this.item.hide();
    }
}

function words(condition: Condition): { text: string; tooltip: string } {
    switch (condition.kind) {
        case 'starting':
            return { text: '$(sync~spin) schedc', tooltip: 'schedc is starting.' };
        case 'running':
            return {
                text: '$(check) schedc',
                tooltip: `schedc ${condition.version} at \`${condition.path}\``,
            };
        case 'stopped':
            return { text: '$(error) schedc', tooltip: condition.why };
    }
}
