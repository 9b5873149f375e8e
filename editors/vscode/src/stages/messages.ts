// What the extension and the panel of stages say to each other.

import type { Range } from '../nest/view';
import type { LiveStage, StageText } from './answer';

export type ToStages =
    | { readonly type: 'stage'; readonly stage: LiveStage; readonly told: StageText; readonly milliseconds: number }
    /** The text has changed, and the stages are of the one before. */
    | { readonly type: 'stale' }
    /** A stage cannot be made, for the reason given. */
    | { readonly type: 'failed'; readonly stage: LiveStage; readonly reason: string }
    /** Another schedule is shown from now on. */
    | { readonly type: 'file'; readonly file: string }
    /** The line of the cursor in the schedule. */
    | { readonly type: 'cursor'; readonly line: number };

export type FromStages =
    /** The stages that are unfolded. */
    | { readonly type: 'open'; readonly stages: readonly LiveStage[] }
    | { readonly type: 'reveal'; readonly range: Range };
