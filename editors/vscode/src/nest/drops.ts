// Changes of loops by dragging, parsed defensively from the server's answer to `sched/drops`.

/** A loop that can be moved past another one. */
export interface Move {
    readonly loop: string;
    readonly onto: string;
    /** The directive to write. */
    readonly directive: string;
}

/** A loop that can be tiled. */
export interface Tiled {
    readonly loop: string;
    /** Sizes in ascending order. */
    readonly sizes: readonly { readonly size: number; readonly directive: string }[];
}

export interface Drops {
    readonly moves: readonly Move[];
    readonly tiles: readonly Tiled[];
}

export const NO_DROPS: Drops = { moves: [], tiles: [] };

/** The drops, and their edits by directive. Only the drops are sent to the webview. */
export interface DropsAnswer {
    readonly version: number;
    readonly drops: Drops;
    readonly edits: ReadonlyMap<string, unknown>;
}

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
const list = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isObject) : []);
const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Parses an answer to `sched/drops`. */
export function readDrops(json: unknown): DropsAnswer {
    const edits = new Map<string, unknown>();
    const answer = isObject(json) ? json : {};
    const written = (one: Json): string => {
        const directive = text(one['directive']);
        if (directive !== '' && isObject(one['edit'])) edits.set(directive, one['edit']);
        return directive;
    };
    const moves = list(answer['moves'])
        .map((one) => ({ loop: text(one['loop']), onto: text(one['onto']), directive: written(one) }))
        .filter((move) => edits.has(move.directive));
    const tiles = list(answer['tiles']).map((one) => ({
        loop: text(one['loop']),
        sizes: list(one['sizes'])
            .map((size) => ({ size: Number(size['size']), directive: written(size) }))
            .filter((size) => Number.isFinite(size.size) && edits.has(size.directive)),
    })).filter((tiled) => tiled.sizes.length > 0);
    return {
        version: typeof answer['version'] === 'number' ? answer['version'] : -1,
        drops: { moves, tiles },
        edits,
    };
}

/** The effect of dropping a loop on another one; null if that is illegal. */
export const moveOf = (drops: Drops, loop: string, onto: string): Move | null =>
    drops.moves.find((move) => move.loop === loop && move.onto === onto) ?? null;

/** The loops on which a given loop can be dropped. */
export const targetsOf = (drops: Drops, loop: string): ReadonlySet<string> =>
    new Set(drops.moves.filter((move) => move.loop === loop).map((move) => move.onto));

/** The loops that can be tiled, which have a handle. */
export const tileable = (drops: Drops): ReadonlySet<string> =>
    new Set(drops.tiles.map((tiled) => tiled.loop));

/** Distance that the handle is dragged from one size to the next, in pixels. */
const PITCH = 22;

/** The size for a handle that was dragged by `pixels`; a drag starts at the middle size. */
export function sizeAt(tiled: Tiled, pixels: number): Tiled['sizes'][number] | null {
    const middle = (tiled.sizes.length - 1) >> 1;
    const at = Math.max(0, Math.min(tiled.sizes.length - 1, middle + Math.round(pixels / PITCH)));
    return tiled.sizes[at] ?? null;
}
