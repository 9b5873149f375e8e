//! Names that a number can be written with: params, consts, model properties and functions.

use sched_grammar::ast::Span;

use super::item::{Completion, CompletionKind};
use crate::ScheduleAnalysis;
use crate::hover::{function, named, property_meaning, property_text, property_value};
use sched_lang::resolve::{FUNCTIONS, PROPERTIES};
use sched_nest::sym::{Property, Sym};

/// Completion of a name of a number, with the number.
pub(super) struct NamedNumber {
    pub item: Completion,
    /// Value of the number, perhaps an expression over unknown properties; `None` if it has no value.
    pub value: Option<Sym>,
}

/// All names of numbers that are declared before `before`, and the model properties.
pub(super) fn names(analysis: ScheduleAnalysis, before: usize, replace: Span) -> Vec<NamedNumber> {
    let declared =
        analysis.prepared().numbers().iter().filter(|number| (number.span.start as usize) < before);
    let mut all: Vec<NamedNumber> = declared
        .map(|number| {
            let kind = if number.is_param { CompletionKind::Param } else { CompletionKind::Const };
            let value =
                number.value.as_ref().map_or_else(|| "no value".to_owned(), |value| format!("= {value}"));
            let item = Completion::new(kind, number.name.as_str(), replace)
                .detail(value)
                .documentation(named(analysis, &number.name).unwrap_or_default());
            NamedNumber { item, value: number.value.clone() }
        })
        .collect();
    // `N_t` is the papers' name for `num_trees`.
    let model = PROPERTIES.iter().filter(|(name, _)| *name != "N_t");
    all.extend(model.map(|(name, property)| {
        let value = property_value(analysis, *property);
        let detail = value.map_or_else(
            || property_meaning(*property).trim_end_matches('.').to_owned(),
            |n| format!("= {n}"),
        );
        let item = Completion::new(CompletionKind::Property, *name, replace)
            .detail(detail)
            .documentation(property_text(analysis, name).unwrap_or_default());
        NamedNumber { item, value: Some(value.map_or(Sym::Property(*property), Sym::Int)) }
    }));
    all
}

/// Whether a value depends on no loop, as `run_depth` does, so that params and consts can have it.
pub(super) fn is_general(value: &Sym) -> bool {
    !value.mentions(&|property| property == Property::RunDepth)
}

/// The functions of numbers.
pub(super) fn functions(replace: Span) -> Vec<Completion> {
    let item = |name: &&str| {
        let about = function(name).unwrap_or_default();
        let insert = if *name == "trees_to_depth" {
            format!("{name}(${{1:4}})")
        } else {
            format!("{name}(${{1:a}}, ${{2:b}})")
        };
        Completion::new(CompletionKind::Function, *name, replace)
            .detail("function")
            .documentation(about)
            .snippet(insert)
    };
    FUNCTIONS.iter().map(item).collect()
}
