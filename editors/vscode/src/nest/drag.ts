// Drags loops onto others, and drags handles that tile them, by mouse or keyboard.

import { moveOf, NO_DROPS, sizeAt, targetsOf, type Drops, type Tiled } from './drops';

/** Pixels of movement that turn a press into a drag. */
const SLACK = 4;

interface Surroundings {
    readonly picture: HTMLElement;
    /** The element that shows the directive that a drop would write. */
    readonly hint: HTMLElement;
    /** The name of the loop that an element belongs to. */
    nameOf(element: Element): string | null;
    write(directive: string): void;
    /** Lets the user choose among sizes. */
    choose(loop: string): void;
}

interface Press {
    readonly loop: string;
    readonly x: number;
    readonly y: number;
    readonly tiled: Tiled | null;
    isDrag: boolean;
    directive: string | null;
}

export class Dragging {
    drops: Drops = NO_DROPS;
    private press: Press | null = null;
    /** Whether to ignore the next click, which the browser sends at the end of a drag. */
    private swallow = false;

    constructor(private readonly around: Surroundings) {
        const { picture } = around;
        picture.addEventListener('pointerdown', (event) => this.begin(event));
        picture.addEventListener('pointermove', (event) => this.move(event));
        picture.addEventListener('pointerup', () => this.end(true));
        picture.addEventListener('pointercancel', () => this.end(false));
        picture.addEventListener('click', (event) => this.click(event), { capture: true });
        picture.addEventListener('keydown', (event) => this.key(event), { capture: true });
    }

    private begin(event: PointerEvent): void {
        this.swallow = false;
        if (event.button !== 0 || !(event.target instanceof Element)) return;
        const item = event.target.closest('.loop');
        const loop = item === null ? null : this.around.nameOf(item);
        if (loop === null || event.target.closest('.badge') !== null) return;
        const isHandle = event.target.closest('.handle') !== null;
        const tiled = isHandle ? this.drops.tiles.find((one) => one.loop === loop) ?? null : null;
        if (!isHandle && targetsOf(this.drops, loop).size === 0) return;
        this.press = { loop, x: event.clientX, y: event.clientY, tiled, isDrag: false, directive: null };
    }

    private move(event: PointerEvent): void {
        const { press } = this;
        if (press === null) return;
        const [dx, dy] = [event.clientX - press.x, event.clientY - press.y];
        if (!press.isDrag) {
            if (Math.hypot(dx, dy) < SLACK) return;
            press.isDrag = true;
            this.around.picture.setPointerCapture(event.pointerId);
            this.mark(press);
        }
        press.directive =
            press.tiled === null ? this.over(press, event) : (sizeAt(press.tiled, dx)?.directive ?? null);
        this.hint(press.directive ?? 'not here', event);
    }

    /** The directive that a drop at the pointer would write. */
    private over(press: Press, event: PointerEvent): string | null {
        const under = document.elementFromPoint(event.clientX, event.clientY)?.closest('.loop') ?? null;
        const onto = under === null ? null : this.around.nameOf(under);
        for (const item of this.around.picture.querySelectorAll('.loop.over')) item.classList.remove('over');
        const move = onto === null ? null : moveOf(this.drops, press.loop, onto);
        if (move !== null) under?.classList.add('over');
        return move?.directive ?? null;
    }

    /** Marks the loops on which the dragged loop can be dropped. */
    private mark(press: Press): void {
        this.around.picture.classList.add('dragging');
        if (press.tiled !== null) return;
        const targets = targetsOf(this.drops, press.loop);
        for (const item of this.around.picture.querySelectorAll('.loop')) {
            item.classList.toggle('target', targets.has(this.around.nameOf(item) ?? ''));
        }
    }

    private hint(text: string, { clientX, clientY }: { clientX: number; clientY: number }): void {
        const { hint } = this.around;
        hint.textContent = text;
        hint.hidden = false;
        hint.style.left = `${clientX + 14}px`;
        hint.style.top = `${clientY + 12}px`;
    }

    private end(drop: boolean): void {
        const { press } = this;
        this.press = null;
        if (press === null) return;
        this.swallow = press.isDrag;
        this.around.hint.hidden = true;
        this.around.picture.classList.remove('dragging');
        for (const item of this.around.picture.querySelectorAll('.target, .over'))
            item.classList.remove('target', 'over');
        if (drop && press.isDrag && press.directive !== null) this.around.write(press.directive);
    }

    private click(event: MouseEvent): void {
        const handle = event.target instanceof Element ? event.target.closest('.handle') : null;
        const loop = handle?.closest('.loop') ?? null;
        if (this.swallow || loop !== null) event.stopPropagation();
        if (!this.swallow && loop !== null) this.around.choose(this.around.nameOf(loop) ?? '');
        this.swallow = false;
    }

    private key(event: KeyboardEvent): void {
        if (event.key === 'Escape' && this.press !== null) return this.end(false);
        const item = event.target instanceof Element ? event.target.closest('.loop') : null;
        const loop = item === null ? null : this.around.nameOf(item);
        if (item === null || loop === null) return;
        const isHandle = event.target instanceof Element && event.target.classList.contains('handle');
        if (event.key === 't' || (isHandle && (event.key === 'Enter' || event.key === ' '))) {
            if (this.drops.tiles.some((tiled) => tiled.loop === loop)) this.around.choose(loop);
        } else if (event.altKey && (event.key === 'ArrowUp' || event.key === 'ArrowDown')) {
            const other =
                event.key === 'ArrowUp' ? item.parentElement?.closest('.loop') : item.querySelector('.loop');
            const onto = other == null ? null : this.around.nameOf(other);
            const move = onto === null ? null : moveOf(this.drops, loop, onto);
            if (move !== null) this.around.write(move.directive);
        } else return;
        event.preventDefault();
        event.stopPropagation();
    }
}
