// What could not be done, as the server says it: with the code of a finding, its place and its page. Pure.

import type { Range } from './nest/view';

export interface Refusal {
    /** What is wrong and the way out, in one line. */
    readonly message: string;
    readonly code: string | null;
    /** The address of the code's page. */
    readonly page: string | null;
    readonly place: { readonly uri: string; readonly range: Range } | null;
}

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;
const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/** Reads an error that a command ended with. */
export function readRefusal(error: unknown): Refusal {
    const message = error instanceof Error ? error.message : String(error);
    const data: Json = isObject(error) && isObject(error['data']) ? error['data'] : {};
    const place = isObject(data['place']) ? data['place'] : {};
    const uri = text(place['uri']);
    const range = place['range'];
    return {
        message: inOneLine(message),
        code: text(data['code']),
        page: text(data['page']),
        place: uri !== null && isRange(range) ? { uri, range } : null,
    };
}

const isPosition = (value: unknown): boolean =>
    isObject(value) && typeof value['line'] === 'number' && typeof value['character'] === 'number';

const isRange = (value: unknown): value is Range => isObject(value) && isPosition(value['start']) && isPosition(value['end']);

/** Lines as sentences one after the other: a notification shows no ends of lines. */
function inOneLine(message: string): string {
    const lines = message.split('\n').map((line) => line.trim()).filter((line) => line !== '');
    return lines.map((line, at) => (at === lines.length - 1 || /[.?!:;,]$/.test(line) ? line : `${line}.`)).join(' ');
}
