//! Artefacts: compiled models that run without the compiler.

use crate::codes;
use crate::device::{self, DeviceCode};
use crate::emit::{ArtefactVersion, ENCODE, EXPORTS, INTERFACE, TablePlacement, emit_artefact};
use crate::entry_info::EntryInfo;
use crate::error::LlvmError;
use crate::header::valid_prefix;
use crate::jit::info_text;
use crate::session::Session;
use crate::target::{Cpu, Machine};
use crate::{link, passes, system};
use inkwell::targets::FileType;
use sched_ir::lir;

/// The form of an artefact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Emit {
    /// A shared library that exports the functions of the header and nothing else.
    SharedLibrary,
    /// A relocatable object with the same functions, for linking into programs with `-pthread -lm`.
    Object,
    /// A static library of that object.
    StaticLibrary,
    /// LLVM IR after optimisation, for people to read, without the model's tables.
    Llvm,
    /// Assembly, for people to read, without the model's tables.
    Asm,
}

/// Options of a build.
#[derive(Clone, Debug, PartialEq)]
pub struct ArtefactOptions {
    /// The beginning of the names of the exported functions: a [`valid_prefix`].
    pub prefix: String,
    /// The processors that the code is for.
    pub cpu: Cpu,
    /// Numbers and texts about the model.
    pub entry: EntryInfo,
    /// The form of the artefact.
    pub emit: Emit,
}

/// A model for some processors and for rows of one type.
#[derive(Clone, Copy, Debug)]
pub struct Version<'a> {
    /// Kernels and tables.
    pub module: &'a lir::Module,
    /// The processors that the code is for.
    pub cpu: Cpu,
    /// Numbers and texts about the model.
    pub entry: &'a EntryInfo,
    /// The code of its launches, if it has any.
    pub launches: Option<&'a DeviceCode>,
}

/// Compiles a module to the bytes of an artefact.
///
/// # Errors
/// When the prefix is not valid, when LLVM fails, and when the C toolchain that links libraries and objects
/// is missing or fails.
pub fn build(module: &lir::Module, options: &ArtefactOptions) -> Result<Vec<u8>, LlvmError> {
    let ArtefactOptions { prefix, cpu, entry, emit } = options;
    let name = ArtefactName { prefix, file: None };
    build_named(&[Version { module, cpu: *cpu, entry, launches: None }], name, *emit)
}

/// Compiles versions of one model to the bytes of an artefact, which runs the most demanding version that the
/// processor can run. All versions have the same inputs and outputs. Two versions for the same processors may
/// differ in the type of their rows: a call goes to the one for its type.
///
/// # Errors
/// As for [`build()`].
pub fn build_versions(versions: &[Version], prefix: &str, emit: Emit) -> Result<Vec<u8>, LlvmError> {
    build_named(versions, ArtefactName { prefix, file: None }, emit)
}

/// The names of an artefact.
#[derive(Clone, Copy, Debug)]
pub struct ArtefactName<'a> {
    /// The beginning of the names of the exported functions: a [`valid_prefix`].
    pub prefix: &'a str,
    /// The soname of a shared library, or the name of the object in a static library.
    pub file: Option<&'a str>,
}

/// Compiles versions as [`build_versions`] does, to an artefact with a name.
///
/// # Errors
/// As for [`build()`].
pub fn build_named(versions: &[Version], name: ArtefactName, emit: Emit) -> Result<Vec<u8>, LlvmError> {
    let prefix = name.prefix;
    if !valid_prefix(prefix) {
        let message = format!("names of C functions cannot start with {prefix:?}");
        let help = "use letters, digits and underscores, with a letter first";
        return Err(LlvmError::new(codes::BAD_PREFIX, message).with_help(help));
    }
    let code = compile(versions, prefix, emit)?;
    let named = versions.iter().any(|version| version.entry.categories.iter().any(|names| !names.is_empty()));
    let names = EXPORTS.iter().chain(named.then_some(&ENCODE));
    let mut exports: Vec<String> = names.map(|name| format!("{prefix}_{name}")).collect();
    exports.push(INTERFACE.to_string());
    if cfg!(debug_assertions) && matches!(emit, Emit::SharedLibrary | Emit::Object | Emit::StaticLibrary) {
        system::check(&code)?;
    }
    let _stage = tracing::info_span!("link").entered();
    match emit {
        Emit::SharedLibrary => link::shared_library(&code, &exports, name.file),
        Emit::Object => link::object(&code, &exports),
        Emit::StaticLibrary => {
            let object = link::object(&code, &exports)?;
            link::archive(&object, name.file.unwrap_or("model.o"))
        }
        Emit::Llvm | Emit::Asm => Ok(code),
    }
}

/// Compiles versions of one model to an object without the runtime, or to text.
pub(crate) fn compile(versions: &[Version], prefix: &str, emit: Emit) -> Result<Vec<u8>, LlvmError> {
    let _stage = tracing::info_span!("LLVM").entered();
    let session = Session::new();
    let mut compiled = Vec::new();
    for Version { module, cpu, entry, launches } in versions {
        info_text(&entry.info)?;
        device::check(module, *launches)?;
        compiled.push(ArtefactVersion { machine: Machine::new(*cpu)?, module, entry, launches: *launches });
    }
    // Every level includes the bits of the lower ones, so a higher level is a larger number.
    let key = |version: &ArtefactVersion| (version.machine.needs, version.module.types.rows.bytes());
    compiled.sort_by_key(|version| std::cmp::Reverse(key(version)));
    compiled.dedup_by_key(|version| key(version));
    let data = match emit {
        Emit::SharedLibrary | Emit::Object | Emit::StaticLibrary => TablePlacement::Inside,
        Emit::Llvm | Emit::Asm => TablePlacement::LeftOut,
    };
    let emitted = emit_artefact(&session, &compiled, prefix, data)?;
    let machine = match compiled.last() {
        Some(least) => &least.machine,
        None => return Err(LlvmError::ill_formed("an artefact without a model")),
    };
    passes::verify(&emitted)?;
    passes::optimise(&emitted, machine)?;
    let file = match emit {
        Emit::Llvm => {
            session.check()?;
            return Ok(emitted.print_to_string().to_bytes().to_vec());
        }
        Emit::Asm => FileType::Assembly,
        Emit::SharedLibrary | Emit::Object | Emit::StaticLibrary => FileType::Object,
    };
    Ok(passes::generate(&session, emitted, machine, file)?.as_slice().to_vec())
}
