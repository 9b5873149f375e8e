// Parses the server's answers about the ledger of a schedule and the values of a number. Pure.

import type { Position, Range } from '../nest/view';

/** The ledger entry at the end of a line. */
export interface Line {
    readonly position: Position;
    readonly label: string;
    readonly tooltip: string;
}

export interface Ledger {
    /** Whether the results are those of an earlier text. */
    readonly stale: boolean;
    readonly lines: readonly Line[];
    /** The time of the whole schedule beside that of schedc's own. */
    readonly total: string | null;
    /** The offer to take schedc's own schedule, if that is faster. */
    readonly offer: string | null;
}

/** A value of a number, with the microseconds per row or the reason why it was not measured. */
export interface Tried {
    readonly value: number;
    readonly micros: number | null;
    readonly spread: readonly [number, number] | null;
    readonly why: string | null;
}

export interface Sweep {
    readonly name: string;
    /** The number in the text. */
    readonly value: number;
    readonly range: Range;
    readonly version: number;
    readonly tried: readonly Tried[];
}

const isObject = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null;
const isCount = (value: unknown): value is number =>
    typeof value === 'number' && Number.isInteger(value) && value >= 0;
const isTime = (value: unknown): value is number =>
    typeof value === 'number' && Number.isFinite(value) && value > 0;
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

function readPosition(json: unknown): Position | null {
    if (!isObject(json)) return null;
    const { line, character } = json;
    return isCount(line) && isCount(character) ? { line, character } : null;
}

/** Parses the answer to `sched/ledger`. */
export function readLedger(json: unknown): Ledger {
    if (!isObject(json)) return { stale: false, lines: [], total: null, offer: null };
    const line = (one: unknown): Line | null => {
        const position = isObject(one) ? readPosition(one['position']) : null;
        if (!isObject(one) || position === null) return null;
        const { label, tooltip } = one;
        return typeof label === 'string'
            ? { position, label, tooltip: typeof tooltip === 'string' ? tooltip : '' }
            : null;
    };
    const offer = json['offer'];
    return {
        offer: isObject(offer) && typeof offer['title'] === 'string' ? offer['title'] : null,
        total: typeof json['total'] === 'string' ? json['total'] : null,
        stale: json['stale'] === true,
        lines: list(json['lines'])
            .map(line)
            .filter((one) => one !== null),
    };
}

/** The label of each line. Without a lens for the total, the last line shows it as well. */
export const labels = ({ lines, total }: Ledger, hasLens: boolean): string[] =>
    lines.map(({ label }, at) =>
        hasLens || total === null || at + 1 < lines.length ? label : `${label}, ${total}`);

/** The titles of the lenses above the first directive: the total, and the offer's short form. */
export function lensTitles({ total, stale, offer }: Ledger): { total: string | null; take: string | null } {
    const title = stale && total !== null ? `${total} (before the last change)` : total;
    return { total: title, take: title === null || offer === null ? null : 'take it' };
}

/** The text of an offer for a file. Offers for several files can be shown at the same time. */
export const offerFor = (file: string, title: string): string => `schedc, for ${file}: ${title}`;

/** Parses the answer to the command `schedc.sweep`. */
export function readSweep(json: unknown): Sweep | null {
    if (!isObject(json) || !isObject(json['range'])) return null;
    const { name, value, version } = json;
    const start = readPosition(json['range']['start']);
    const end = readPosition(json['range']['end']);
    if (typeof name !== 'string' || typeof value !== 'number' || start === null || end === null) return null;
    return {
        name,
        value,
        range: { start, end },
        version: typeof version === 'number' ? version : -1,
        tried: list(json['tried']).map(readTried).filter((one) => one !== null),
    };
}

function readTried(json: unknown): Tried | null {
    if (!isObject(json) || typeof json['value'] !== 'number') return null;
    const { value, us_per_row: micros, spread, why } = json;
    const [low, high] = list(spread);
    return {
        value,
        micros: isTime(micros) ? micros : null,
        spread: isTime(low) && isTime(high) ? [low, high] : null,
        why: typeof why === 'string' ? why : null,
    };
}
