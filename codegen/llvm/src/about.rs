//! The LLVM that this crate was built with.

use crate::options;
use crate::target::triples;
use inkwell::support::get_llvm_version;
use inkwell::targets::{Target, TargetTriple};

/// Version, linkage and targets of the LLVM in this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LlvmInfo {
    /// Version of LLVM.
    pub llvm: String,
    /// Whether it is linked into the program; otherwise the system's library is loaded.
    pub is_static: bool,
    /// Whether LLVM's linker in the program links artefacts; otherwise a C toolchain is needed.
    pub has_linker: bool,
    /// Target triples that it generates code for.
    pub targets: Vec<&'static str>,
}

/// Describes the LLVM of this program.
pub fn llvm_info() -> LlvmInfo {
    options::initialise();
    let (major, minor, patch) = get_llvm_version();
    let has = |triple: &&str| Target::from_triple(&TargetTriple::create(triple)).is_ok();
    LlvmInfo {
        llvm: format!("{major}.{minor}.{patch}"),
        is_static: cfg!(feature = "llvm-static"),
        has_linker: cfg!(feature = "lld"),
        targets: triples().into_iter().filter(has).collect(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn all_targets_are_available() {
        let info = super::llvm_info();
        assert!(info.llvm.starts_with("19.1."), "{info:?}");
        assert_eq!(info.targets, crate::target::triples());
    }
}
