// The loop nest, parsed defensively from the server's answer to `sched/nest`. Malformed parts are left out of
// the picture.

export interface Position {
    readonly line: number;
    readonly character: number;
}

export interface Range {
    readonly start: Position;
    readonly end: Position;
}

export const BADGE_KINDS = [
    'parallel', 'gpu', 'vector', 'interleave', 'unroll', 'cache', 'reduce', 'walk', 'representation',
] as const;
export type BadgeKind = (typeof BADGE_KINDS)[number];

/** An annotation of a loop. */
export interface Badge {
    readonly kind: BadgeKind;
    readonly text: string;
    /** The directive of the annotation; null without one. */
    readonly span: Range | null;
}

/** Kinds of loops: over rows, over trees, and over the units and features of a layer. */
const SORTS = ['row', 'tree', 'unit', 'feature'] as const;
export type Sort = (typeof SORTS)[number];

export interface Loop {
    /** A number that is unique in the nest. */
    readonly id: number;
    /** The name with its path, such as `first.row`. */
    readonly name: string;
    /** The axis of the loop. */
    readonly sort: Sort;
    /** The range of the index, such as `0..n_rows step 64`. */
    readonly range: string;
    /** Maximum number of iterations; null if no bound is known. */
    readonly iterations: number | null;
    /** Conditions under which an iteration runs, in addition to the range. */
    readonly condition: string | null;
    /** The directive that made the loop; null for the two loops of the initial nest. */
    readonly origin: Range | null;
    readonly badges: readonly Badge[];
    /** The work of an iteration of a leaf loop, such as `walk`; null for other loops. */
    readonly work: string | null;
    /** The loops inside: one body, or a body for each iteration if the loop is specialised. */
    readonly bodies: readonly (readonly Loop[])[];
    readonly specialized: boolean;
    /** Lower bound of the bytes of rows or trees that an iteration uses; null if it is unknown. */
    readonly bytes: number | null;
    /** The number of lanes of the last vector that have no iteration. */
    readonly idle: { readonly idle: number; readonly lanes: number } | null;
}

export interface NestView {
    readonly roots: readonly Loop[];
    readonly accumulation: { readonly order: string; readonly why: string | null } | null;
    readonly representation: string | null;
    readonly treeOrder: string | null;
    readonly batchSize: string | null;
    /** Bytes of a core's second-level cache. */
    readonly near: number | null;
}

/** The answer to `sched/nest`. */
export interface NestAnswer {
    readonly version: number | null;
    /** Whether `view` is the nest of an earlier text, since the current text has none. */
    readonly stale: boolean;
    readonly view: NestView | null;
    /** Errors in the schedule; with errors, the nest is a best effort. */
    readonly leftOut: readonly Range[];
    /** The directive at the requested position, if it has errors; the nest is then the one before it. */
    readonly refused: Range | null;
}

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
const ids = (value: unknown): number[] => list(value).filter((id): id is number => typeof id === 'number');

const number = (value: unknown): number | null =>
    typeof value === 'number' && Number.isFinite(value) ? value : null;

function idle(value: unknown): Loop['idle'] {
    if (!isObject(value)) return null;
    const [idle, lanes] = [number(value['idle']), number(value['lanes'])];
    return idle === null || lanes === null ? null : { idle, lanes };
}

function position(value: unknown): Position | null {
    if (!isObject(value) || typeof value['line'] !== 'number' || typeof value['character'] !== 'number')
        return null;
    return { line: value['line'], character: value['character'] };
}

function range(value: unknown): Range | null {
    if (!isObject(value)) return null;
    const start = position(value['start']);
    const end = position(value['end']);
    return start && end && { start, end };
}

function badge(value: unknown): Badge | null {
    if (!isObject(value)) return null;
    const kind = BADGE_KINDS.find((known) => known === value['kind']) ?? 'walk';
    const label = text(value['text']);
    return label === null ? null : { kind, text: label, span: range(value['span']) };
}

/**
 * Parses a loop and its descendants. `left` has the loops that are not placed yet, so that no loop is drawn
 * twice.
 */
function loop(id: number, left: Map<number, Json>): Loop | null {
    const json = left.get(id);
    if (json === undefined) return null;
    left.delete(id);
    const specialized = Array.isArray(json['cases']) && json['cases'].length > 0;
    const bodies = specialized ? list(json['cases']).map(ids) : [ids(json['children'])];
    return {
        id,
        name: text(json['name']) ?? '?',
        sort: SORTS.find((known) => known === json['sort']) ?? 'row',
        range: text(json['range']) ?? '',
        iterations: typeof json['iterations'] === 'number' ? json['iterations'] : null,
        condition: text(json['while']),
        origin: range(json['origin']),
        badges: list(json['badges']).map(badge).filter((one) => one !== null),
        work: json['walk'] === true ? (text(json['work']) ?? 'walk') : null,
        bodies: bodies.map((body) => loops(body, left)),
        specialized,
        bytes: number(json['bytes']),
        idle: idle(json['idle']),
    };
}

function loops(wanted: readonly number[], left: Map<number, Json>): Loop[] {
    return wanted.map((id) => loop(id, left)).filter((one) => one !== null);
}

function view(json: unknown): NestView | null {
    if (!isObject(json)) return null;
    const left = new Map<number, Json>();
    for (const one of list(json['loops'])) {
        if (isObject(one) && typeof one['id'] === 'number') left.set(one['id'], one);
    }
    const roots = loops(ids(json['roots']), left);
    const accumulation = json['accumulation'];
    const order = isObject(accumulation) ? text(accumulation['order']) : null;
    const size = json['batch_size'];
    return {
        roots,
        accumulation:
            order === null ? null : { order, why: isObject(accumulation) ? text(accumulation['why']) : null },
        representation: text(json['representation']),
        treeOrder: text(json['tree_order']),
        batchSize: typeof size === 'number' ? String(size) : text(size),
        near: number(json['near']),
    };
}

/** Parses an answer to `sched/nest`. */
export function readAnswer(json: unknown): NestAnswer {
    if (!isObject(json)) return { version: null, stale: true, view: null, leftOut: [], refused: null };
    return {
        version: typeof json['version'] === 'number' ? json['version'] : null,
        stale: json['stale'] === true,
        view: view(json['view']),
        leftOut: list(json['left_out']).map(range).filter((one) => one !== null),
        refused: range(json['refused']),
    };
}

/** All loops, outer ones first. */
export function* allLoops(view: NestView): Generator<Loop> {
    const open = [...view.roots].reverse();
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
        yield next;
        open.push(...next.bodies.flat().reverse());
    }
}
