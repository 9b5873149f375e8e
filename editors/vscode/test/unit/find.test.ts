import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { findProgram, Unusable } from '../../src/find';
import { isRecent, readVersion } from '../../src/version';

let folder = '';
before(() => {
    folder = mkdtempSync(join(tmpdir(), 'schedc-find-'));
});
after(() => rmSync(folder, { recursive: true }));

/** Creates a program `name/schedc-lsp` that runs a script. */
function server(name: string, script: string): string {
    const path = join(folder, name, 'schedc-lsp');
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o755);
    return path;
}

/** Creates a program `name/schedc` that prints a version, with or without the command `lsp`. */
function program(name: string, version: string, lsp: boolean): string {
    const path = join(folder, name, 'schedc');
    mkdirSync(join(folder, name));
    writeFileSync(path, `#!/bin/sh\n[ "$1" = lsp ] && exit ${lsp ? 0 : 2}\necho '${version}'\n`);
    chmodSync(path, 0o755);
    return path;
}

async function failure(setting: string, searchPath = ''): Promise<string> {
    try {
        await findProgram({ setting, folder, searchPath, extension: folder });
    } catch (error) {
        if (error instanceof Unusable) return `${error.kind}: ${error.message}`;
        throw error;
    }
    return 'found';
}

test('the setting comes before the PATH', async () => {
    const first = program('first', 'schedc 0.1.0', true);
    const second = program('second', 'schedc 1.2.3', true);
    const places = {
        folder,
        extension: folder,
        searchPath: `${join(folder, 'none')}:${join(folder, 'second')}`,
    };
    assert.deepEqual(await findProgram({ ...places, setting: '' }), {
        path: second,
        version: [1, 2, 3],
        server: [second, 'lsp'],
    });
    assert.equal((await findProgram({ ...places, setting: first })).path, first);
    assert.equal((await findProgram({ ...places, setting: 'first/schedc' })).path, first);
    assert.equal((await findProgram({ ...places, setting: '${workspaceFolder}/first/schedc' })).path, first);
});

test('the program schedc-lsp beside schedc is preferred', async () => {
    const path = program('both', 'schedc 1.2.3', true);
    const beside = server('both', "[ \"$1\" = --version ] && echo 'schedc-lsp 1.2.4'");
    const found = await findProgram({ setting: path, folder, searchPath: '', extension: folder });
    assert.deepEqual(found, { path, version: [1, 2, 4], server: [beside] });
    server('both', "echo 'schedc-lsp 0.0.9'");
    assert.match(await failure(path), /^too old: schedc 0\.0\.9/);
    server('both', 'cat >/dev/null; exit 1');
    assert.deepEqual(
        (await findProgram({ setting: path, folder, searchPath: '', extension: folder })).server,
        [path, 'lsp'],
    );
});

test('the programs inside the extension come last', async () => {
    mkdirSync(join(folder, 'extension'));
    const inside = program('extension/bin', 'schedc 0.1.0', true);
    const outside = program('outside', 'schedc 0.1.1', true);
    const stale = program('stale', 'schedc 0.0.1', true);
    const look = async (searchPath: string, setting = ''): Promise<string> =>
        (await findProgram({ setting, folder, searchPath, extension: join(folder, 'extension') })).path;
    assert.equal(await look(''), inside);
    assert.equal(await look(join(folder, 'outside')), outside);
    assert.equal(await look(join(folder, 'stale')), inside);
    await assert.rejects(look('', stale), /too old/);
});

test('messages name the missing program', async () => {
    assert.match(await failure('', join(folder, 'nowhere')), /^missing: schedc is not on the PATH/);
    assert.match(
        await failure('nowhere/schedc'),
        /^missing: The setting schedc\.path names .*nowhere\/schedc/,
    );
    assert.match(await failure('.'), /^missing/);
});

test('an old schedc and another program have different messages', async () => {
    program('old', 'schedc 0.0.9', true);
    program('early', 'schedc 0.1.0', false);
    program('other', 'make 4.3', true);
    assert.match(await failure('old/schedc'), /^too old: schedc 0\.0\.9 .* 0\.1\.0 or newer/);
    assert.match(await failure('early/schedc'), /^too old: .* has no language server/);
    assert.match(await failure('other/schedc'), /^broken/);
    const alone = program('alone', 'schedc 0.1.0', true);
    writeFileSync(alone, readFileSync(alone, 'utf8').replace('exit 0', '{ [ "$2" = --help ]; exit; }'));
    assert.match(await failure('alone/schedc'), /^broken: .* cannot start schedc-lsp/);
});

test('versions', () => {
    assert.deepEqual(readVersion('schedc 0.12.3 (abc)\n'), [0, 12, 3]);
    assert.equal(readVersion('schedc'), null);
    assert(
        isRecent([0, 2, 0], [0, 1, 9]) && isRecent([1, 0, 0], [0, 9, 9]) && isRecent([0, 1, 0], [0, 1, 0]),
    );
    assert(!isRecent([0, 1, 8], [0, 1, 9]) && !isRecent([0, 9, 9], [1, 0, 0]));
});
