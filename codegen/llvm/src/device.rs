//! The parts of a model for GPUs, in addition to its code for the host: the code of its launches, and their
//! description for the runtime.

use crate::emit::{LaunchInfo, launch_infos};
use crate::error::LlvmError;
use crate::gpu::Gpu;
use crate::hsaco::code_object;
use crate::maker::{ImageKind, Platform};
use crate::ptxas::{Cubin, KernelResources, Ptxas};
use crate::runtime::{
    self, GpuDescriptor, ImageDescriptor, KernelFn, LaunchDescriptor, RunRange, TransferDescriptor,
};
use crate::text::ptx_text;
use crate::transfer;
use sched_ir::lir::{self, KernelKind, ProcessorKind};
use sched_machines::Maker;
use std::collections::BTreeMap;
use std::ffi::{CString, c_void};

/// The code of a model's launches.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceCode {
    maker: Maker,
    /// Images, machine code first.
    pub(crate) images: Vec<DeviceImage>,
    kernels: Vec<KernelResources>,
    /// Bytes of shared memory that the host requests for a block, by kernel.
    shared: BTreeMap<String, u32>,
}

/// An image: the code of all launches for some GPUs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DeviceImage {
    /// PTX that ends with a NUL, a cubin, or a code object.
    pub(crate) bytes: Vec<u8>,
    pub(crate) capability: u32,
    /// Whether it is machine code.
    pub(crate) is_final: bool,
}

impl DeviceCode {
    /// The launches of a module in the form that the driver of the GPU's maker takes: PTX for `gpu` and newer
    /// GPUs, or a code object for `gpu` alone.
    ///
    /// # Errors
    /// As for compiling the module, and as for [`code_object`].
    pub fn compile(module: &lir::Module, gpu: Gpu) -> Result<DeviceCode, LlvmError> {
        match Platform::of(gpu.maker()).image {
            ImageKind::CodeObject => {
                let bytes = code_object(module, gpu)?.bytes;
                let image = DeviceImage { bytes, capability: gpu.code_capability(), is_final: true };
                Ok(DeviceCode::of(gpu.maker(), image))
            }
            ImageKind::Ptx => {
                let mut bytes = ptx_text(module, gpu)?.into_bytes();
                bytes.push(0);
                let mut code = DeviceCode::of_image(bytes, gpu);
                code.shared = launch_infos(module)
                    .into_iter()
                    .map(|launch| (launch.name, launch.shared_bytes))
                    .collect();
                Ok(code)
            }
        }
    }

    /// Wraps an image that a driver loads, for `gpu` and newer GPUs.
    pub fn of_image(bytes: Vec<u8>, gpu: Gpu) -> DeviceCode {
        DeviceCode::of(gpu.maker(), DeviceImage { bytes, capability: gpu.code_capability(), is_final: false })
    }

    fn of(maker: Maker, image: DeviceImage) -> DeviceCode {
        DeviceCode { maker, images: vec![image], kernels: Vec::new(), shared: BTreeMap::new() }
    }

    /// Number of the driver in the C runtime.
    pub(crate) fn driver_number(&self) -> i32 {
        Platform::of(self.maker).driver_number
    }

    /// Bytes of shared memory that the host requests when it launches a kernel; 0 for AMD's GPUs, whose
    /// kernels declare their shared memory.
    pub(crate) fn requested_shared_bytes(&self, shared: u32) -> u32 {
        if Platform::of(self.maker).host_requests_shared { shared } else { 0 }
    }

    /// Adds machine code of a GPU. GPUs of the same major number and a later minor one run it, too.
    ///
    /// # Errors
    /// When the assembler fails, or does not know the GPU.
    pub fn assemble(&mut self, ptxas: &Ptxas, gpu: Gpu) -> Result<(), LlvmError> {
        let ptx = String::from_utf8_lossy(self.ptx().unwrap_or_default()).into_owned();
        let Cubin { bytes, mut kernels } = ptxas.assemble(&ptx, gpu)?;
        for kernel in &mut kernels {
            kernel.shared_bytes += self.shared.get(&kernel.name).copied().unwrap_or(0);
        }
        self.images.insert(0, DeviceImage { bytes, capability: gpu.capability(), is_final: true });
        self.kernels = kernels;
        Ok(())
    }

    /// Registers and memory that each kernel takes; empty before [`DeviceCode::assemble`].
    pub fn kernels(&self) -> &[KernelResources] {
        &self.kernels
    }

    /// The machine code, if there is any.
    pub fn cubin(&self) -> Option<&[u8]> {
        self.images.iter().find(|image| image.is_final).map(|image| image.bytes.as_slice())
    }

    /// The PTX text, if there is any.
    pub fn ptx(&self) -> Option<&[u8]> {
        let ptx = self.images.iter().find(|image| !image.is_final)?;
        ptx.bytes.strip_suffix(&[0])
    }
}

/// The ranges of run lengths in the runtime's form, each with the processor of its runs: host or device.
pub(crate) fn run_ranges(module: &lir::Module) -> Vec<RunRange> {
    let range = |(max_rows, processor): (Option<u32>, &ProcessorKind)| RunRange {
        max_rows: max_rows.map_or(i64::MAX, i64::from),
        on_device: i64::from(*processor == ProcessorKind::Device),
    };
    module.processors.iter().map(range).collect()
}

/// Fails if a variant runs on a GPU without code for one, or if there is code for a GPU without such a
/// variant.
pub(crate) fn check_device_code(module: &lir::Module, code: Option<&DeviceCode>) -> Result<(), LlvmError> {
    let needed = module.processors.iter().any(|(_, processor)| *processor == ProcessorKind::Device);
    if needed == code.is_some() {
        return Ok(());
    }
    Err(LlvmError::ill_formed(match needed {
        true => "launches without code for a GPU",
        false => "code for a GPU without launches",
    }))
}

/// The runtime's description of a model's launches, with all that it points to.
pub(crate) struct DeviceTables {
    descriptor: Box<GpuDescriptor>,
    // The descriptor points to these.
    _names: Vec<CString>,
    _launches: Vec<LaunchDescriptor>,
    _code: DeviceCode,
    _images: Vec<ImageDescriptor>,
    _table_bytes: Vec<i64>,
    _ranges: Vec<RunRange>,
    _transfer: Option<Box<TransferDescriptor>>,
    _state: Box<*mut c_void>,
}

impl DeviceTables {
    pub(crate) fn new(
        module: &lir::Module,
        code: DeviceCode,
        cpu_needs: u64,
        kernel: impl Fn(KernelKind) -> Option<KernelFn>,
    ) -> Result<DeviceTables, LlvmError> {
        let infos = launch_infos(module);
        let name = |info: &LaunchInfo| {
            CString::new(info.name.as_str()).map_err(|_| LlvmError::ill_formed("a name contains a NUL"))
        };
        let names = infos.iter().map(name).collect::<Result<Vec<_>, _>>()?;
        let launch = |(info, name): (&LaunchInfo, &CString)| LaunchDescriptor {
            name: name.as_ptr(),
            block: info.block,
            shared: code.requested_shared_bytes(info.shared_bytes),
            num_arguments: info.num_arguments,
            is_split: i32::from(info.is_split),
        };
        let launches: Vec<LaunchDescriptor> = infos.iter().zip(&names).map(launch).collect();
        let image = |image: &DeviceImage| ImageDescriptor {
            bytes: image.bytes.as_ptr().cast(),
            capability: image.capability.into(),
            is_final: image.is_final.into(),
        };
        let images: Vec<ImageDescriptor> = code.images.iter().map(image).collect();
        let table_bytes: Vec<i64> = module.tables.iter().map(|table| table.bytes.len() as i64).collect();
        let ranges = run_ranges(module);
        let transfer = module.transfer.and_then(|it| transfer::descriptor(&it, cpu_needs, &kernel));
        let transfer = transfer.map(Box::new);
        let mut state: Box<*mut c_void> = Box::new(std::ptr::null_mut());
        let descriptor = Box::new(GpuDescriptor {
            num_images: images.len() as i32,
            num_launches: launches.len() as i32,
            num_tables: table_bytes.len() as i32,
            maker: code.driver_number(),
            images: images.as_ptr(),
            launches: launches.as_ptr(),
            table_bytes: table_bytes.as_ptr(),
            ranges: ranges.as_ptr(),
            direct: kernel(KernelKind::Direct),
            base: kernel(KernelKind::Base),
            pack: kernel(KernelKind::PackColumns),
            transfer: transfer.as_deref().map_or(std::ptr::null(), std::ptr::from_ref),
            execute: runtime::execute_on_device(),
            state: &mut *state,
        });
        Ok(DeviceTables {
            descriptor,
            _names: names,
            _launches: launches,
            _code: code,
            _images: images,
            _table_bytes: table_bytes,
            _ranges: ranges,
            _transfer: transfer,
            _state: state,
        })
    }

    pub(crate) fn as_ptr(&self) -> *const GpuDescriptor {
        &*self.descriptor
    }
}

impl Drop for DeviceTables {
    fn drop(&mut self) {
        // SAFETY: the owner of the value makes no more calls.
        unsafe { runtime::release_devices(&self.descriptor) }
    }
}
