// The panel of stages inside the webview: lines, their changes, and marks on the lines that stem from the
// directive at the cursor.

import { linesOf, LIVE, stageLines, type LiveStage, type StageLine } from './answer';
import { changedLines } from './diff';
import type { FromStages, ToStages } from './messages';

declare function acquireVsCodeApi(): {
    postMessage(message: FromStages): void;
    setState(state: unknown): void;
    getState(): unknown;
};

const vscode = acquireVsCodeApi();

function part(id: string): HTMLElement {
    const found = document.getElementById(id);
    if (found === null) throw new Error(`the panel has no ${id}`);
    return found;
}

interface Shown {
    readonly section: HTMLDetailsElement;
    readonly body: HTMLElement;
    readonly note: HTMLElement;
    lines: readonly StageLine[];
}

const shown = new Map<LiveStage, Shown>(LIVE.map((stage) => {
    const section = part(stage) as HTMLDetailsElement;
    const body = section.querySelector<HTMLElement>('.lines') as HTMLElement;
    const note = section.querySelector<HTMLElement>('.note') as HTMLElement;
    return [stage, { section, body, note, lines: [] }];
}));
let cursor: number | null = null;

/** Sends the names of the unfolded stages. */
function open(): void {
    const stages = LIVE.filter((stage) => shown.get(stage)?.section.open);
    vscode.setState({ stages });
    vscode.postMessage({ type: 'open', stages });
}

function draw(stage: Shown, lines: readonly StageLine[], milliseconds: number): void {
    const before = stage.lines.map((line) => line.text);
    const changed =
        before.length === 0
            ? new Set<number>()
            : changedLines(
                  before,
                  lines.map((line) => line.text),
              );
    stage.lines = lines;
    stage.section.classList.remove('stale', 'failed');
    const counted = `${lines.length} lines, ${milliseconds} ms`;
    stage.note.textContent = changed.size === 0 ? counted : `${counted}, ${changed.size} changed`;
    const { scrollTop } = stage.body;
    stage.body.replaceChildren(...lines.map(({ text, ranges }, at) => {
        const line = document.createElement('div');
        line.className = `line${changed.has(at) ? ' changed' : ''}${ranges.length > 0 ? ' known' : ''}`;
        line.dataset['line'] = String(at);
        line.textContent = text === '' ? ' ' : text;
        return line;
    }));
    stage.body.scrollTop = scrollTop;
    mark(stage);
}

/** Marks the lines that stem from the directive at the cursor. */
function mark(stage: Shown): void {
    const marked = cursor === null ? new Set<number>() : linesOf(stage.lines, cursor);
    let first: Element | null = null;
    for (const line of stage.body.querySelectorAll<HTMLElement>('.line.known')) {
        const isMarked = marked.has(Number(line.dataset['line']));
        line.classList.toggle('marked', isMarked);
        if (isMarked) first ??= line;
    }
    first?.scrollIntoView({ block: 'nearest' });
}

document.addEventListener('click', (event) => {
    const line = event.target instanceof Element ? event.target.closest<HTMLElement>('.line.known') : null;
    const stage = LIVE.find((name) => line !== null && shown.get(name)?.body.contains(line));
    const [range] =
        stage === undefined ? [] : (shown.get(stage)?.lines[Number(line?.dataset['line'])]?.ranges ?? []);
    if (range !== undefined) vscode.postMessage({ type: 'reveal', range });
});

for (const { section } of shown.values()) section.addEventListener('toggle', open);

window.addEventListener('message', ({ data }: MessageEvent<ToStages>) => {
    switch (data.type) {
        case 'stage': {
            part('state').textContent = '';
            const stage = shown.get(data.stage);
            return stage === undefined ? undefined : draw(stage, stageLines(data.output), data.milliseconds);
        }
        case 'stale':
            for (const { section } of shown.values()) section.classList.add('stale');
            return;
        case 'failed': {
            part('state').textContent = data.reason.split('\n')[0] ?? '';
            const stage = shown.get(data.stage);
            stage?.section.classList.add('stale', 'failed');
            return;
        }
        case 'file':
            if (part('file').textContent === data.file) return;
            part('file').textContent = data.file;
            for (const stage of shown.values()) {
                stage.lines = [];
                stage.body.replaceChildren();
            }
            return;
        case 'cursor':
            // Marking scrolls, so unfolding a stage must not mark again.
            if (cursor === data.line) return;
            cursor = data.line;
            for (const stage of shown.values()) mark(stage);
    }
});

const remembered = (vscode.getState() as { stages?: readonly LiveStage[] } | undefined)?.stages;
if (remembered !== undefined) {
    for (const [name, { section }] of shown) section.open = remembered.includes(name);
}
open();
