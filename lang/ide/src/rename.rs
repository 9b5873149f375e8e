//! Renames loops, params and consts.

use sched_grammar::ast::Span;
use sched_grammar::is_reserved;

use super::names::{NameKind, NameMeaning, Occurrence};
use super::{Analysis, Edit};
use sched_lang::resolve::{FUNCTIONS, PROPERTIES};

/// A name that the user can change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rename {
    /// The occurrence at the cursor.
    pub span: Span,
    /// The present name.
    pub placeholder: String,
}

/// The name at `offset`, if it can be changed.
///
/// # Errors
///
/// The reason why there is nothing to rename, as a sentence.
pub fn prepare_rename(a: &Analysis, offset: usize) -> Result<Rename, String> {
    let (here, named) = renamable(a, offset)?;
    Ok(Rename { span: here.span, placeholder: named.name.clone() })
}

/// The edits that rename the loop or number at `offset` everywhere, also in qualified names such as
/// `first.b1`.
///
/// # Errors
///
/// The reason, as a sentence, why there is nothing to rename or the new name is not possible.
pub fn rename(a: &Analysis, offset: usize, new_name: &str) -> Result<Vec<Edit>, String> {
    let (here, named) = renamable(a, offset)?;
    if new_name == named.name {
        return Ok(Vec::new());
    }
    check_new(a, here, new_name)?;
    let edit = |occurrence: &Occurrence| Edit { span: occurrence.span, text: new_name.to_owned() };
    Ok(a.names().with_same_meaning(here).map(edit).collect())
}

fn renamable(a: &Analysis, offset: usize) -> Result<(&Occurrence, &NameMeaning), String> {
    let names = a.names();
    let nothing = || "There is no name here. Loops, params and consts can be renamed.".to_owned();
    let here = names.at(offset).ok_or_else(nothing)?;
    let named = names.meaning(here);
    let name = &named.name;
    match named.kind {
        NameKind::Index | NameKind::Param | NameKind::Const => Ok((here, named)),
        NameKind::Root => Err(format!(
            "`{name}` is one of the two loops that every schedule starts with, so its name is fixed."
        )),
        NameKind::Property => {
            Err(format!("`{name}` is a property that the language names, so its name is fixed."))
        }
        NameKind::Function => {
            Err(format!("`{name}` is called as a function, and functions cannot be renamed."))
        }
        NameKind::Directive => {
            Err(format!("`{name}` is used as a directive, and directives cannot be renamed."))
        }
        NameKind::Word => Err(format!("`{name}` is a word of the language here, not a name.")),
        NameKind::Undeclared => Err(format!("Nothing declares `{name}`, so there is nothing to rename.")),
    }
}

/// Refuses a new name that is not a name, or that already has a meaning.
fn check_new(a: &Analysis, here: &Occurrence, name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("A name has at least one letter.".to_owned());
    }
    let starts = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    if !starts || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Err(format!(
            "`{name}` is no name: a name has letters from a to z, digits and `_`, and does not begin with \
             a digit."
        ));
    }
    if is_reserved(name) {
        return Err(format!("`{name}` is a word of the language. Choose another name."));
    }
    if name == "n_rows"
        || FUNCTIONS.contains(&name)
        || PROPERTIES.iter().any(|(property, _)| *property == name)
    {
        return Err(format!("`{name}` is the name of a property or function. Choose another name."));
    }
    let Some(taken) = a.names().find_beside(here, name) else { return Ok(()) };
    if taken.kind == NameKind::Root {
        return Err(format!("`{name}` is a loop that every schedule has. Choose another name."));
    }
    let place = taken.declarations.first().copied();
    let place = place.or_else(|| a.names().first(taken).map(|occurrence| occurrence.span));
    let line = place.map_or(1, |span| line_of(a.source(), span));
    let what = match taken.kind {
        NameKind::Index => "a loop that is declared",
        NameKind::Param => "a param that is declared",
        NameKind::Const => "a const that is declared",
        _ => "a name that is used",
    };
    Err(format!("`{name}` is taken: it is {what} on line {line}. Choose another name."))
}

/// The line where a span begins, from 1.
fn line_of(source: &str, span: Span) -> usize {
    let before = source.get(..span.start as usize).unwrap_or_default();
    before.bytes().filter(|byte| *byte == b'\n').count() + 1
}
