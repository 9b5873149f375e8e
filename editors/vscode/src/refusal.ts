// An error of the server, with the code of a finding, its position, the URI of the code's page, and a remedy.
// Pure.

import type { Range } from './nest/view';

export interface Refusal {
    /** The error and its help, in one line. */
    readonly message: string;
    readonly code: string | null;
    /** The URI of the code's page. */
    readonly page: string | null;
    readonly place: { readonly uri: string; readonly range: Range } | null;
    readonly remedy: Remedy | null;
}

/** A command that may remove the cause of an error. */
export interface Remedy {
    readonly title: string;
    readonly command: string;
    readonly arguments: readonly unknown[];
}

/** An error with a remedy. */
export class Remediable extends Error {
    constructor(readonly error: unknown, readonly remedy: Remedy) {
        super(error instanceof Error ? error.message : String(error));
    }
}

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;
const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/** Parses the error of a command. */
export function readRefusal(error: unknown): Refusal {
    if (error instanceof Remediable) return { ...readRefusal(error.error), remedy: error.remedy };
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
        remedy: null,
    };
}

/** A diagnostic of VS Code. */
interface Finding {
    readonly message: string;
    readonly severity: number;
    readonly range: Range;
    readonly code?:
        | string
        | number
        | { readonly value: string | number; readonly target: unknown }
        | undefined;
}

/** The error for a document with errors: the first of them, with its place. Null without errors. */
export function faultOf(uri: string, findings: readonly Finding[]): Error | null {
    const errors = findings.filter(({ severity }) => severity === 0);
    const [first] = errors.sort((a, b) => a.range.start.line - b.range.start.line);
    if (first === undefined) return null;
    const { code, range } = first;
    const named = typeof code === 'object' ? code : { value: code, target: null };
    const page = named.target === null ? null : String(named.target);
    const data = { code: text(named.value), page, place: { uri, range } };
    const [message] = first.message.split('\n');
    const said = `the schedule has errors. Line ${range.start.line + 1}: ${message}`;
    return Object.assign(new Error(said), { data });
}

/** Whether the finding of an error is about data, such as a file with rows: its code is like `D0006`. */
export const isOfData = (error: unknown): boolean => readRefusal(error).code?.startsWith('D') ?? false;

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
