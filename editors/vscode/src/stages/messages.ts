// Messages between the extension and the panel of stages.

import type { Range } from '../nest/view';
import type { LiveStage, StageText } from './answer';

export type ToStages =
    | {
          readonly type: 'stage';
          readonly stage: LiveStage;
          readonly output: StageText;
          readonly milliseconds: number;
      }
    /** The text has changed, and the stages belong to the previous one. */
    | { readonly type: 'stale' }
    /** The compilation to a stage failed, for the given reason. */
    | { readonly type: 'failed'; readonly stage: LiveStage; readonly reason: string }
    /** The panel shows another schedule from now on. */
    | { readonly type: 'file'; readonly file: string }
    /** The line of the cursor in the schedule; null if no editor shows it. */
    | { readonly type: 'cursor'; readonly line: number | null };

export type FromStages =
    /** The stages that are unfolded. */
    | { readonly type: 'open'; readonly stages: readonly LiveStage[] }
    | { readonly type: 'reveal'; readonly range: Range };
