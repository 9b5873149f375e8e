//! Artefacts: compiled models that run without the compiler.

use crate::emit::{Data, EXPORTS, emit_artefact};
use crate::error::{LlvmError, code};
use crate::facts::Facts;
use crate::header::valid_prefix;
use crate::jit::info_text;
use crate::session::Session;
use crate::target::{Cpu, Machine};
use crate::{link, passes};
use inkwell::targets::FileType;
use sched_ir::lir;

/// The form of an artefact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Emit {
    /// A shared library that exports the functions of the header and nothing else.
    SharedLibrary,
    /// A relocatable object with the same functions, for linking into programs with `-pthread -lm`.
    Object,
    /// LLVM IR after optimisation, without the model's tables, for people.
    Llvm,
    /// Assembly, without the model's tables, for people.
    Asm,
}

/// How to build an artefact.
#[derive(Clone, Debug, PartialEq)]
pub struct ArtefactOptions {
    /// What the names of the exported functions start with: a [`valid_prefix`].
    pub prefix: String,
    /// The instructions that the code may use.
    pub cpu: Cpu,
    /// What the artefact says of its model.
    pub facts: Facts,
    /// Its form.
    pub emit: Emit,
}

/// Compiles a module to the bytes of an artefact.
///
/// # Errors
/// When the prefix is no valid one, when LLVM fails, and when the C toolchain that links libraries and objects is
/// missing or fails.
pub fn build(module: &lir::Module, options: &ArtefactOptions) -> Result<Vec<u8>, LlvmError> {
    let prefix = options.prefix.as_str();
    if !valid_prefix(prefix) {
        let message = format!("names of C functions cannot start with {prefix:?}");
        let help = "use letters, digits and underscores, with a letter first";
        return Err(LlvmError::new(code::BAD_PREFIX, message).with_help(help));
    }
    info_text(&options.facts.info)?;
    let session = Session::new();
    let machine = Machine::new(options.cpu)?;
    let data = match options.emit {
        Emit::SharedLibrary | Emit::Object => Data::Inside,
        Emit::Llvm | Emit::Asm => Data::LeftOut,
    };
    let emitted = emit_artefact(&session, &machine, module, &options.facts, prefix, data)?;
    passes::verify(&emitted)?;
    passes::optimise(&emitted, &machine)?;
    let file = match options.emit {
        Emit::Llvm => {
            session.check()?;
            return Ok(emitted.print_to_string().to_bytes().to_vec());
        }
        Emit::Asm => FileType::Assembly,
        Emit::SharedLibrary | Emit::Object => FileType::Object,
    };
    let code = passes::generate(&session, emitted, &machine, file)?;
    let exports = EXPORTS.map(|name| format!("{prefix}_{name}"));
    match options.emit {
        Emit::SharedLibrary => link::shared_library(code.as_slice(), &exports),
        Emit::Object => link::object(code.as_slice(), &exports),
        Emit::Llvm | Emit::Asm => Ok(code.as_slice().to_vec()),
    }
}
