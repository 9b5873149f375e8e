// The panel of measurements: draws the last one that it was sent.

import { toDom } from '../nest/element';
import { chart } from './chart';
import type { FromBench, ToBench } from './messages';

declare function acquireVsCodeApi(): { postMessage(message: FromBench): void };

const vscode = acquireVsCodeApi();
let last: ToBench | null = null;

function draw(): void {
    const figure = document.getElementById('chart');
    if (last === null || figure === null) return;
    figure.replaceChildren(toDom(document, chart(last.now, last.earlier, figure.clientWidth)));
}

function write(id: string, text: string): void {
    const part = document.getElementById(id);
    if (part !== null) part.textContent = text;
}

window.addEventListener('message', ({ data }: MessageEvent<ToBench>) => {
    last = data;
    write('file', data.file);
    write('choose', data.rows);
    write('note', data.earlier === null ? '' : 'The mark is the measurement before.');
    draw();
});
window.addEventListener('resize', draw);
for (const id of ['again', 'choose'] as const) {
    document.getElementById(id)?.addEventListener('click', () => vscode.postMessage(id));
}
vscode.postMessage('ready');
