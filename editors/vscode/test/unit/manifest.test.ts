import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

const json = (file: string): any => JSON.parse(readFileSync(file, 'utf8'));
const manifest = json('package.json');

test('there are at most nine settings', () => {
    const settings = Object.keys(manifest.contributes.configuration.properties);
    assert(settings.length <= 9 && settings.every((name) => name.startsWith('schedc.')));
});

test('files that the manifest names exist', () => {
    const { languages, grammars, snippets } = manifest.contributes;
    const files = [
        manifest.icon,
        ...[
            ...languages.map((one: any) => one.configuration),
            ...grammars.map((one: any) => one.path),
            ...snippets.map((one: any) => one.path),
        ],
    ];
    for (const file of files) assert(existsSync(file), file);
});

test('every command of the manifest is registered, and is known to the README', () => {
    const source = readFileSync('src/extension.ts', 'utf8');
    const readme = readFileSync('README.md', 'utf8');
    for (const { command, title } of manifest.contributes.commands) {
        assert(source.includes(`command('${command.replace('schedc.', '')}'`), command);
        assert(readme.includes(title), title);
    }
});

test('the README describes every setting', () => {
    const readme = readFileSync('README.md', 'utf8');
    for (const name of Object.keys(manifest.contributes.configuration.properties))
        assert(readme.includes(`\`${name}\``), name);
});

/** A snippet's text with its default values. */
const expand = (body: string[]): string =>
    body.join('\n').replace(/\$\{\d+:([^}]*)\}/g, '$1').replaceAll('$0', '');

test(
    'snippets are good schedules',
    { skip: process.env['SCHEDC'] ? false : 'SCHEDC names no program' },
    () => {
        const folder = mkdtempSync(join(tmpdir(), 'schedc-snippets-'));
        try {
            for (const [name, { body }] of Object.entries<any>(json('snippets/sched.json'))) {
                if (name === 'Header') continue; // names the placeholder of a model
                const file = join(folder, 'snippet.sched');
                writeFileSync(file, `${expand(body).trim()}\n`);
                execFileSync(process.env['SCHEDC'] ?? '', ['check', file], { stdio: 'pipe' });
            }
        } finally {
            rmSync(folder, { recursive: true });
        }
    },
);
