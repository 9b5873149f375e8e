// The language servers that this program's editor has started, from Linux's /proc.

import { readdir, readFile } from 'node:fs/promises';

interface Process {
    readonly id: number;
    readonly parent: number;
    readonly name: string;
}

async function processOf(id: number): Promise<Process | null> {
    // `ID (NAME) STATE PARENT ...`; NAME may contain any character. The process may have ended in the
    // meantime.
    const stat = await readFile(`/proc/${id}/stat`, 'utf8').catch(() => '');
    const match = /^\d+ \((.*)\) (\S) (\d+) /s.exec(stat);
    return match === null || match[2] === 'Z' ? null : { id, parent: Number(match[3]), name: match[1] ?? '' };
}

/** The ids of the servers among the descendants of this process. */
export async function servers(): Promise<number[]> {
    const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
    const all = (await Promise.all(ids.map(processOf))).filter((one) => one !== null);
    const parents = new Map(all.map(({ id, parent }) => [id, parent]));
    const isOurs = (id: number): boolean => {
        for (let at: number | undefined = id; at !== undefined && at > 1; at = parents.get(at)) {
            if (at === process.pid) return true;
        }
        return false;
    };
    return all.filter(({ id, name }) => name === 'schedc-lsp' && isOurs(id)).map(({ id }) => id);
}
