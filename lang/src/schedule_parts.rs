//! Parts of a schedule's text, from which other crates assemble new texts: they join schedules that were
//! found for different sizes of calls into one schedule with blocks.

use sched_grammar::ast::{ExprKind, Relation, ScheduleFile, ScheduleStmt, Span, StmtKind, When};
use sched_grammar::{LexemeKind, lexemes};
use sched_nest::Variants;

/// Parts of a text, without comments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleParts {
    /// Lines that declare params and constants.
    pub declarations: Vec<String>,
    /// Names of the declared params and constants.
    pub names: Vec<String>,
    /// Directives of each block and of the calls outside blocks, one directive a line.
    pub directives: Variants<String>,
}

impl ScheduleParts {
    /// Parts of a text; `None` if it has syntax errors, or blocks whose bounds are not plain numbers.
    pub fn of(source: &str) -> Option<ScheduleParts> {
        let file = sched_grammar::parse_strict(source).ok()?;
        let text = |span: Span| source.get(span.range()).map(String::from);
        let declarations = file.stmts.iter().filter(|stmt| declares(stmt)).map(|stmt| text(stmt.span));
        let mut directives = Variants::only(directives(source, &file.stmts)?);
        for stmt in &file.stmts {
            if let StmtKind::When(when) = &stmt.kind {
                let of_block = self::directives(source, &when.body)?;
                directives.insert(bound(source, when)?, of_block).ok()?;
            }
        }
        let names = file.stmts.iter().filter_map(declared).map(String::from).collect();
        Some(ScheduleParts { declarations: declarations.collect::<Option<_>>()?, names, directives })
    }

    /// The parts as a block in the text of `outer`. If both declare the same, the block needs no
    /// declarations. Otherwise `suffix` is appended to each declared name, since a text declares a name once.
    pub fn beside(self, outer: &ScheduleParts, suffix: &str) -> ScheduleParts {
        if self.declarations == outer.declarations {
            return ScheduleParts { declarations: Vec::new(), names: Vec::new(), ..self };
        }
        let renamed = |text: &String| renamed(text, &self.names, suffix);
        ScheduleParts {
            declarations: self.declarations.iter().map(renamed).collect(),
            names: self.names.iter().map(|name| format!("{name}{suffix}")).collect(),
            directives: self.directives.as_ref().map(|_, text| renamed(text)),
        }
    }
}

/// A text with `suffix` appended to each of the names. Names of directives and functions stay.
fn renamed(text: &str, names: &[String], suffix: &str) -> String {
    let (mut new, mut done) = (String::new(), 0);
    let all = lexemes(text);
    for (at, lexeme) in all.iter().enumerate() {
        let range = lexeme.span.range();
        let word = text.get(range.clone()).unwrap_or_default();
        let is_call = all.get(at + 1).is_some_and(|next| next.kind == LexemeKind::Open);
        if lexeme.kind == LexemeKind::Name && !is_call && names.iter().any(|name| name == word) {
            new += text.get(done..range.end).unwrap_or_default();
            new += suffix;
            done = range.end;
        }
    }
    new + text.get(done..).unwrap_or_default()
}

fn declares(stmt: &ScheduleStmt) -> bool {
    declared(stmt).is_some()
}

/// The name that a statement declares.
fn declared(stmt: &ScheduleStmt) -> Option<&str> {
    match &stmt.kind {
        StmtKind::Param { name, .. } | StmtKind::Const { name, .. } => Some(&name.text),
        _ => None,
    }
}

fn directives(source: &str, stmts: &[ScheduleStmt]) -> Option<String> {
    let mut all = String::new();
    for stmt in stmts.iter().filter(|stmt| matches!(stmt.kind, StmtKind::Directive(_))) {
        all += source.get(stmt.span.range())?;
        all.push('\n');
    }
    Some(all)
}

/// Largest number of rows of a block's calls.
fn bound(source: &str, when: &When) -> Option<u32> {
    let left = source.get(when.left.span.range())?;
    let ExprKind::Int(right) = when.right.kind else { return None };
    match when.comparison {
        Relation::AtMost if left == "n_rows" => u32::try_from(right).ok(),
        Relation::Less if left == "n_rows" => u32::try_from(right.checked_sub(1)?).ok(),
        _ => None,
    }
}

/// The text without the line that names a model. A schedule apart from its model serves any model that it
/// fits.
pub fn without_model(source: &str) -> String {
    let file: ScheduleFile = sched_grammar::parse(source).file;
    let named = file.stmts.iter().find(|stmt| matches!(stmt.kind, StmtKind::Model { .. }));
    let Some(named) = named else { return source.to_string() };
    let range = named.span.range();
    let (before, after) = (source.get(..range.start).unwrap_or(""), source.get(range.end..).unwrap_or(""));
    let after = after.strip_prefix(';').unwrap_or(after);
    match after.strip_prefix('\n') {
        Some(after) if before.is_empty() || before.ends_with('\n') => format!("{before}{after}"),
        _ => format!("{before}{}", after.trim_start_matches(' ')),
    }
}

#[cfg(test)]
mod tests {
    use super::{ScheduleParts, without_model};

    #[test]
    fn texts_are_taken_apart_and_comments_left_out() {
        let text = "sched 1\nmodel \"m.json\"\nparam R = 8 in {4, 8}\ntile(batch, b0, b1, R) // \
                    wide\nparallel(b0); cache(b0)\n\
                    when n_rows <= 8 { parallel(tree) }\nwhen n_rows < 3 {\n  interleave(tree,\n 2)\n}\n";
        let parts = ScheduleParts::of(text).expect("a schedule");
        assert_eq!(parts.declarations, ["param R = 8 in {4, 8}"]);
        let all: Vec<_> = parts.directives.iter().map(|(bound, text)| (bound, text.as_str())).collect();
        let rest = "tile(batch, b0, b1, R)\nparallel(b0)\ncache(b0)\n";
        let few = [(Some(2), "interleave(tree,\n 2)\n"), (Some(8), "parallel(tree)\n")];
        assert_eq!(all, [few[0], few[1], (None, rest)]);
    }

    #[test]
    fn names_of_a_block_differ_from_those_outside() {
        let text = |value| format!("param R = {value}\nconst H = R / 2\ntile(batch, b0, R_, max(R, H))\n");
        let [outer, same, other] =
            [8, 8, 4].map(|value| ScheduleParts::of(&text(value)).expect("a schedule"));
        let shared = same.clone().beside(&outer, "_64");
        assert_eq!((shared.declarations, shared.directives), (Vec::new(), same.directives));
        let apart = other.beside(&outer, "_64");
        assert_eq!(apart.declarations, ["param R_64 = 4", "const H_64 = R_64 / 2"]);
        assert_eq!(apart.names, ["R_64", "H_64"]);
        assert_eq!(apart.directives.rest(), "tile(batch, b0, R_, max(R_64, H_64))\n");
    }

    #[test]
    fn texts_without_parts() {
        for text in ["tile(", "when n_rows <= 2 * 4 { parallel(tree) }", "when n_rows > 4 { parallel(tree) }"]
        {
            assert_eq!(ScheduleParts::of(text), None, "{text}");
        }
    }

    #[test]
    fn the_line_of_the_model_goes() {
        assert_eq!(without_model("// a\nmodel \"m.json\"\nparallel(batch)\n"), "// a\nparallel(batch)\n");
        assert_eq!(without_model("model \"m.json\" \"sha256:0\"; parallel(batch)\n"), "parallel(batch)\n");
        assert_eq!(without_model("parallel(batch)\n"), "parallel(batch)\n");
    }
}
