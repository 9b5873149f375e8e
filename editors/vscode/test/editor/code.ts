// An isolated VS Code: installed extension, settings, and a server that a browser can open.

import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream, mkdirSync } from 'node:fs';
import { join } from 'node:path';

const PATIENCE = 60_000;

export class Code {
    private constructor(private readonly child: ChildProcess, readonly url: string) {}

    /** Starts VS Code with an extension installed; all its files are below `home`. */
    static async start(vscode: string, vsix: string, home: string): Promise<Code> {
        mkdirSync(home, { recursive: true });
        const main = join(vscode, 'out', 'server-main.js');
        const folders = ['--accept-server-license-terms', '--server-data-dir', join(home, 'server'),
            '--user-data-dir', join(home, 'user'), '--extensions-dir', join(home, 'extensions')];
        execFileSync(process.execPath, [main, ...folders, '--install-extension', vsix], {
            stdio: ['ignore', 'ignore', 'ignore'],
        });
        const options = ['--host', '127.0.0.1', '--port', '0', '--without-connection-token',
            '--telemetry-level', 'off', '--disable-workspace-trust'];
        const child = spawn(process.execPath, [main, ...folders, ...options], {
            stdio: ['ignore', 'pipe', 'pipe'],
            // VS Code then takes the PATH of this process, as if started from a terminal, not a login
            // shell's.
            env: { ...process.env, VSCODE_CLI: '1' },
        });
        const log = createWriteStream(join(home, 'vscode.log'));
        child.stdout.pipe(log);
        child.stderr.pipe(log);
        return new Code(child, await address(child));
    }

    /** The address of a folder. */
    open(folder: string): string {
        return `${this.url}/?folder=${encodeURIComponent(folder)}`;
    }

    async stop(): Promise<void> {
        const ended = new Promise((done) => this.child.once('exit', done));
        if (this.child.kill()) await ended;
    }
}

/** Waits until the server prints its address. */
function address(child: ChildProcess): Promise<string> {
    return new Promise((found, failed) => {
        const timer = setTimeout(() => failed(new Error('VS Code did not start in time')), PATIENCE);
        let printed = '';
        child.stdout?.on('data', (data: Buffer) => {
            printed += data.toString();
            const port = /Extension host agent listening on (\d+)/.exec(printed)?.[1];
            if (port === undefined) return;
            clearTimeout(timer);
            found(`http://127.0.0.1:${port}`);
        });
        child.once('exit', (status) => failed(new Error(`VS Code ended with status ${status}`)));
    });
}
