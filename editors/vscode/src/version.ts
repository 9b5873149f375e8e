// Versions of schedc that the extension supports.

export type Version = readonly [major: number, minor: number, patch: number];

/** The oldest version that has the language server. */
export const OLDEST: Version = [0, 1, 0];

/** Parses the output of `schedc --version` or `schedc-lsp --version`. */
export function readVersion(printed: string): Version | null {
    const match = /^schedc(?:-lsp)? (\d+)\.(\d+)\.(\d+)/.exec(printed.trim());
    return match === null ? null : [Number(match[1]), Number(match[2]), Number(match[3])];
}

/** Whether `version` is at least `oldest`. */
export function isRecent(version: Version, oldest: Version = OLDEST): boolean {
    const at = version.findIndex((number, place) => number !== oldest[place]);
    return at < 0 || (version[at] ?? 0) > (oldest[at] ?? 0);
}

export const showVersion = (version: Version): string => version.join('.');
