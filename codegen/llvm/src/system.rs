//! Functions of the system that the code of artefacts may call.
//!
//! A C compiler links with all libraries of the system. LLVM's linker in this process knows only the
//! functions of one table. The table must therefore have all functions that generated code and the runtime
//! may call. Each debug build of schedc checks that, with either linker.

use crate::error::LlvmError;
use elf::ElfBytes;
use elf::abi::SHN_UNDEF;
use elf::endian::LittleEndian;
use sched_diagnostics::internal;
use std::collections::BTreeSet;

/// Table of functions: a line for each library and version.
pub(crate) const FUNCTION_TABLE: &str = include_str!("../linker/system.txt");

/// Returns the functions of the table.
fn listed_functions() -> BTreeSet<&'static str> {
    let lines = FUNCTION_TABLE.lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(|line| line.split_whitespace().skip(2)).collect()
}

/// Returns the names of undefined symbols of an object.
///
/// # Errors
/// When the bytes are not an object file.
pub(crate) fn undefined_symbols(object: &[u8]) -> Result<BTreeSet<String>, elf::ParseError> {
    let file = ElfBytes::<LittleEndian>::minimal_parse(object)?;
    let Some((symbols, names)) = file.symbol_table()? else { return Ok(BTreeSet::new()) };
    let open = symbols.iter().filter(|symbol| symbol.st_shndx == SHN_UNDEF && symbol.st_name != 0);
    open.map(|symbol| Ok(names.get(symbol.st_name as usize)?.to_string())).collect()
}

/// Returns the undefined symbols of an object that neither the table nor a linker defines.
///
/// # Errors
/// When the bytes are not an object file.
pub(crate) fn unlisted_symbols(object: &[u8]) -> Result<Vec<String>, elf::ParseError> {
    let listed = listed_functions();
    let is_open = |name: &String| *name != "_GLOBAL_OFFSET_TABLE_" && !listed.contains(name.as_str());
    Ok(undefined_symbols(object)?.into_iter().filter(is_open).collect())
}

/// Checks that generated code calls only the runtime and the functions of the table.
///
/// # Errors
/// When a function is missing in the table.
pub(crate) fn check_undefined_symbols(object: &[u8]) -> Result<(), LlvmError> {
    let unlisted = unlisted_symbols(object).map_err(LlvmError::ill_formed)?;
    match unlisted.iter().find(|name| !name.starts_with("schedc_rt_")) {
        None => Ok(()),
        Some(name) => {
            let message = format!("generated code calls `{name}`, which linker/system.txt lacks");
            Err(LlvmError::new(internal::ILL_FORMED, message).with_help(internal::BUG_REPORT_HELP))
        }
    }
}

#[cfg(test)]
mod tests;
