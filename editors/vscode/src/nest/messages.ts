// What the extension and the nest panel say to each other.

import type { NestView, Position, Range } from './view';

export interface Problem {
    readonly message: string;
    readonly code: string;
    readonly severity: 'error' | 'warning';
    readonly range: Range;
    /** Titles of what can be done about it. */
    readonly fixes: readonly string[];
}

export type ToPanel =
    | { readonly type: 'nest'; readonly file: string; readonly stale: boolean; readonly view: NestView | null; readonly cursor: Position | null }
    /** The text has changed and no answer is there yet. */
    | { readonly type: 'pending' }
    | { readonly type: 'cursor'; readonly cursor: Position }
    /** `key` names the state of the document that the problems belong to. */
    | { readonly type: 'problems'; readonly key: number; readonly problems: readonly Problem[] }
    /** There is no picture, for the reason given. */
    | { readonly type: 'nothing'; readonly reason: string };

export type FromPanel =
    | { readonly type: 'ready' }
    | { readonly type: 'reveal'; readonly range: Range }
    | { readonly type: 'fix'; readonly key: number; readonly problem: number; readonly fix: number };
