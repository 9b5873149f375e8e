// Finds the model that a schedule names. Pure.

/** The path in the `model` line of a schedule; null without such a line. */
export function modelOf(text: string): string | null {
    const line = /^\s*model\s+"((?:[^"\\\n]|\\.)*)"/m.exec(text);
    return line?.[1] === undefined || line[1] === '' ? null : line[1].replace(/\\(.)/g, '$1');
}
