//! What of LLVM this crate was built with.

use crate::options;
use crate::target::triples;
use inkwell::support::get_llvm_version;
use inkwell::targets::{Target, TargetTriple};

/// LLVM as this program has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Its version.
    pub llvm: String,
    /// Whether it is part of the program; else the system's library is loaded.
    pub is_static: bool,
    /// Whether artefacts are linked by LLVM's linker in the program; else a C toolchain is needed.
    pub has_linker: bool,
    /// The systems that it generates code for, as LLVM calls them.
    pub targets: Vec<&'static str>,
}

/// What there is of LLVM.
pub fn about() -> About {
    options::initialise();
    let (major, minor, patch) = get_llvm_version();
    let has = |triple: &&str| Target::from_triple(&TargetTriple::create(triple)).is_ok();
    About {
        llvm: format!("{major}.{minor}.{patch}"),
        is_static: cfg!(feature = "llvm-static"),
        has_linker: cfg!(feature = "lld"),
        targets: triples().into_iter().filter(has).collect(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn all_targets_are_there() {
        let about = super::about();
        assert!(about.llvm.starts_with("19.1."), "{about:?}");
        assert_eq!(about.targets, crate::target::triples());
    }
}
