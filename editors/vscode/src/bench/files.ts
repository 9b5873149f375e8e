// Finds files with rows in a folder, by their names. Pure.

/** Extensions of the formats that schedc reads. */
export const EXTENSIONS = ['csv', 'parquet', 'arrow', 'npy', 'npz'];

/** Words in names of files with rows. */
const ROWS = /^(rows?|inputs?|x|features|test|data)$/;
/** Words in names of files with one value per row, which often lie beside the rows. */
const VALUES = /^(expected|predict(ions?|ed)|preds?|labels?|y|targets?|outputs?|results?|scores?|truth)$/;

/** Whether schedc reads a file with this name. */
export const isData = (name: string): boolean =>
    EXTENSIONS.includes(/\.([^.]*)$/.exec(name)?.[1]?.toLowerCase() ?? '');

/** Sorts files by their names: likely rows first, values for rows last, each in the given order. */
export const likelyFirst = <File>(files: readonly File[], nameOf: (file: File) => string): File[] =>
    [...files].sort((a, b) => rank(nameOf(a)) - rank(nameOf(b)));

/** The rank of a name: 0 for rows, 2 for values, such as `y_test` and `expected_rows`, and 1 for others. */
function rank(name: string): number {
    const words = name.toLowerCase().replace(/\.[^.]*$/, '').split(/[^a-z0-9]+/);
    if (words.some((word) => VALUES.test(word))) return 2;
    return words.some((word) => ROWS.test(word)) ? 0 : 1;
}
