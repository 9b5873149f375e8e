//! Artefacts: compiled models that run without the compiler.

use crate::codes;
use crate::device::{self, DeviceCode};
use crate::emit::{
    ArtefactVersion, ENCODE_FUNCTION, EXPORTS, INTERFACE_SYMBOL, TablePlacement, emit_artefact,
};
use crate::entry_info::EntryInfo;
use crate::error::LlvmError;
use crate::header::is_valid_prefix;
use crate::jit::info_c_string;
use crate::session::Session;
use crate::target::{Cpu, LlvmMachine};
use crate::{link, passes, system};
use inkwell::targets::FileType;
use sched_ir::lir;

/// The form of an artefact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArtefactForm {
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
    /// The beginning of the names of the exported functions: one that passes [`is_valid_prefix`].
    pub prefix: String,
    /// The processors that the code is for.
    pub cpu: Cpu,
    /// Numbers and texts about the model.
    pub entry: EntryInfo,
    /// The form of the artefact.
    pub form: ArtefactForm,
}

/// A model for some processors and for rows of one type.
#[derive(Clone, Copy, Debug)]
pub struct ModelVersion<'a> {
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
    let ArtefactOptions { prefix, cpu, entry, form } = options;
    let name = ArtefactName { prefix, file: None };
    build_named(&[ModelVersion { module, cpu: *cpu, entry, launches: None }], name, *form)
}

/// Compiles versions of one model to the bytes of an artefact, which runs the most demanding version that the
/// processor can run. All versions have the same inputs and outputs. Two versions for the same processors may
/// differ in the type of their rows: a call goes to the one for its type.
///
/// # Errors
/// As for [`build()`].
pub fn build_versions(
    versions: &[ModelVersion],
    prefix: &str,
    form: ArtefactForm,
) -> Result<Vec<u8>, LlvmError> {
    build_named(versions, ArtefactName { prefix, file: None }, form)
}

/// The names of an artefact.
#[derive(Clone, Copy, Debug)]
pub struct ArtefactName<'a> {
    /// The beginning of the names of the exported functions: one that passes [`is_valid_prefix`].
    pub prefix: &'a str,
    /// The soname of a shared library, or the name of the object in a static library.
    pub file: Option<&'a str>,
}

/// Compiles versions as [`build_versions`] does, to an artefact with a name.
///
/// # Errors
/// As for [`build()`].
pub fn build_named(
    versions: &[ModelVersion],
    name: ArtefactName,
    form: ArtefactForm,
) -> Result<Vec<u8>, LlvmError> {
    let prefix = name.prefix;
    if !is_valid_prefix(prefix) {
        let message = format!("{prefix:?} cannot be the prefix of C functions' names");
        let help = "use at most 64 letters, digits and underscores, a letter first, and not `schedc_rt`";
        return Err(LlvmError::new(codes::BAD_PREFIX, message).with_help(help));
    }
    let code = compile(versions, prefix, form)?;
    let named = versions.iter().any(|version| version.entry.categories.iter().any(|names| !names.is_empty()));
    let names = EXPORTS.iter().chain(named.then_some(&ENCODE_FUNCTION));
    let mut exports: Vec<String> = names.map(|name| format!("{prefix}_{name}")).collect();
    exports.push(INTERFACE_SYMBOL.to_string());
    if cfg!(debug_assertions)
        && matches!(form, ArtefactForm::SharedLibrary | ArtefactForm::Object | ArtefactForm::StaticLibrary)
    {
        system::check_undefined_symbols(&code)?;
    }
    let _stage = tracing::info_span!("link").entered();
    match form {
        ArtefactForm::SharedLibrary => link::shared_library(&code, &exports, name.file),
        ArtefactForm::Object => link::object(&code, &exports),
        ArtefactForm::StaticLibrary => {
            let object = link::object(&code, &exports)?;
            link::static_library(&object, name.file.unwrap_or("model.o"))
        }
        ArtefactForm::Llvm | ArtefactForm::Asm => Ok(code),
    }
}

/// Compiles versions of one model to an object without the runtime, or to text.
pub(crate) fn compile(
    versions: &[ModelVersion],
    prefix: &str,
    form: ArtefactForm,
) -> Result<Vec<u8>, LlvmError> {
    let _stage = tracing::info_span!("LLVM").entered();
    let session = Session::new();
    let mut compiled = Vec::new();
    for ModelVersion { module, cpu, entry, launches } in versions {
        info_c_string(&entry.info)?;
        device::check_device_code(module, *launches)?;
        compiled.push(ArtefactVersion {
            machine: LlvmMachine::new(*cpu)?,
            module,
            entry,
            launches: *launches,
        });
    }
    // Every level includes the bits of the lower ones, so a higher level is a larger number.
    let key = |version: &ArtefactVersion| (version.machine.cpu_needs, version.module.types.rows.bytes());
    compiled.sort_by_key(|version| std::cmp::Reverse(key(version)));
    compiled.dedup_by_key(|version| key(version));
    let data = match form {
        ArtefactForm::SharedLibrary | ArtefactForm::Object | ArtefactForm::StaticLibrary => {
            TablePlacement::Inside
        }
        ArtefactForm::Llvm | ArtefactForm::Asm => TablePlacement::LeftOut,
    };
    let emitted = emit_artefact(&session, &compiled, prefix, data)?;
    let machine = match compiled.last() {
        Some(least) => &least.machine,
        None => return Err(LlvmError::ill_formed("an artefact without a model")),
    };
    passes::verify(&emitted)?;
    passes::optimise(&emitted, machine)?;
    let file = match form {
        ArtefactForm::Llvm => {
            session.check()?;
            return Ok(emitted.print_to_string().to_bytes().to_vec());
        }
        ArtefactForm::Asm => FileType::Assembly,
        ArtefactForm::SharedLibrary | ArtefactForm::Object | ArtefactForm::StaticLibrary => FileType::Object,
    };
    Ok(passes::generate_code(&session, emitted, machine, file)?.as_slice().to_vec())
}
