// Compares two versions of a stage.

/** Most added and removed lines to search for. If texts differ more, only sets of lines are compared. */
const MOST_STEPS = 400;

/** A line without the numbers of labels, which change with every change before them. */
const plain = (line: string): string => line.replace(/\.L([A-Za-z]+)\d+_\d+/g, '.L$1').trim();

/** The lines of the later text that the earlier one lacks. */
export function changedLines(before: readonly string[], after: readonly string[]): Set<number> {
    const [a, b] = [before.map(plain), after.map(plain)];
    let start = 0;
    while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
    let end = 0;
    while (
        end < a.length - start &&
        end < b.length - start &&
        a[a.length - 1 - end] === b[b.length - 1 - end]
    )
        end += 1;
    const [left, right] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
    const added = shortest(left, right) ?? strangers(left, right);
    return new Set(added.map((at) => at + start));
}

/** Indices of the lines that occur nowhere in the earlier text. */
function strangers(before: readonly string[], after: readonly string[]): number[] {
    const known = new Set(before);
    return after.flatMap((line, at) => (known.has(line) ? [] : [at]));
}

/** Indices of the lines that the shortest edit script adds (Myers' algorithm); null if it is too long. */
function shortest(before: readonly string[], after: readonly string[]): number[] | null {
    const [n, m] = [before.length, after.length];
    const reached = new Map<number, number>([[1, 0]]);
    const trace: Map<number, number>[] = [];
    for (let steps = 0; steps <= Math.min(n + m, MOST_STEPS); steps += 1) {
        trace.push(new Map(reached));
        for (let k = -steps; k <= steps; k += 2) {
            const down = k === -steps || (k !== steps && at(reached, k - 1) < at(reached, k + 1));
            let x = down ? at(reached, k + 1) : at(reached, k - 1) + 1;
            while (x < n && x - k < m && before[x] === after[x - k]) x += 1;
            reached.set(k, x);
            if (x >= n && x - k >= m) return walkBack(trace, n, m);
        }
    }
    return null;
}

const at = (reached: ReadonlyMap<number, number>, k: number): number => reached.get(k) ?? -1;

function walkBack(trace: readonly ReadonlyMap<number, number>[], n: number, m: number): number[] {
    const added: number[] = [];
    let [x, y] = [n, m];
    for (let steps = trace.length - 1; steps > 0; steps -= 1) {
        const reached = trace[steps] as ReadonlyMap<number, number>;
        const k = x - y;
        const down = k === -steps || (k !== steps && at(reached, k - 1) < at(reached, k + 1));
        const from = down ? k + 1 : k - 1;
        x = at(reached, from);
        y = x - from;
        if (down) added.push(y);
    }
    return added.reverse();
}
