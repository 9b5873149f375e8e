//! Pages of all diagnostic codes, from the tables that declare them.

use sched_diagnostics::{Code, internal, usage};
use sched_lang::diagnostics::CODES;

/// LLVM's table of codes, included as source, since `schedc-lsp` is built without LLVM.
#[path = "../../codegen/llvm/src/codes.rs"]
mod libraries;

/// Tables of codes, by family: schedules, models, data, compilation, LLVM and libraries, usage, bugs of
/// schedc.
const TABLES: [&[Code]; 7] = [
    CODES,
    sched_forest::codes::CODES,
    schedc_data::codes::CODES,
    sched_ir::codes::CODES,
    libraries::CODES,
    usage::CODES,
    internal::CODES,
];

/// All codes, grouped by family.
pub fn all() -> impl Iterator<Item = Code> {
    TABLES.into_iter().flatten().copied()
}

/// Finds a code. Case and leading zeros do not matter.
pub fn find(text: &str) -> Option<Code> {
    let (letter, number) = text.split_at_checked(1)?;
    let text = format!("{letter}{number:0>4}");
    all().find(|code| code.to_string().eq_ignore_ascii_case(&text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn tables_are_of_one_family_each_and_all_are_there() {
        let families: Vec<_> = TABLES.iter().map(|table| table[0].family()).collect();
        assert!(families.is_sorted() && families.iter().collect::<BTreeSet<_>>().len() == TABLES.len());
        for table in TABLES {
            assert!(table.iter().all(|code| code.family() == table[0].family()), "{table:?}");
        }
        assert_eq!(libraries::CODES, sched_llvm::codes::CODES);
    }

    #[test]
    fn pages_have_a_text_and_help() {
        for code in all().filter(|code| code.family() != CODES[0].family()) {
            let page = code.page();
            assert!(page.contains("\n\nHelp: ") && page.trim_end().ends_with('.'), "{page:?}");
            assert_eq!(page.matches("\n# ").count(), 0, "{page:?}");
        }
    }

    #[test]
    fn codes_are_found_however_they_are_written() {
        let title = |text| find(text).map(Code::title);
        assert_eq!(title("m0003"), Some("damaged or truncated model file"));
        assert_eq!(title("S22"), Some("wrong kind of argument"));
        assert_eq!(title("X1"), Some("bug in schedc"));
        assert_eq!((title("S9999"), title("")), (None, None));
    }
}
