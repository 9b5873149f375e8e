//! Hovers for named numbers, model properties, functions and values of expressions.

use sched_grammar::ast::{ExprKind, Ident, Path, ScheduleExpr, ScheduleStmt};

use super::answer::{Hover, part_at, touches};
use crate::ScheduleAnalysis;
use sched_lang::Param;
use sched_lang::resolve::{Arg, PROPERTIES};
use sched_nest::sym::{Property, Sym};

/// The name of a param or const in its declaration.
pub(super) fn declaration_hover(analysis: ScheduleAnalysis, name: &Ident) -> Option<Hover> {
    named(analysis, &name.text).map(|markdown| Hover::new(name.span, markdown).page("language/params"))
}

/// A number as an argument: the name under the cursor, or the value of the whole expression.
pub(super) fn argument(
    analysis: ScheduleAnalysis,
    stmt: &ScheduleStmt,
    at: usize,
    expr: &ScheduleExpr,
    offset: usize,
) -> Option<Hover> {
    let found = expression(analysis, expr, offset);
    if found.is_some() || matches!(expr.kind, ExprKind::Int(_)) {
        return found;
    }
    let prepared = analysis.prepared();
    let call = prepared.step_at(stmt.span).and_then(|step| prepared.call(step))?;
    let Some(Arg::Number(value)) = call.args.get(at) else { return None };
    // Without a model, many expressions have no value.
    value.as_int()?;
    Some(Hover::new(expr.span, format!("`{}` = **{value}**", analysis.text(expr.span))))
}

/// A name or a function in an expression.
pub(super) fn expression(analysis: ScheduleAnalysis, expr: &ScheduleExpr, offset: usize) -> Option<Hover> {
    let part = part_at(expr, offset);
    match &part.kind {
        ExprKind::Path(path) => {
            let name = path.as_ident()?;
            let markdown = named(analysis, &name.text).or_else(|| property(analysis, &name.text))?;
            Some(Hover::new(name.span, markdown).page("language/params"))
        }
        ExprKind::Call(name, args) if touches(name.span, offset) => {
            let mut markdown = function(&name.text)?.to_owned();
            if let ("trees_to_depth", [ScheduleExpr { kind: ExprKind::Int(depth), .. }], Some(model)) =
                (name.text.as_str(), args.as_slice(), &analysis.options().model)
            {
                let count = model.trees_to_depth(*depth);
                markdown.push_str(&format!("\n\nHere it is **{count}** of {} trees.", model.num_trees));
            }
            Some(Hover::new(name.span, markdown).page("language/params"))
        }
        _ => None,
    }
}

/// A name in the brackets of a copy: `v[K].b1`.
pub(super) fn in_brackets(analysis: ScheduleAnalysis, path: &Path, offset: usize) -> Option<Hover> {
    let mut index = path.segments.iter().filter_map(|segment| segment.index.as_deref());
    let inside = index.rfind(|index| touches(index.span, offset))?;
    expression(analysis, inside, offset)
}

/// Text on a declared name.
pub(crate) fn named(analysis: ScheduleAnalysis, name: &str) -> Option<String> {
    let checked = analysis.verdict();
    if let Some(param) = checked.params.iter().find(|param| param.name == name) {
        return Some(param_text(param));
    }
    let number = analysis.prepared().numbers().iter().find(|number| number.name == name)?;
    let kind = if number.is_param { "param" } else { "const" };
    Some(match &number.value {
        Some(value) => format!("```sched\n{kind} {name} = {value}\n```"),
        None => format!("The {kind} `{name}` has no value."),
    })
}

fn param_text(param: &Param) -> String {
    let value = &param.value;
    let mut text = format!("```sched\nparam {} = {value}\n```", param.name);
    if param.overridden {
        text.push_str(&format!("\nSet by an option such as `--set`. The default is {}.\n", param.default));
    }
    if !param.choices.is_empty() {
        let mark = |choice: &Sym| if choice == value { format!("**{choice}**") } else { choice.to_string() };
        let choices: Vec<String> = param.choices.iter().map(mark).collect();
        text.push_str(&format!("\nWorth trying: {}", choices.join(", ")));
    }
    text
}

/// The meaning of a model property, and its value.
pub(crate) fn property(analysis: ScheduleAnalysis, name: &str) -> Option<String> {
    if name == "n_rows" {
        return Some("`n_rows`: the rows of the call, known only at run time.".to_owned());
    }
    let (_, property) = PROPERTIES.iter().find(|(known, _)| *known == name)?;
    let what = property_meaning(*property);
    let value = property_value(analysis, *property);
    let unknown = match property {
        Property::BatchSize => "not given: `--batch-size` sets it",
        Property::RunDepth => "each run has its own",
        _ => "known once the schedule has a model",
    };
    Some(match value {
        Some(value) => format!("`{name}` = **{value}**: {what}"),
        None => format!("`{name}`: {what}\n\n*{unknown}*"),
    })
}

/// The value of a property, if it is known.
pub(crate) fn property_value(analysis: ScheduleAnalysis, property: Property) -> Option<i64> {
    let model = analysis.options().model.as_deref();
    match property {
        Property::Rows | Property::RunDepth | Property::Units | Property::Terms => None,
        Property::NumTrees => model.map(|model| model.num_trees.into()),
        Property::NumFeatures => model.map(|model| model.num_features.into()),
        Property::NumClasses => model.map(|model| model.num_classes.into()),
        Property::MaxDepth => model.map(|model| model.max_depth().into()),
        Property::TreesToDepth(depth) => model.map(|model| model.trees_to_depth(depth)),
        Property::BatchSize => analysis.batch_size().and_then(|size| i64::try_from(size).ok()),
    }
}

/// The meaning of a property, in one sentence.
pub(crate) fn property_meaning(property: Property) -> &'static str {
    match property {
        Property::Rows => "the rows of the call.",
        Property::NumTrees => "the number of trees of the model.",
        Property::NumFeatures => "the number of features of a row.",
        Property::NumClasses => "the number of outputs of a row.",
        Property::MaxDepth => "the depth of the deepest tree.",
        Property::BatchSize => "the largest number of rows that the loops process at once.",
        Property::TreesToDepth(_) => "the number of trees that are no deeper than this.",
        Property::Units => "the number of sums of a stage.",
        Property::Terms => "the number of terms of a stage's sums.",
        Property::RunDepth => "the depth of the deepest tree in a run that `splitByDepth` made.",
    }
}

/// The meaning of a function.
pub(crate) fn function(name: &str) -> Option<&'static str> {
    Some(match name {
        "min" => "`min(a, b)`: the smaller of two numbers.",
        "max" => "`max(a, b)`: the larger of two numbers.",
        "ceildiv" => "`ceildiv(a, b)`: a quotient, rounded up.",
        "trees_to_depth" => {
            "`trees_to_depth(d)`: the number of trees that are no deeper than `d`, counted in the order of \
             the nest."
        }
        _ => return None,
    })
}
