//! Models compiled into this process.

use crate::device::{self, DeviceCode, DeviceTables};
use crate::emit::{emit_kernels, kernel_symbol};
use crate::entry_info::{Addresses, EntryInfo, base_bytes};
use crate::error::LlvmError;
use crate::maker::Platform;
use crate::orc::Orc;
use crate::packed::CompiledCode;
use crate::runtime::{self, Call, CallStatus, Dtype, ModelDescriptor, OutputKind};
use crate::session::Session;
use crate::tables::Tables;
use crate::target::{Cpu, LlvmMachine};
use crate::{passes, runtime::KernelFn};
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::targets::FileType;
use sched_ir::lir::{self, KernelKind};
use sched_ir::verify::verify_interface;
use sched_machines::Maker;
use std::ffi::CString;

/// A model compiled into this process; its code and its tables live as long as this value.
pub struct Jit {
    // The order of the fields is that of their drops. Memory on devices is released first.
    _launches: Option<DeviceTables>,
    // The code is unloaded before the tables that it refers to.
    _code: Orc,
    _tables: Tables,
    _info: CString,
    // Initial margins, as 64-bit words, so that they are aligned for 64-bit floats.
    _base: Option<Vec<u64>>,
    model: ModelDescriptor,
}

// SAFETY: this value owns the memory that the pointers of `model` lead to, and never changes it. The
// runtime's entry points may be called from several threads. The owner of the value unloads the code.
unsafe impl Send for Jit {}
// SAFETY: as above.
unsafe impl Sync for Jit {}

impl Jit {
    /// Compiles the kernels of a module that `kernels` names, and always those that finish margins: without
    /// them the entry points would return margins as predictions.
    ///
    /// # Errors
    /// When this machine cannot run code for `cpu`, and when LLVM fails.
    pub fn compile(
        module: &lir::Module,
        cpu: Cpu,
        entry: &EntryInfo,
        kernels: &[OutputKind],
    ) -> Result<Jit, LlvmError> {
        Jit::of_object_file(&Jit::object_file(module, cpu, kernels)?, module, cpu, entry, kernels)
    }

    /// Compiles the host's code of a module whose launches have been compiled for GPUs. The first call looks
    /// for the driver and the GPU.
    ///
    /// # Errors
    /// As for [`Jit::compile`].
    pub fn compile_with_launches(
        module: &lir::Module,
        cpu: Cpu,
        launches: DeviceCode,
        entry: &EntryInfo,
        kernels: &[OutputKind],
    ) -> Result<Jit, LlvmError> {
        Jit::load(&Jit::object_file(module, cpu, kernels)?, module, cpu, Some(launches), entry, kernels)
    }

    /// The object file from which [`Jit::of_object_file`] loads the kernels.
    ///
    /// # Errors
    /// As for [`Jit::compile`].
    pub fn object_file(module: &lir::Module, cpu: Cpu, kernels: &[OutputKind]) -> Result<Vec<u8>, LlvmError> {
        verify_interface(module).map_err(LlvmError::ill_formed)?;
        let machine = LlvmMachine::new(cpu)?;
        machine.check_host(cpu)?;
        Ok(object(module, &machine, &wanted_kernels(module, kernels))?.as_slice().to_vec())
    }

    /// Loads kernels from the object file that [`Jit::object_file`] made of the same module.
    ///
    /// # Errors
    /// When this machine cannot run code for `cpu`, and when LLVM cannot load the object.
    pub fn of_object_file(
        object: &[u8],
        module: &lir::Module,
        cpu: Cpu,
        entry: &EntryInfo,
        kernels: &[OutputKind],
    ) -> Result<Jit, LlvmError> {
        Jit::load(object, module, cpu, None, entry, kernels)
    }

    fn load(
        object: &[u8],
        module: &lir::Module,
        cpu: Cpu,
        launches: Option<DeviceCode>,
        entry: &EntryInfo,
        kernels: &[OutputKind],
    ) -> Result<Jit, LlvmError> {
        device::check_device_code(module, launches.as_ref())?;
        let machine = LlvmMachine::new(cpu)?;
        machine.check_host(cpu)?;
        let wanted = wanted_kernels(module, kernels);
        let linking = tracing::info_span!("link").entered();
        let object = MemoryBuffer::create_from_memory_range_copy(object, "kernels");
        let code = Orc::load(object, &runtime::symbols())?;

        let mut addresses: Vec<(KernelKind, KernelFn)> = Vec::with_capacity(wanted.len());
        for (kind, function) in module.kernels.iter().filter(|(kind, _)| wanted.contains(kind)) {
            // SAFETY: the symbol is a function emitted with a kernel's signature.
            let kernel = unsafe {
                std::mem::transmute::<*const (), KernelFn>(code.address(&kernel_symbol(function, 0))?)
            };
            addresses.push((*kind, kernel));
        }
        drop(linking);
        let kernel = |kind| addresses.iter().find(|(k, _)| *k == kind).map(|(_, address)| *address);
        let tables = Tables::new(&module.tables);
        let info = info_c_string(&entry.info)?;
        let launches = launches.map(|code| DeviceTables::new(module, code, machine.cpu_needs, kernel));
        let launches = launches.transpose()?;
        let gpu = launches.as_ref().map_or(std::ptr::null(), DeviceTables::as_ptr);
        let base = base_bytes(entry, module).map(pack_words);
        let begin = base.as_ref().map_or(std::ptr::null(), |words| words.as_ptr().cast());
        let addresses = Addresses { tables: tables.as_ptr(), info: info.as_ptr(), base: begin };
        let model = entry.model(module, kernel, addresses, machine.cpu_needs, gpu);
        Ok(Jit { _launches: launches, _code: code, _tables: tables, _info: info, _base: base, model })
    }

    /// Returns the model's description for the runtime. Its pointers are valid as long as this value lives.
    pub fn model(&self) -> &ModelDescriptor {
        &self.model
    }

    /// Returns the maker of the GPU that the code is for; none if all of it runs on the processor.
    pub fn gpu_maker(&self) -> Option<Maker> {
        // SAFETY: the pointer is null, or leads to a description that this value owns.
        let gpu = unsafe { self.model.gpu.as_ref() }?;
        Maker::ALL.iter().copied().find(|maker| Platform::of(*maker).driver_number == gpu.maker)
    }
}

impl CompiledCode for Jit {
    type Error = CallStatus;

    fn num_features(&self) -> usize {
        usize::try_from(self.model.num_features).unwrap_or(usize::MAX)
    }

    fn num_outputs(&self, kind: OutputKind) -> usize {
        usize::try_from(runtime::num_outputs(&self.model, kind)).unwrap_or(usize::MAX)
    }

    fn output_type(&self, kind: OutputKind) -> Dtype {
        runtime::output_type(&self.model, kind)
    }

    fn is_for_gpu(&self) -> bool {
        !self.model.gpu.is_null()
    }

    unsafe fn call(&self, call: &Call) -> Result<(), CallStatus> {
        // SAFETY: as the caller promises. The kernels and tables come from one module.
        unsafe { runtime::call(&self.model, call) }
    }
}

/// Packs bytes into words of 8 bytes, the last one filled up with zeros.
fn pack_words(bytes: Vec<u8>) -> Vec<u64> {
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        u64::from_ne_bytes(word)
    };
    bytes.chunks(8).map(word).collect()
}

/// The kernels of a module that are compiled if `kernels` are requested.
fn wanted_kernels(module: &lir::Module, kernels: &[OutputKind]) -> Vec<KernelKind> {
    let wanted = |kind: &KernelKind| match kind {
        KernelKind::Output(kind) => *kind == OutputKind::Value || kernels.contains(kind),
        KernelKind::Direct
        | KernelKind::Quantize
        | KernelKind::RawOfBins
        | KernelKind::DirectOfBins
        | KernelKind::Base
        | KernelKind::PackColumns => true,
    };
    module.kernels.iter().map(|(kind, _)| *kind).filter(wanted).collect()
}

/// Compiles kernels to the bytes of an object file.
fn object(
    module: &lir::Module,
    machine: &LlvmMachine,
    wanted: &[KernelKind],
) -> Result<MemoryBuffer<'static>, LlvmError> {
    let _stage = tracing::info_span!("LLVM").entered();
    let session = Session::new();
    let emitted = emit_kernels(&session, machine, module, wanted)?;
    passes::verify(&emitted)?;
    passes::optimise(&emitted, machine)?;
    passes::generate_code(&session, emitted, machine, FileType::Object)
}

/// Returns the text about the model as a C string.
pub(crate) fn info_c_string(info: &str) -> Result<CString, LlvmError> {
    CString::new(info).map_err(|_| LlvmError::ill_formed("the text about the model contains a NUL"))
}
