// What the panel says around the picture, in words. Pure.

import type { NestView } from './view';

/** A piece of a text: a name of the language, or words around names. */
export interface Piece {
    readonly text: string;
    readonly isName: boolean;
}

/** A text in pieces; names stand between backticks. */
export const pieces = (text: string): Piece[] =>
    text.split('`').map((piece, at) => ({ text: piece, isName: at % 2 === 1 })).filter((piece) => piece.text !== '');

/** What is true of the whole nest, in a few words each. */
export function facts({ representation, treeOrder, batchSize }: NestView): string[] {
    return [
        ...(representation === null ? [] : [`${representation} layout`]),
        ...(treeOrder === null || treeOrder === 'model' ? [] : [`trees ${treeOrder.replaceAll('_', ' ')}`]),
        ...(batchSize === null ? [] : [`at most ${batchSize} rows a run`]),
    ];
}

/** What is to be said of the picture itself: nothing where there is none. */
export const remark = (stale: boolean, view: NestView | null): string =>
    stale && view !== null ? 'as of the last text without mistakes' : '';
