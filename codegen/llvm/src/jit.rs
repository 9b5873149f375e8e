//! Kernels compiled into this process.

use crate::device::{self, DeviceCode, DeviceTables};
use crate::emit::{emit_kernels, kernel_name};
use crate::entry_info::{Addresses, EntryInfo, base_bytes};
use crate::error::LlvmError;
use crate::orc::Orc;
use crate::packed::{Columns, Extras, Output, Rows, packed_call, raw_columns};
use crate::runtime::{self, Kind, ModelDescriptor, Status};
use crate::session::Session;
use crate::tables::Tables;
use crate::target::{Cpu, Machine};
use crate::{passes, runtime::KernelFn};
use inkwell::targets::FileType;
use sched_ir::lir::{self, KernelKind};
use sched_ir::verify::verify_interface;
use std::ffi::CString;

/// A model compiled into this process; its code and its tables live as long as this value.
pub struct Jit {
    // What is on devices goes first.
    _launches: Option<DeviceTables>,
    // The code is unloaded before the tables, which it refers to.
    _code: Orc,
    _tables: Tables,
    _info: CString,
    // In words, so that it is aligned to its elements.
    _base: Option<Vec<u64>>,
    model: ModelDescriptor,
}

// SAFETY: what the pointers of `model` lead to is owned by this value and never changes; the runtime's calls
// are made for many threads. The code is unloaded by whoever owns the value.
unsafe impl Send for Jit {}
// SAFETY: as above.
unsafe impl Sync for Jit {}

impl Jit {
    /// Compiles the kernels of a module that `kernels` names, and those that finish margins always: without
    /// them the entry points would take margins for predictions.
    ///
    /// # Errors
    /// When this machine cannot run code for `cpu`, and when LLVM fails.
    pub fn compile(
        module: &lir::Module,
        cpu: Cpu,
        entry: &EntryInfo,
        kernels: &[KernelKind],
    ) -> Result<Jit, LlvmError> {
        Jit::compile_with(module, cpu, None, entry, kernels)
    }

    /// Compiles the code of the host of a module whose launches have been compiled for GPUs. The driver and the GPU are
    /// looked for when the first call is made.
    ///
    /// # Errors
    /// As for [`Jit::compile`].
    pub fn compile_with_launches(
        module: &lir::Module,
        cpu: Cpu,
        launches: DeviceCode,
        entry: &EntryInfo,
        kernels: &[KernelKind],
    ) -> Result<Jit, LlvmError> {
        Jit::compile_with(module, cpu, Some(launches), entry, kernels)
    }

    fn compile_with(
        module: &lir::Module,
        cpu: Cpu,
        launches: Option<DeviceCode>,
        entry: &EntryInfo,
        kernels: &[KernelKind],
    ) -> Result<Jit, LlvmError> {
        device::check(module, launches.as_ref())?;
        verify_interface(module).map_err(LlvmError::ill_formed)?;
        let machine = Machine::new(cpu)?;
        machine.check_host(cpu)?;
        let wanted = |kind: &KernelKind| {
            use KernelKind::{Direct, DirectOfBins, Quantize, RawOfBins, Value};
            kernels.contains(kind) || matches!(kind, Value | Direct | Quantize | RawOfBins | DirectOfBins)
        };
        let wanted: Vec<KernelKind> = module.kernels.iter().map(|(kind, _)| *kind).filter(wanted).collect();
        let code = Orc::load(object(module, &machine, &wanted)?, &runtime::symbols())?;

        let mut addresses: Vec<(KernelKind, KernelFn)> = Vec::with_capacity(wanted.len());
        for (kind, function) in module.kernels.iter().filter(|(kind, _)| wanted.contains(kind)) {
            // SAFETY: the symbol is a function emitted with a kernel's signature.
            let kernel = unsafe {
                std::mem::transmute::<*const (), KernelFn>(code.address(&kernel_name(function, 0))?)
            };
            addresses.push((*kind, kernel));
        }
        let kernel = |kind| addresses.iter().find(|(k, _)| *k == kind).map(|(_, address)| *address);
        let tables = Tables::new(&module.tables);
        let info = info_text(&entry.info)?;
        let launches =
            { launches.map(|code| DeviceTables::new(module, code, machine.needs, kernel)).transpose()? };
        let gpu = launches.as_ref().map_or(std::ptr::null(), DeviceTables::as_ptr);
        let base = base_bytes(entry, module).map(words);
        let begin = base.as_ref().map_or(std::ptr::null(), |words| words.as_ptr().cast());
        let addresses = Addresses { tables: tables.as_ptr(), info: info.as_ptr(), base: begin };
        let model = entry.model(module, kernel, addresses, machine.needs, gpu);
        Ok(Jit { _launches: launches, _code: code, _tables: tables, _info: info, _base: base, model })
    }

    /// The model as the runtime sees it. Its pointers are valid as long as this value lives.
    pub fn model(&self) -> &ModelDescriptor {
        &self.model
    }

    /// Predicts `n_rows` packed rows with at most `threads` threads; 0 leaves the number to the runtime.
    ///
    /// # Errors
    /// [`Status::ARGUMENT`] when the slices do not fit the number of rows or the kind's type, and as the
    /// runtime says.
    pub fn predict(
        &self,
        kind: Kind,
        rows: Rows<'_>,
        n_rows: usize,
        output: Output<'_>,
        threads: i32,
    ) -> Result<(), Status> {
        self.predict_with(kind, rows, n_rows, output, Extras { threads, ..Extras::default() })
    }

    /// The same with all that a call can say.
    ///
    /// # Errors
    /// As for [`Jit::predict`].
    pub fn predict_with(
        &self,
        kind: Kind,
        rows: Rows<'_>,
        n_rows: usize,
        output: Output<'_>,
        extras: Extras<'_>,
    ) -> Result<(), Status> {
        let columns = Columns {
            features: usize::try_from(self.model.num_features).unwrap_or(usize::MAX),
            outputs: usize::try_from(runtime::num_outputs(&self.model, kind)).unwrap_or(usize::MAX),
            element: runtime::output_type(&self.model, kind),
            margins: usize::try_from(self.model.num_margins).unwrap_or(usize::MAX),
        };
        let raw = raw_columns(rows, columns.features, n_rows);
        let call = packed_call(columns, kind, (rows, raw.as_deref()), n_rows, output, extras);
        // SAFETY: the slices were found long enough, and a mutable one overlaps no other. The kernels and
        // tables come from one module.
        unsafe { runtime::call(&self.model, &call) }
    }
}

/// Bytes in words.
fn words(bytes: Vec<u8>) -> Vec<u64> {
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        u64::from_ne_bytes(word)
    };
    bytes.chunks(8).map(word).collect()
}

/// The machine code of some kernels, as the bytes of an object file.
fn object(
    module: &lir::Module,
    machine: &Machine,
    wanted: &[KernelKind],
) -> Result<inkwell::memory_buffer::MemoryBuffer<'static>, LlvmError> {
    let session = Session::new();
    let emitted = emit_kernels(&session, machine, module, wanted)?;
    passes::verify(&emitted)?;
    passes::optimise(&emitted, machine)?;
    passes::generate(&session, emitted, machine, FileType::Object)
}

/// The text about the model as C wants it.
pub(crate) fn info_text(info: &str) -> Result<CString, LlvmError> {
    CString::new(info).map_err(|_| LlvmError::ill_formed("the text about the model contains a NUL"))
}
