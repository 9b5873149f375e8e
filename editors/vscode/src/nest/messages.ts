// Messages between the extension and the nest panel.

import type { Drops } from './drops';
import type { Step } from './step';
import type { NestView, Position, Range } from './view';
import type { Shown } from './words';

export interface Problem {
    readonly message: string;
    readonly code: string;
    readonly severity: 'error' | 'warning';
    readonly range: Range;
    /** Titles of the fixes. */
    readonly fixes: readonly string[];
}

export type ToPanel =
    | {
          readonly type: 'nest';
          readonly file: string;
          readonly cursor: Position | null;
          /** The current step and the nest before it; null if the user is not stepping. */
          readonly step: (Step & { readonly before: NestView | null }) | null;
      } & Shown
    /** Drops of the loops; `key` names the version of the document. */
    | { readonly type: 'drops'; readonly key: number; readonly drops: Drops }
    /** The text has changed, and the server has not answered yet. */
    | { readonly type: 'pending' }
    | { readonly type: 'cursor'; readonly cursor: Position }
    /** `key` names the version of the document that the problems belong to. */
    | { readonly type: 'problems'; readonly key: number; readonly problems: readonly Problem[] }
    /** There is no picture, for the given reason; `restart` if a restart of the server may help. */
    | { readonly type: 'nothing'; readonly reason: string; readonly restart: boolean };

export type FromPanel =
    /** The panel is open; `cursor` is the state of its button *at the cursor*. */
    | { readonly type: 'ready'; readonly cursor: boolean }
    | { readonly type: 'reveal'; readonly range: Range }
    /** Restarts the language server. */
    | { readonly type: 'restart' }
    /** Steps to the next directive, or back to the previous one. */
    | { readonly type: 'step'; readonly forward: boolean }
    /** A click on the button: whether to show the nest at the cursor. */
    | { readonly type: 'follow'; readonly cursor: boolean }
    /** Writes the directive of a drop, from the answer with this key. */
    | { readonly type: 'write'; readonly key: number; readonly directive: string }
    /** Prompts for a size to tile a loop with. */
    | { readonly type: 'tile'; readonly key: number; readonly loop: string }
    | { readonly type: 'fix'; readonly key: number; readonly problem: number; readonly fix: number };
