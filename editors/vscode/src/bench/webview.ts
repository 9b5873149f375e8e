// The panel of measurements: draws the last measurement that it received.

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

/** The legend of the marks. */
function note({ now, earlier }: ToBench): string {
    const hasBaselines = now.points.some(({ chosen, plain }) => chosen !== undefined || plain !== undefined);
    return [
        ...(earlier === null ? [] : ['The vertical mark is the previous measurement.']),
        ...(hasBaselines
            ? [
                  'The diamond is the schedule that schedc chooses,',
                  'the dashed line is the nest without directives.',
              ]
            : []),
    ].join(' ');
}

window.addEventListener('message', ({ data }: MessageEvent<ToBench>) => {
    last = data;
    write('file', data.file);
    write('choose', data.rows);
    write('calls', data.calls);
    write('note', note(data));
    draw();
});
window.addEventListener('resize', draw);
for (const id of ['again', 'choose', 'calls'] as const) {
    document.getElementById(id)?.addEventListener('click', () => vscode.postMessage(id));
}
vscode.postMessage('ready');
