//! Schedules of several kinds with about a given number of lines.

use std::fmt::Write;
use std::path::Path;

/// A schedule of each kind, with the kind's name.
pub fn all(lines: usize) -> [(&'static str, String); 3] {
    [("blocks", blocks(lines)), ("chain of splits", splits(lines)), ("mistakes", mistakes(lines))]
}

/// A typical text, repeated: a comment, a param, a tile of the remainder of the block before, and
/// annotations.
pub fn blocks(lines: usize) -> String {
    let mut text = String::new();
    let mut rest = "tree".to_owned();
    for at in 1..=lines / 6 {
        let _ = write!(
            text,
            "// Part {at}.\nparam W{at} = 4 in {{2, 4, 8}}\nsplit({rest}, a{at}, r{at}, {at} * 2)\n\
             unrollWalk(a{at}, W{at})\ninterleave(a{at}, 2)\n\n"
        );
        rest = format!("r{at}");
    }
    text
}

/// A schedule of `lines` splits, each of the remainder of the one before.
fn splits(lines: usize) -> String {
    let mut text = String::new();
    let mut rest = "tree".to_owned();
    for at in 1..=lines {
        let _ = writeln!(text, "split({rest}, a{at}, r{at}, {at})");
        rest = format!("r{at}");
    }
    text
}

/// A schedule in which every fifth line, except for the first two of them, names an unknown loop.
fn mistakes(lines: usize) -> String {
    let mut text = "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\n".to_owned();
    for at in 0..lines / 5 {
        let _ = write!(
            text,
            "// {at}\nparam P{at} = {at}\n\nconst C{at} = P{at} + 1\nunrollWalk(b{at}, C{at})\n"
        );
    }
    text
}

/// Eight directives for a model: blocks of rows as bytes, four vectors of them at a time.
pub fn eight_directives(model: &Path) -> String {
    format!(
        "model \"{}\"\ntile(batch, b0, b1, 256)\nreorder(b0, tree, b1)\nparallel(b0)\ncache(b0)\n\
         representation(quantized)\nvectorize(b1, 64)\ninterleave(b1, 4)\nunrollAndJam(tree)\n",
        model.display()
    )
}
