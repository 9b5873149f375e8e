// The HTML around a panel's script and style sheet.

import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import * as vscode from 'vscode';

/**
 * A page that may run only the bundle `name`, and may not load anything. The script and the style sheet are
 * inline, since separate files would have to come through the editor's service worker, which delays the first
 * picture. `first` is a message for the script to show at its start, or null.
 */
export function page(
    extension: vscode.Uri,
    name: string,
    title: string,
    body: string,
    first: unknown = null,
): string {
    const nonce = randomBytes(16).toString('base64');
    const bundle = (ending: string): string =>
        readFileSync(vscode.Uri.joinPath(extension, 'dist', `${name}.${ending}`).fsPath, 'utf8');
    // Data, which is not run as a script, so the policy does not apply to it.
    const json = JSON.stringify(first).replaceAll('<', '\\u003c');
    const data = first === null ? '' : `<script type="application/json" id="first">${json}</script>`;
    const policy = `default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'`;
    return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<style nonce="${nonce}">${bundle('css').replaceAll('</style', '<\\/style')}</style>
<title>${title}</title>
</head>
<body>
${body}
${data}
<script nonce="${nonce}">${bundle('js').replaceAll('</script', '<\\/script')}</script>
</body>
</html>`;
}
