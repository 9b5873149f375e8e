// An error of the server, with the code of a finding, its position and the URI of the code's page. Pure.

import type { Range } from './nest/view';

export interface Refusal {
    /** The error and its help, in one line. */
    readonly message: string;
    readonly code: string | null;
    /** The URI of the code's page. */
    readonly page: string | null;
    readonly place: { readonly uri: string; readonly range: Range } | null;
}

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;
const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/** Parses the error of a command. */
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

const isRange = (value: unknown): value is Range =>
    isObject(value) && isPosition(value['start']) && isPosition(value['end']);

/** Joins lines into one, since a notification shows no line breaks. */
function inOneLine(message: string): string {
    const lines = message.split('\n').map((line) => line.trim()).filter((line) => line !== '');
    return lines
        .map((line, at) => (at === lines.length - 1 || /[.?!:;,]$/.test(line) ? line : `${line}.`))
        .join(' ');
}
