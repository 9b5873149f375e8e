//! The signature of the call under the cursor, with the argument there.

use super::Analysis;
use super::cursor::{AtCursor, CallAt, cursor};
use super::hover::function;
use sched_lang::directives::{DirectiveOp, Parameter, Role, Signature, find};

/// The signature of a directive or a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureHelp {
    /// `tile(v, outer, inner, size)`
    pub label: String,
    /// Effect of the directive or function, in Markdown.
    pub documentation: String,
    /// Parameters in order.
    pub parameters: Vec<ParameterHelp>,
    /// Index of the parameter under the cursor; at least the number of parameters if the call has too many
    /// arguments.
    pub active: usize,
}

/// A parameter of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterHelp {
    /// Start and end of the parameter in the label, in bytes.
    pub label: (usize, usize),
    /// The rule for the parameter's value.
    pub documentation: String,
}

/// Help for the call in whose brackets `offset` lies.
pub fn signature_help(analysis: &Analysis, offset: usize) -> Option<SignatureHelp> {
    let AtCursor::Call(call) = cursor(analysis, offset) else { return None };
    if let Some((name, at)) = call.function {
        return function_help(name, at);
    }
    if call.in_header {
        return None;
    }
    directive_help(find(call.name)?, &call)
}

fn directive_help(signature: &'static Signature, call: &CallAt) -> Option<SignatureHelp> {
    let label = signature.usage();
    let mut from = signature.name.len();
    let mut parameters = Vec::new();
    for parameter in signature.parameters {
        let start = from + label.get(from..)?.find(parameter.name)?;
        let end = start + parameter.name.len();
        parameters.push(ParameterHelp { label: (start, end), documentation: what(parameter) });
        from = end;
    }
    let last = signature.parameters.len().saturating_sub(1);
    // `representation` leaves out its first parameter: a single argument is the layout.
    let is_layout = signature.op == DirectiveOp::Representation && call.arguments.len() <= 1 && call.at == 0;
    let active = match (signature.repeats, is_layout) {
        (true, _) => call.at.min(last),
        (false, true) => last,
        (false, false) => call.at,
    };
    // A long text would cover the completions below the line; the hover has the rule.
    Some(SignatureHelp { label, documentation: signature.summary.to_owned(), parameters, active })
}

fn what(parameter: &Parameter) -> String {
    match parameter.role {
        Role::Index => "An existing loop.".to_owned(),
        Role::NewIndex => "A name for a new loop.".to_owned(),
        Role::Number => match parameter.name {
            "size" => "The step of the outer loop.".to_owned(),
            "at" => "The first value of the second half.".to_owned(),
            "depth" => "The number of straight-line steps.".to_owned(),
            "levels" => "The number of levels whose nodes are all tested.".to_owned(),
            "width" => "The number of lanes of a vector.".to_owned(),
            _ => "A number of at least 1.".to_owned(),
        },
        Role::Keyword(words) => {
            let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            format!("One of {}.", words.join(", "))
        }
    }
}

fn function_help(name: &str, at: usize) -> Option<SignatureHelp> {
    let (label, parameters): (String, &[(usize, usize)]) = match name {
        "trees_to_depth" => (format!("{name}(d)"), &[(0, 1)]),
        _ => (format!("{name}(a, b)"), &[(0, 1), (3, 4)]),
    };
    let documentation = function(name)?.to_owned();
    let base = name.len() + 1;
    let parameters = parameters
        .iter()
        .map(|(start, end)| ParameterHelp {
            label: (base + start, base + end),
            documentation: "A number.".to_owned(),
        })
        .collect();
    Some(SignatureHelp { label, documentation, parameters, active: at })
}
