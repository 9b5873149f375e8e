//! `sched/ir`: the text of a compiler stage, by `schedc ir` in a background process.

use std::ffi::OsString;
use std::sync::Arc;

use sched_grammar::ast::Span;
use sched_ide::{StageLines, stage_lines};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::{ProgressToken, TextDocumentIdentifier};

use crate::document::Snapshot;
use crate::pages::Pages;
use crate::progress;
use crate::state::ServerData;
use crate::subject::ScheduleWithModel;

/// The parameters of the request.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IrParams {
    /// The schedule.
    pub text_document: TextDocumentIdentifier,
    /// The requested stage.
    pub stage: ShownStage,
    /// The token for progress notifications.
    pub work_done_token: Option<ProgressToken>,
    /// Whether the client requests the stage after each edit: without progress, and with the kernel for
    /// margins alone.
    #[serde(default)]
    pub live: bool,
}

/// The stages of the compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ShownStage {
    /// The trees of the forest, sorted and padded for the loop nest.
    Hir,
    /// The loop nest with abstract walks.
    Mir,
    /// The storage of trees, and the traversal of each leaf loop.
    Plan,
    /// Loads, steps and stores.
    Lir,
    /// LLVM's text form.
    Llvm,
    /// Assembly.
    Asm,
}

impl ShownStage {
    fn name(self) -> &'static str {
        match self {
            ShownStage::Hir => "hir",
            ShownStage::Mir => "mir",
            ShownStage::Plan => "plan",
            ShownStage::Lir => "lir",
            ShownStage::Llvm => "llvm",
            ShownStage::Asm => "asm",
        }
    }
}

/// The answer.
#[derive(Debug, Serialize)]
pub struct IrAnswer {
    /// The stage.
    pub stage: ShownStage,
    /// The version of the schedule's text that was compiled.
    pub version: i32,
    /// The output of `schedc ir`.
    pub text: String,
    /// The lines of the text as a tree, by indentation: `[{"text", "line", "children"}]`; null for stages
    /// without indentation.
    pub tree: Value,
    /// The lines that stem from directives, `[{"line", "count", "ranges"}]`: `count` lines from `line` on.
    pub lines: Vec<Value>,
}

/// Compiles an open schedule and returns a stage.
///
/// # Errors
///
/// The document is not open, has no model, or cannot be compiled.
pub async fn ir(shared: &Arc<ServerData>, pages: &Arc<Pages>, params: IrParams) -> Result<IrAnswer> {
    let subject = ScheduleWithModel::of(shared, pages, &params.text_document.uri)?;
    let stage = params.stage;
    let mut arguments: Vec<OsString> = ["ir", "-s", "-", "--stage", stage.name()].map(Into::into).to_vec();
    arguments.insert(1, subject.model.clone().into());
    let version = subject.snapshot.version;
    let snapshot = Arc::clone(&subject.snapshot);
    let text = if params.live {
        subject.stage(stage.name()).await?
    } else {
        let title = format!("schedc ir --stage {}", stage.name());
        let work = async move { subject.run(arguments).await };
        progress::run(shared, work, params.work_done_token, title).await?
    };
    let tree = if matches!(stage, ShownStage::Llvm | ShownStage::Asm) { Value::Null } else { tree(&text) };
    let lines = lines(&snapshot, &text);
    Ok(IrAnswer { stage, version, text, tree, lines })
}

/// The lines with the ranges of the directives that they stem from.
fn lines(snapshot: &Snapshot, text: &str) -> Vec<Value> {
    let range = |span: Span| json!(snapshot.text.range(span));
    let entry = |StageLines { first, count, spans }| {
        let ranges: Vec<Value> = spans.into_iter().map(range).collect();
        json!({ "line": first, "count": count, "ranges": ranges })
    };
    stage_lines(&snapshot.analysis, text).into_iter().map(entry).collect()
}

/// Maximum depth of the tree; a line that is indented further becomes a sibling of its parent.
const MAX_TREE_DEPTH: usize = 64;

/// Makes a tree of lines: each line is a child of the line before it that is indented less.
fn tree(text: &str) -> Value {
    let mut levels: Vec<(usize, Vec<Value>)> = vec![(0, Vec::new())];
    for (number, line) in text.lines().enumerate() {
        let own = line.trim_start();
        if own.is_empty() {
            continue;
        }
        let indent = line.len() - own.len();
        while levels.len() > 1 && levels.last().is_some_and(|(level, _)| *level > indent) {
            close(&mut levels);
        }
        let is_below = levels.last().is_some_and(|(level, lines)| *level < indent && !lines.is_empty());
        if is_below && levels.len() < MAX_TREE_DEPTH {
            levels.push((indent, Vec::new()));
        }
        let is_outermost = levels.len() == 1;
        if let Some((level, lines)) = levels.last_mut() {
            if is_outermost {
                *level = indent;
            }
            lines.push(json!({ "text": own, "line": number, "children": [] }));
        }
    }
    while levels.len() > 1 {
        close(&mut levels);
    }
    levels.pop().map_or(Value::Null, |(_, lines)| Value::Array(lines))
}

/// Closes the innermost level: makes its lines children of the last line of the level around it.
fn close(levels: &mut Vec<(usize, Vec<Value>)>) {
    let Some((_, lines)) = levels.pop() else { return };
    if let Some(parent) = levels.last_mut().and_then(|(_, lines)| lines.last_mut()) {
        parent["children"] = Value::Array(lines);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_below_those_that_are_indented_less() {
        let text = |value: &Value| value["text"].as_str().unwrap_or_default().to_owned();
        let tree = tree("a {\n  b\n    c\n  d\n}\n\n      e\nf\n");
        let lines = tree.as_array().cloned().unwrap_or_default();
        assert_eq!(lines.iter().map(text).collect::<Vec<_>>(), ["a {", "}", "f"]);
        assert_eq!(text(&lines[0]["children"][0]["children"][0]), "c");
        assert_eq!(text(&lines[0]["children"][1]), "d");
        assert_eq!(
            (text(&lines[1]["children"][0]), &lines[1]["children"][0]["line"]),
            ("e".to_owned(), &json!(6))
        );
    }

    #[test]
    fn every_text_has_a_tree() {
        assert_eq!(tree(""), json!([]));
        assert_eq!(text_of(&tree("   x\n y\nz")), ["x", "y", "z"]);
    }

    fn text_of(tree: &Value) -> Vec<&str> {
        tree.as_array().into_iter().flatten().filter_map(|line| line["text"].as_str()).collect()
    }
}
