// The nest panel inside the webview: draws the nests that the extension sends, and reports clicks and keys.

import { firstMarked, markedAt, type Marked, partsOf } from './cursor';
import { Dragging } from './drag';
import { tileable } from './drops';
import { toDom } from './element';
import { layout, type Measure, type TextStyle } from './layout';
import type { FromPanel, Problem, ToPanel } from './messages';
import { render } from './render';
import { changes } from './step';
import { allLoops, type Loop, type NestView, type Range } from './view';
import { facts as factsOf, pieces, remark } from './words';

declare function acquireVsCodeApi(): {
    postMessage(message: FromPanel): void;
    setState(state: unknown): void;
    getState(): unknown;
};

const vscode = acquireVsCodeApi();
const send = (message: FromPanel): void => vscode.postMessage(message);

function part(id: string): HTMLElement {
    const found = document.getElementById(id);
    if (found === null) throw new Error(`the panel has no ${id}`);
    return found;
}

const picture = part('picture');
const file = part('file');
const facts = part('facts');
const state = part('state');
const problems = part('problems');
const order = part('order');
const follow = part('follow');

type Nest = Extract<ToPanel, { type: 'nest' }>;
let nest: Nest | null = null;
/** The loop with the keyboard focus. */
let current: string | null = null;
/** The first marked part of the last picture, by its key. */
let lastMarked: string | null = null;
/** A fingerprint of each loop in the last picture, by name. */
let known = new Map<string, string>();

/** The document's version for which the last drops hold, as a key. */
let key = 0;
/** Whether the nest at the cursor is shown. */
let atCursor = (vscode.getState() as { atCursor?: boolean } | undefined)?.atCursor ?? true;

const dragging = new Dragging({
    picture,
    hint: part('hint'),
    nameOf: (element) => nameOf(element),
    write: (directive) => send({ type: 'write', key, directive }),
    choose: (loop) => send({ type: 'tile', key, loop }),
});

// Drawing

function measure(): Measure {
    const context = document.createElement('canvas').getContext('2d');
    const fonts = new Map<TextStyle, string>();
    return (text, style) => {
        let font = fonts.get(style);
        if (font === undefined) {
            const { fontWeight, fontSize, fontFamily } = getComputedStyle(part(`font-${style}`));
            font = `${fontWeight} ${fontSize} ${fontFamily}`;
            fonts.set(style, font);
        }
        if (context === null) return text.length * 8;
        context.font = font;
        return context.measureText(text).width;
    };
}

function draw(): void {
    const view = nest?.view ?? null;
    if (nest === null || view === null) return;
    const marked = markedIn(nest, view);
    const hadFocus = picture.contains(document.activeElement);
    const svg = toDom(
        document,
        render(
            layout(view, picture.clientWidth, measure()),
            marked,
            tileable(dragging.drops),
            partsOf(view, nest.leftOut),
        ),
    );
    flash(svg, view);
    picture.replaceChildren(svg);
    const items = loopElements();
    const focus = items.find((item) => nameOf(item) === current) ?? items[0];
    if (focus !== undefined) reach(focus, hadFocus);
    scrollTo(marked === undefined ? null : firstMarked(view, marked));
}

/** Scrolls to the first marked part, if it is another one than in the last picture. */
function scrollTo(key: string | null): void {
    if (key !== null && key !== lastMarked) {
        const part = picture.querySelector(
            key.includes(':') ? `[data-badge="${key}"]` : `[data-loop="${key}"] > .box`,
        );
        part?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    }
    lastMarked = key;
}

/** The parts to mark: those that the current step changed, or else those of the directive at the cursor. */
function markedIn({ step, cursor }: Nest, view: NestView): Marked | undefined {
    if (step !== null) return step.before === null ? undefined : changes(step.before, view).marked;
    return cursor === null ? undefined : markedAt(view, cursor);
}

/** Highlights new and changed loops for a moment. */
function flash(svg: SVGElement, view: NestView): void {
    const looks = new Map([...allLoops(view)].map((loop) => [loop.name, look(loop)]));
    if (known.size > 0) {
        for (const item of svg.querySelectorAll<SVGElement>('.loop')) {
            const name = loopOf(item)?.name ?? '';
            if (looks.get(name) !== known.get(name)) item.classList.add('changed');
        }
    }
    known = looks;
}

const look = (loop: Loop): string =>
    [loop.range, loop.condition, ...loop.badges.map((badge) => badge.text)].join('|');

function describe(view: NestView): void {
    facts.replaceChildren(...factsOf(view).map((fact) => span('chip', fact)));
    order.replaceChildren();
    if (view.accumulation === null) return;
    const exact = view.accumulation.order === 'exact';
    order.append(
        span(exact ? 'order exact' : 'order reassociated', exact ? 'exact' : view.accumulation.order),
        prose('why', view.accumulation.why ?? (exact ? 'in the model’s order, to the last bit' : '')),
    );
}

function span(kind: string, text: string): HTMLSpanElement {
    const made = document.createElement('span');
    made.className = kind;
    made.textContent = text;
    return made;
}

/** Text with names between backticks. */
function prose(kind: string, text: string): HTMLSpanElement {
    const made = span(kind, '');
    for (const piece of pieces(text)) {
        const part = document.createElement(piece.isName ? 'code' : 'span');
        part.textContent = piece.text;
        made.append(part);
    }
    return made;
}

// Problems

const SIGNS = { error: '⊗', warning: '△' } as const;

function listProblems(key: number, all: readonly Problem[]): void {
    problems.replaceChildren(...all.map((problem, at) => {
        const item = document.createElement('li');
        item.className = problem.severity;
        const text = document.createElement('button');
        text.className = 'message';
        text.append(
            span('sign', SIGNS[problem.severity]),
            prose('text', problem.message),
            span('code', problem.code),
        );
        text.addEventListener('click', () => send({ type: 'reveal', range: problem.range }));
        item.append(text);
        const fixes = document.createElement('div');
        fixes.className = 'fixes';
        fixes.append(...problem.fixes.map((title, fix) => {
            const button = document.createElement('button');
            button.className = 'fix';
            button.append(prose('title', title));
            button.addEventListener('click', () => send({ type: 'fix', key, problem: at, fix }));
            return button;
        }));
        item.append(fixes);
        return item;
    }));
    problems.hidden = all.length === 0;
}

// Pointer and keys

const loopElements = (): SVGElement[] => [...picture.querySelectorAll<SVGElement>('.loop')];

function loopOf(element: Element): Loop | null {
    const id = Number(element.getAttribute('data-loop'));
    for (const loop of nest?.view === undefined || nest.view === null ? [] : allLoops(nest.view)) {
        if (loop.id === id) return loop;
    }
    return null;
}

const nameOf = (element: Element): string | null => loopOf(element)?.name ?? null;

/** Makes a loop the target of the Tab key, followed by its badges. */
function reach(item: SVGElement, focus: boolean): void {
    for (const other of picture.querySelectorAll('[tabindex]')) other.setAttribute('tabindex', '-1');
    item.setAttribute('tabindex', '0');
    for (const badge of item.querySelectorAll(':scope > .badge, :scope > .handle'))
        badge.setAttribute('tabindex', '0');
    current = nameOf(item);
    if (focus) {
        item.focus();
        item.querySelector(':scope > .box')?.scrollIntoView({ block: 'nearest' });
    }
}

function reveal(target: Element): void {
    const badge = target.closest('[data-badge]');
    const item = target.closest('[data-loop]');
    if (item === null) return;
    const loop = loopOf(item);
    const index = badge === null ? null : Number(badge.getAttribute('data-badge')?.split(':')[1]);
    const range: Range | null | undefined = index === null ? loop?.origin : loop?.badges[index]?.span;
    if (range) send({ type: 'reveal', range });
}

picture.addEventListener('click', (event) => {
    if (!(event.target instanceof Element)) return;
    const item = event.target.closest<SVGElement>('.loop');
    if (item !== null) reach(item, true);
    reveal(event.target);
});

picture.addEventListener('focusin', (event) => {
    const item =
        event.target instanceof SVGElement && event.target.classList.contains('loop') ? event.target : null;
    if (item !== null && nameOf(item) !== current) reach(item, false);
});

picture.addEventListener('keydown', (event) => {
    if (!(event.target instanceof SVGElement) || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === 'Enter' || event.key === ' ') {
        reveal(event.target);
        event.preventDefault();
        return;
    }
    const items = loopElements();
    const item = event.target.closest<SVGElement>('.loop');
    const at = item === null ? -1 : items.indexOf(item);
    const next = neighbour(event.key, items, at);
    if (next !== undefined && next !== null) {
        reach(next, true);
        event.preventDefault();
    }
});

function neighbour(key: string, items: SVGElement[], at: number): SVGElement | null | undefined {
    switch (key) {
        case 'ArrowDown': return items[at + 1];
        case 'ArrowUp': return at < 0 ? undefined : items[at - 1];
        case 'ArrowRight': return items[at]?.querySelector<SVGElement>('.loop');
        case 'ArrowLeft': return items[at]?.parentElement?.closest<SVGElement>('.loop');
        case 'Home': return items[0];
        case 'End': return items.at(-1);
        default: return undefined;
    }
}

// Messages

function show(message: Nest): void {
    nest = message;
    document.body.classList.remove('pending');
    document.body.classList.toggle('stepping', message.step !== null);
    const { step, view } = message;
    const gone = step?.before && view ? changes(step.before, view).gone : [];
    const text = remark(message, step, gone);
    document.body.classList.toggle('stale', message.stale && message.view !== null);
    document.body.classList.toggle('partial', message.leftOut.length > 0);
    document.body.classList.toggle('refused', message.refused !== null);
    file.textContent = message.file;
    state.textContent = text;
    if (message.view === null) {
        nothing('The loop nest appears here as soon as the schedule has no errors.');
    } else {
        describe(message.view);
        draw();
    }
    // The extension reopens this document when the window is restored.
    remember(message.file);
}

const remember = (name: string): void => vscode.setState({ file: name, atCursor });

/** Updates the state of the button *at the cursor*. */
function pressed(): void {
    follow.setAttribute('aria-pressed', String(atCursor));
}

follow.addEventListener('click', () => {
    atCursor = !atCursor;
    pressed();
    remember(file.textContent ?? '');
    send({ type: 'follow', cursor: atCursor });
});

for (const [id, forward] of [['back', false], ['forward', true]] as const)
    part(id).addEventListener('click', () => send({ type: 'step', forward }));

function nothing(reason: string): void {
    document.body.classList.remove('pending');
    nest = nest === null ? null : { ...nest, view: null };
    known = new Map();
    picture.replaceChildren(prose('nothing', reason));
    facts.replaceChildren();
    order.replaceChildren();
}

function restart(): HTMLButtonElement {
    const button = document.createElement('button');
    button.id = 'restart';
    button.textContent = 'Restart the Language Server';
    button.addEventListener('click', () => send({ type: 'restart' }));
    return button;
}

function receive(data: ToPanel): void {
    switch (data.type) {
        case 'nest': return show(data);
        case 'pending': return document.body.classList.add('pending');
        case 'cursor':
            if (nest === null) return;
            nest = { ...nest, cursor: data.cursor };
            return draw();
        case 'drops':
            key = data.key;
            dragging.drops = data.drops;
            return draw();
        case 'problems': return listProblems(data.key, data.problems);
        case 'nothing':
            state.textContent = '';
            document.body.classList.remove('stale');
            listProblems(0, []);
            nothing(data.reason);
            if (data.restart) picture.append(restart());
    }
}

window.addEventListener('message', ({ data }: MessageEvent<ToPanel>) => receive(data));

let width = 0;
new ResizeObserver(() => {
    if (picture.clientWidth !== width) {
        width = picture.clientWidth;
        draw();
    }
}).observe(picture);

pressed();
const first = document.getElementById('first');
if (first !== null) receive(JSON.parse(first.textContent ?? '') as ToPanel);
send({ type: 'ready', cursor: atCursor });
