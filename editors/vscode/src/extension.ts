// Activation of the extension, and its commands.

import * as vscode from 'vscode';
import { Bench } from './bench/bench';
import { Begin } from './begin';
import { Stages } from './ir';
import { Ledgers } from './ledger/ledger';
import { NestPanel } from './nest/panel';
import { readRefusal } from './refusal';
import { Server } from './server';
import { LiveStages } from './stages/panel';
import { Status } from './status';

let server: Server | null = null;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
    const started = (server = new Server(context.extensionPath));
    const nest = new NestPanel(context.extensionUri, started);
    const stages = new Stages(started);
    const live = new LiveStages(context.extensionUri, started);
    const bench = new Bench(context.extensionUri, started, context.workspaceState);
    const ledgers = new Ledgers(started);
    context.subscriptions.push(nest, stages, live, bench, ledgers, new Status(started));

    const command = (name: string, run: (...args: unknown[]) => unknown): void => {
        context.subscriptions.push(vscode.commands.registerCommand(`schedc.${name}`, reporting(run)));
    };
    command('restart', () => started.restart());
    command('showOutput', () => started.output.show());
    command('showNest', () => nest.show());
    command('stepForward', () => nest.stepBy(true));
    command('stepBack', () => nest.stepBy(false));
    command('build', async (uri) => build(started, await schedule(uri)));
    command('bench', async (uri, anew) =>
        bench.run(await schedule(uri), anew === 'rows' || anew === 'calls' ? anew : null),
    );
    command('showLedger', async (uri) => ledgers.measure(await schedule(uri)));
    command('sweep', async (what) => ledgers.sweep(await schedule(what), placeOf(what)));
    command('choose', async (uri) => ledgers.choose(await schedule(uri)));
    command('tune', async (uri) => ledgers.tune(await schedule(uri)));
    command('showStages', async (uri) => live.show(await schedule(uri)));
    command('showIr', async (uri, stage) =>
        stages.show(await schedule(uri), typeof stage === 'string' ? stage : undefined),
    );

    context.subscriptions.push(new Begin(started));
    context.subscriptions.push(
        vscode.workspace.onDidChangeConfiguration((event) => {
            if (event.affectsConfiguration('schedc.path')) void started.restart();
        }),
        vscode.workspace.onDidGrantWorkspaceTrust(() => void started.restart()),
    );
    // Not awaited: the commands are registered while the server starts, and report an error if it cannot
    // start.
    void started.restart();
}

export async function deactivate(): Promise<void> {
    await server?.dispose();
    server = null;
}

/** Wraps a command: its errors are shown to the user. */
const reporting = (run: (...args: unknown[]) => unknown) => async (...args: unknown[]): Promise<void> => {
    try {
        await run(...args);
    } catch (error) {
        void refuse(error);
    }
};

/**
 * Shows an error of the server, with its remedy, and with links to the finding's position and to the page of
 * its code.
 */
async function refuse(error: unknown): Promise<void> {
    const { message, code, page, place, remedy } = readRefusal(error);
    const [show, explain] = ['Show the Place', `Explain ${code}`];
    const choices = [
        ...(remedy === null ? [] : [remedy.title]),
        ...(place === null ? [] : [show]),
        ...(page === null ? [] : [explain]),
    ];
    const choice = await vscode.window.showErrorMessage(`schedc: ${message}`, ...choices);
    if (remedy !== null && choice === remedy.title)
        await vscode.commands.executeCommand(remedy.command, ...remedy.arguments);
    if (choice === show && place !== null) {
        const { start, end } = place.range;
        const selection = new vscode.Range(start.line, start.character, end.line, end.character);
        await vscode.window.showTextDocument(vscode.Uri.parse(place.uri), { selection });
    }
    if (choice === explain && page !== null)
        await vscode.commands.executeCommand('vscode.open', vscode.Uri.parse(page));
}

/** The schedule that a command works on: the document in its argument, or the active editor's. */
async function schedule(argument: unknown): Promise<vscode.TextDocument> {
    const named = uriOf(argument);
    const document = named === null
        ? vscode.window.activeTextEditor?.document
        : await vscode.workspace.openTextDocument(named);
    if (document?.languageId !== 'sched') throw new Error('open a schedule first.');
    return document;
}

/**
 * The document in a command's argument: menus pass a `Uri`, the server's code lenses an object with its text.
 */
function uriOf(argument: unknown): vscode.Uri | null {
    if (argument instanceof vscode.Uri) return argument;
    const named =
        typeof argument === 'object' && argument !== null && 'uri' in argument ? argument.uri : null;
    return typeof named === 'string' ? vscode.Uri.parse(named) : null;
}

/** The position in the argument of a command of the server, if it has one. */
const placeOf = (argument: unknown): unknown =>
    typeof argument === 'object' && argument !== null && 'position' in argument ? argument.position : null;

async function build(server: Server, document: vscode.TextDocument): Promise<void> {
    const params = { command: 'schedc.build', arguments: [{ uri: document.uri.toString() }] };
    const answer = await server.work<{ output: string }>(
        'building a library',
        'workspace/executeCommand',
        params,
    );
    if (answer === null) return;
    const library = vscode.Uri.file(answer.output);
    const choice = await vscode.window.showInformationMessage(
        `schedc: wrote ${answer.output}`,
        'Show in the Explorer',
    );
    if (choice !== undefined) await vscode.commands.executeCommand('revealInExplorer', library);
}
