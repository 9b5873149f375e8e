// The panel of measurements: draws the last one that it was sent.

import { toDom } from '../nest/element';
import { chart } from './chart';
import type { ToBench } from './messages';

declare function acquireVsCodeApi(): { postMessage(message: 'ready'): void };

let last: ToBench | null = null;

function draw(): void {
    const file = document.getElementById('file');
    const figure = document.getElementById('chart');
    if (last === null || file === null || figure === null) return;
    file.textContent = last.file;
    figure.replaceChildren(toDom(document, chart(last.now, last.earlier, figure.clientWidth)));
}

window.addEventListener('message', ({ data }: MessageEvent<ToBench>) => {
    last = data;
    draw();
});
window.addEventListener('resize', draw);
acquireVsCodeApi().postMessage('ready');
