// Finds the schedc program and checks its version.

import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { isRecent, OLDEST, readVersion, showVersion, type Version } from './version';

/** The reason why schedc cannot be run. `message` is for the user. */
export class Unusable extends Error {
    constructor(readonly kind: 'missing' | 'too old' | 'broken', message: string) {
        super(message);
    }
}

export interface Program {
    readonly path: string;
    readonly version: Version;
    /** The command that starts the language server: the program and its arguments. */
    readonly server: readonly [string, ...string[]];
}

/** The places in which to look for schedc. */
export interface Places {
    /** The setting `schedc.path`; empty if it is not set. */
    readonly setting: string;
    /** The folder to which a relative path in the setting refers. */
    readonly folder: string | null;
    /** The environment's `PATH`. */
    readonly searchPath: string;
    /** The extension's folder. Packages for a single platform have schedc in it. */
    readonly extension: string;
}

/** Finds schedc and reads its version. */
export async function findProgram(places: Places): Promise<Program> {
    if (places.setting !== '') return program(await named(places));
    const inside = await search(join(places.extension, 'bin'));
    try {
        const path = await search(places.searchPath);
        if (path !== null) return await program(path);
    } catch (error) {
        // If the schedc on the PATH cannot be used, the one inside the extension may.
        if (inside === null || !(error instanceof Unusable)) throw error;
    }
    if (inside !== null) return program(inside);
    throw new Unusable(
        'missing',
        'schedc is not on the PATH. Install it, or set schedc.path to its path.',
    );
}

async function program(path: string): Promise<Program> {
    return (await beside(path)) ?? { path, version: await versionOf(path), server: [path, 'lsp'] };
}

/** The program schedc-lsp beside schedc. It starts faster than `schedc lsp`, since it does not load LLVM. */
async function beside(path: string): Promise<Program | null> {
    const server = join(
        dirname(await realpath(path)),
        process.platform === 'win32' ? 'schedc-lsp.exe' : 'schedc-lsp',
    );
    const printed = (await isProgram(server)) ? await run(server, ['--version']) : null;
    const version = printed === null ? null : readVersion(printed);
    return version === null ? null : { path, version: recent(path, version), server: [server] };
}

async function search(searchPath: string): Promise<string | null> {
    const names = process.platform === 'win32' ? ['schedc.exe'] : ['schedc'];
    for (const folder of searchPath.split(delimiter)) {
        for (const name of names) {
            // Skips relative and empty entries: an empty entry means the current folder, where anybody may
            // write.
            if (isAbsolute(folder) && (await isProgram(join(folder, name)))) return join(folder, name);
        }
    }
    return null;
}

async function named({ setting, folder }: Places): Promise<string> {
    const home = setting.replace(/^~(?=[/\\]|$)/, homedir());
    const path =
        folder === null ? resolve(home) : resolve(folder, home.replaceAll('${workspaceFolder}', folder));
    if (await isProgram(path)) return path;
    throw new Unusable('missing', `The setting schedc.path names ${path}, which is no program.`);
}

async function isProgram(path: string): Promise<boolean> {
    try {
        await access(path, constants.X_OK);
        return (await stat(path)).isFile();
    } catch {
        return false;
    }
}

async function versionOf(path: string): Promise<Version> {
    const printed = await run(path, ['--version']);
    const version = printed === null ? null : readVersion(printed);
    if (version === null) {
        throw new Unusable(
            'broken',
            `${path} does not run, or is another program: it does not print schedc's version.`,
        );
    }
    recent(path, version);
    if ((await run(path, ['lsp', '--help'])) === null) {
        const needed = showVersion(OLDEST);
        throw new Unusable(
            'too old',
            `schedc at ${path} has no language server. Update it to ${needed} or newer.`,
        );
    }
    if ((await run(path, ['lsp', '--version'])) === null) {
        throw new Unusable(
            'broken',
            `schedc at ${path} cannot start schedc-lsp, the language server. Install schedc-lsp beside it.`,
        );
    }
    return version;
}

/** Returns a version; throws if it is too old. */
function recent(path: string, version: Version): Version {
    if (isRecent(version)) return version;
    const needed = showVersion(OLDEST);
    throw new Unusable(
        'too old',
        `schedc ${showVersion(version)} at ${path} is too old: ${needed} or newer is needed.`,
    );
}

/** The standard output of a program; null if it fails. */
function run(path: string, args: readonly string[]): Promise<string | null> {
    return new Promise((done) => {
        const options = { timeout: 10_000, windowsHide: true };
        const child = execFile(path, args, options, (error, stdout) => done(error === null ? stdout : null));
        // Closing standard input ends a program that waits for it.
        child.stdin?.end();
    });
}
