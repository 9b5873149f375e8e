// What the extension and the nest panel say to each other.

import type { Drops } from './drops';
import type { Position, Range } from './view';
import type { Shown } from './words';

export interface Problem {
    readonly message: string;
    readonly code: string;
    readonly severity: 'error' | 'warning';
    readonly range: Range;
    /** Titles of what can be done about it. */
    readonly fixes: readonly string[];
}

export type ToPanel =
    | { readonly type: 'nest'; readonly file: string; readonly cursor: Position | null } & Shown
    /** What can be done to the loops by hand; `key` names the state of the document. */
    | { readonly type: 'drops'; readonly key: number; readonly drops: Drops }
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
    /** Whether the nest at the cursor is wanted. */
    | { readonly type: 'follow'; readonly cursor: boolean }
    /** Writes a directive that was told with the key. */
    | { readonly type: 'write'; readonly key: number; readonly directive: string }
    /** Chooses a size to tile a loop with. */
    | { readonly type: 'tile'; readonly key: number; readonly loop: string }
    | { readonly type: 'fix'; readonly key: number; readonly problem: number; readonly fix: number };
