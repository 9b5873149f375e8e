import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const json = (file: string): any => JSON.parse(readFileSync(file, 'utf8'));
const manifest = json('package.json');

test('there are at most nine settings', () => {
    const settings = Object.keys(manifest.contributes.configuration.properties);
    assert(settings.length <= 9 && settings.every((name) => name.startsWith('schedc.')));
});

test('files that the manifest names exist', () => {
    const { languages, grammars } = manifest.contributes;
    const files = [
        manifest.icon,
        ...[
            ...languages.map((one: any) => one.configuration),
            ...grammars.map((one: any) => one.path),
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

test('Enter at a finished word begins a new line, and snippets come from the server alone', () => {
    const forSchedules = manifest.contributes.configurationDefaults['[sched]'];
    assert.equal(forSchedules['editor.acceptSuggestionOnEnter'], 'smart');
    assert.equal(manifest.contributes.snippets, undefined);
});
