//! Functions of the system that the code of artefacts may call.
//!
//! Where a C compiler links, it finds whatever the system has. A program that links by itself knows the functions of one table
//! alone. So the table must have all that generated code and the runtime can ask for, and each build of schedc for its
//! developers checks that, whoever links.

use crate::error::LlvmError;
use elf::ElfBytes;
use elf::abi::SHN_UNDEF;
use elf::endian::LittleEndian;
use sched_diagnostics::internal;
use std::collections::BTreeSet;

/// A line for each library and version of its functions.
pub(crate) const TABLE: &str = include_str!("../linker/system.txt");

/// The functions of the system.
fn listed() -> BTreeSet<&'static str> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(|line| line.split_whitespace().skip(2)).collect()
}

/// The names that an object asks others for.
///
/// # Errors
/// When the bytes are no object.
pub(crate) fn undefined(object: &[u8]) -> Result<BTreeSet<String>, elf::ParseError> {
    let file = ElfBytes::<LittleEndian>::minimal_parse(object)?;
    let Some((symbols, names)) = file.symbol_table()? else { return Ok(BTreeSet::new()) };
    let open = symbols.iter().filter(|symbol| symbol.st_shndx == SHN_UNDEF && symbol.st_name != 0);
    open.map(|symbol| Ok(names.get(symbol.st_name as usize)?.to_string())).collect()
}

/// The names that an object asks for and that neither the table nor a linker has.
///
/// # Errors
/// When the bytes are no object.
pub(crate) fn unlisted(object: &[u8]) -> Result<Vec<String>, elf::ParseError> {
    let listed = listed();
    let is_open = |name: &String| *name != "_GLOBAL_OFFSET_TABLE_" && !listed.contains(name.as_str());
    Ok(undefined(object)?.into_iter().filter(is_open).collect())
}

/// Checks that generated code asks for nothing but the runtime and the functions of the table.
///
/// # Errors
/// For the name of a function that is missing there.
pub(crate) fn check(object: &[u8]) -> Result<(), LlvmError> {
    let unlisted = unlisted(object).map_err(LlvmError::ill_formed)?;
    match unlisted.iter().find(|name| !name.starts_with("schedc_rt_")) {
        None => Ok(()),
        Some(name) => {
            let message = format!("generated code calls `{name}`, which linker/system.txt lacks");
            Err(LlvmError::new(internal::ILL_FORMED, message).with_help(internal::REPORT))
        }
    }
}

#[cfg(test)]
mod tests;
