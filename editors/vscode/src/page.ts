// The HTML around a panel's script and style sheet.

import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';

/** A page that may run nothing but the bundle `name`, and load nothing but its style sheet. */
export function page(
    webview: vscode.Webview,
    extension: vscode.Uri,
    name: string,
    title: string,
    body: string,
): string {
    const nonce = randomBytes(16).toString('base64');
    const at = (file: string): string =>
        webview.asWebviewUri(vscode.Uri.joinPath(extension, 'dist', file)).toString();
    const policy = `default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}'`;
    return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<link rel="stylesheet" href="${at(`${name}.css`)}">
<title>${title}</title>
</head>
<body>
${body}
<script nonce="${nonce}" src="${at(`${name}.js`)}"></script>
</body>
</html>`;
}
