// Bundles the extension into dist/, or its unit tests into out/ (`node build.mjs tests`).
import { readdirSync, rmSync } from 'node:fs';
import { build } from 'esbuild';

const shared = { bundle: true, logLevel: 'warning', target: 'es2022' };

if (process.argv[2] === 'tests') {
    rmSync('out', { recursive: true, force: true });
    const tests = readdirSync('test/unit').filter((name) => name.endsWith('.test.ts'));
    await build({
        ...shared,
        entryPoints: tests.map((name) => `test/unit/${name}`),
        platform: 'node',
        outdir: 'out',
        outExtension: { '.js': '.cjs' },
        packages: 'external',
        sourcemap: 'inline',
    });
} else {
    rmSync('dist', { recursive: true, force: true });
    const bundles = [
        // The extension runs in VS Code's Node, the panels in its browser.
        { entryPoints: ['src/extension.ts'], platform: 'node', format: 'cjs', external: ['vscode'] },
        { entryPoints: { nest: 'src/nest/webview.ts', bench: 'src/bench/webview.ts' }, platform: 'browser', format: 'iife' },
        { entryPoints: { nest: 'src/nest/nest.css', bench: 'src/bench/bench.css' } },
    ];
    await Promise.all(bundles.map((bundle) => build({ ...shared, ...bundle, outdir: 'dist', minify: true })));
}
