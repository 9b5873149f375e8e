// Bundles the extension into dist/, or its tests into out/ (`node build.mjs tests`).
import { copyFileSync, readdirSync, rmSync } from 'node:fs';
import { build } from 'esbuild';

const shared = { bundle: true, logLevel: 'warning', target: 'es2022' };

if (process.argv[2] === 'tests') {
    rmSync('out', { recursive: true, force: true });
    const tests = readdirSync('test/unit').filter((name) => name.endsWith('.test.ts'));
    await build({
        ...shared,
        entryPoints: [
            ...tests.map((name) => `test/unit/${name}`),
            'test/editor/main.ts',
            'test/editor/trial.ts',
        ],
        // All tests have the same output folder.
        entryNames: '[name]',
        platform: 'node',
        outdir: 'out',
        outExtension: { '.js': '.cjs' },
        packages: 'external',
        sourcemap: 'inline',
    });
} else {
    // The package includes the project's licences.
    for (const licence of ['LICENSE-APACHE', 'LICENSE-MIT']) copyFileSync(`../../${licence}`, licence);
    rmSync('dist', { recursive: true, force: true });
    const bundles = [
        // The extension runs in VS Code's Node, the panels in its browser.
        { entryPoints: ['src/extension.ts'], platform: 'node', format: 'cjs', external: ['vscode'] },
        {
            entryPoints: {
                nest: 'src/nest/webview.ts',
                bench: 'src/bench/webview.ts',
                stages: 'src/stages/webview.ts',
            },
            platform: 'browser',
            format: 'iife',
        },
        {
            entryPoints: {
                nest: 'src/nest/nest.css',
                bench: 'src/bench/bench.css',
                stages: 'src/stages/stages.css',
            },
        },
    ];
    await Promise.all(bundles.map((bundle) => build({ ...shared, ...bundle, outdir: 'dist', minify: true })));
}
