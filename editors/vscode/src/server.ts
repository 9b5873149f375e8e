// The life cycle of the language server: find, start, watch, restart.

import * as vscode from 'vscode';
import {
    ErrorAction,
    ErrorCodes,
    type ErrorHandler,
    LanguageClient,
    ResponseError,
    State,
    WorkDoneProgress,
    type StaticFeature,
} from 'vscode-languageclient/node';
import { followed, shortened } from './completion';
import { findProgram, type Program, Unusable } from './find';
import { showVersion } from './version';

export type Condition =
    | { readonly kind: 'starting' }
    | { readonly kind: 'running'; readonly version: string; readonly path: string }
    | { readonly kind: 'stopped'; readonly why: string };

export class Server implements vscode.Disposable {
    readonly output = vscode.window.createOutputChannel('schedc', { log: true });
    private client: LanguageClient | null = null;
    private condition: Condition = { kind: 'starting' };
    private readonly changed = new vscode.EventEmitter<Condition>();
    private works = 0;
    private isOffering = false;
    /** The pending starts and stops, which run one after the other. */
    private queue: Promise<void> = Promise.resolve();

    private readonly analysisChanged = new vscode.EventEmitter<string>();

    /** `extension` is the folder of the extension. */
    constructor(private readonly extension: string) {}

    /** Fires with the URI of a document whose answers change although its text does not. */
    readonly onDidChangeAnalysis = this.analysisChanged.event;

    /** Fires at every change of the condition. */
    readonly onDidChange = this.changed.event;

    get now(): Condition {
        return this.condition;
    }

    /** The client, while the server runs. */
    get running(): LanguageClient | null {
        return this.client?.state === State.Running ? this.client : null;
    }

    /** Starts or restarts the server; looks up the program and the settings again. */
    restart(): Promise<void> {
        this.queue = this.queue.then(async () => {
            await this.stop();
            await this.start();
        });
        return this.queue;
    }

    /** Sends a request; throws if the server does not run. */
    async request<Answer>(
        method: string,
        params: object,
        cancel?: vscode.CancellationToken,
    ): Promise<Answer> {
        const client = this.running;
        if (client === null) {
            throw new Error(
                this.condition.kind === 'stopped' ? this.condition.why : 'schedc is still starting.',
            );
        }
        // The client would send an undefined token as a parameter of the request.
        return cancel === undefined
            ? client.sendRequest<Answer>(method, params)
            : client.sendRequest<Answer>(method, params, cancel);
    }

    /** Sends a slow request with progress in a notification. Returns null if the user cancels it there. */
    async work<Answer>(title: string, method: string, params: object): Promise<Answer | null> {
        const options = {
            location: vscode.ProgressLocation.Notification,
            title: `schedc: ${title}`,
            cancellable: true,
        };
        return vscode.window.withProgress(options, async (progress, cancel) => {
            // With this token, the server reports progress in this notification alone.
            const workDoneToken = `schedc-${++this.works}`;
            const listening = this.running?.onProgress(WorkDoneProgress.type, workDoneToken, (value) => {
                if (value.kind !== 'end' && value.message) progress.report({ message: value.message });
            });
            try {
                return await this.request<Answer>(method, { ...params, workDoneToken }, cancel);
            } catch (error) {
                if (cancel.isCancellationRequested) return null;
                throw error;
            } finally {
                listening?.dispose();
            }
        });
    }

    async dispose(): Promise<void> {
        await this.queue;
        await this.stop();
        this.changed.dispose();
        this.analysisChanged.dispose();
        this.output.dispose();
    }

    private set(condition: Condition): void {
        this.condition = condition;
        this.changed.fire(condition);
    }

    private async start(): Promise<void> {
        this.set({ kind: 'starting' });
        try {
            const { path, version, server } = await findProgram({
                setting: vscode.workspace.getConfiguration('schedc').get('path', '').trim(),
                folder: vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? null,
                searchPath: process.env['PATH'] ?? '',
                extension: this.extension,
            });
            this.output.info(`${path}, version ${showVersion(version)}`);
            const client = this.connect(server);
            this.client = client;
            client.onDidChangeState(({ newState }) => {
                if (this.client !== client) return;
                if (newState === State.Running)
                    this.set({ kind: 'running', version: showVersion(version), path });
                if (newState === State.Starting) this.set({ kind: 'starting' });
                if (newState === State.Stopped || newState === State.StartFailed) {
                    this.set({ kind: 'stopped', why: 'The language server has stopped.' });
                    void this.ended(client);
                }
            });
            await client.start();
        } catch (error) {
            await this.fail(error);
        }
    }

    private connect([command, ...args]: Program['server']): LanguageClient {
        let handler: ErrorHandler | undefined;
        const usual = (): ErrorHandler => (handler ??= client.createDefaultErrorHandler());
        const client: LanguageClient = new LanguageClient(
            'schedc',
            'schedc',
            { command, args },
            {
                documentSelector: [
                    { language: 'sched', scheme: 'file' },
                    { language: 'sched', scheme: 'untitled' },
                ],
                outputChannel: this.output,
                initializationOptions: settings(),
                errorHandler: {
                    // A server that has ended also closes the connection, upon which another one starts.
                    error: () => ({ action: ErrorAction.Continue, handled: true }),
                    closed: async () => ({ ...(await usual().closed()), handled: true }),
                },
                synchronize: { configurationSection: 'schedc' },
                middleware: {
                    provideCompletionItem: async (document, position, context, token, next) =>
                        followed(await next(document, position, context, token)),
                    provideSignatureHelp: async (document, position, context, token, next) =>
                        shortened(await next(document, position, context, token), position.line),
                    sendRequest: async (type, params, token, next) => {
                        // The editor still sends requests while the server shuts down, and the server
                        // refuses them. The client shows every error to the user except this one.
                        const ended = new ResponseError(
                            ErrorCodes.PendingResponseRejected,
                            'schedc is restarting.',
                        );
                        if (this.client !== client) throw ended;
                        try {
                            return await next(type, params, token);
                        } catch (error) {
                            throw this.client === client ? error : ended;
                        }
                    },
                    workspace: {
                        didChangeConfiguration: async (sections, next) => {
                            // If the path changes, the server restarts and reads all settings at its start.
                            await new Promise((soon) => setImmediate(soon));
                            await this.queue;
                            if (this.running === client) await next(sections);
                        },
                    },
                },
            },
        );
        client.registerFeature(ownCommands);
        client.onNotification('sched/changed', ({ uri }: { uri: string }) => this.analysisChanged.fire(uri));
        return client;
    }

    /** Offers a restart if the client does not start another server by itself. */
    private async ended(client: LanguageClient): Promise<void> {
        await new Promise((soon) => setTimeout(soon, RESTARTED));
        if (this.client !== client || this.condition.kind !== 'stopped' || this.isOffering) return;
        this.isOffering = true;
        await this.offer(this.condition.why, [RESTART, SHOW_OUTPUT]).finally(() => (this.isOffering = false));
    }

    private async stop(): Promise<void> {
        const client = this.client;
        this.client = null;
        if (client === null) return;
        try {
            await client.dispose(2000);
        } catch (error) {
            this.output.warn(`while stopping: ${String(error)}`);
        }
    }

    private async fail(error: unknown): Promise<void> {
        const why = error instanceof Error ? error.message : String(error);
        this.output.error(why);
        await this.stop();
        this.set({ kind: 'stopped', why });
        void this.offer(why, [error instanceof Unusable ? OPEN_SETTING : SHOW_OUTPUT, TRY_AGAIN]);
    }

    private async offer(why: string, choices: readonly string[]): Promise<void> {
        const choice = await vscode.window.showErrorMessage(why, ...choices);
        if (choice === OPEN_SETTING)
            await vscode.commands.executeCommand('workbench.action.openSettings', 'schedc.path');
        if (choice === SHOW_OUTPUT) this.output.show();
        if (choice === TRY_AGAIN || choice === RESTART) await this.restart();
    }
}

/** Milliseconds in which the client begins to start another server. */
const RESTARTED = 1000;
const OPEN_SETTING = 'Open the Setting';
const SHOW_OUTPUT = 'Show the Output';
const TRY_AGAIN = 'Try Again';
const RESTART = 'Restart the Language Server';

const settings = (): unknown => JSON.parse(JSON.stringify(vscode.workspace.getConfiguration('schedc')));

/**
 * Keeps the client from registering the server's commands under their own names. The extension's commands of
 * these names send the requests and show the answers.
 */
const ownCommands: StaticFeature = {
    fillClientCapabilities: () => undefined,
    preInitialize: (capabilities) => {
        delete capabilities.executeCommandProvider;
    },
    initialize: () => undefined,
    getState: () => ({ kind: 'static' }),
    clear: () => undefined,
};
