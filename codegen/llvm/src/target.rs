//! Processors and GPUs as targets of LLVM.

use crate::codes;
use crate::error::LlvmError;
use crate::gpu::Gpu;
use crate::machine_kind::MachineKind;
use crate::maker::Platform;
use crate::options;
use inkwell::OptimizationLevel;
use inkwell::targets::{CodeModel, RelocMode, Target, TargetMachine, TargetTriple};
use sched_machines::{BASELINE, Family, Level, Maker, NATIVE};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// A processor that code is generated for, by the instruction sets that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Cpu {
    /// The processor of this machine; code is scheduled for its pipeline.
    #[default]
    Native,
    /// Every processor of a level.
    Level(Level),
}

impl Cpu {
    /// SSE4.2 and POPCNT.
    pub const X86_64V2: Cpu = Cpu::Level(Level::V2);
    /// AVX2, BMI and FMA.
    pub const X86_64V3: Cpu = Cpu::Level(Level::V3);
    /// AVX-512 F, BW, CD, DQ and VL.
    pub const X86_64V4: Cpu = Cpu::Level(Level::V4);

    /// All processors that users can name, in the order of help texts.
    pub fn all() -> impl DoubleEndedIterator<Item = Cpu> {
        std::iter::once(Cpu::Native).chain(Level::targets().map(Cpu::Level))
    }

    /// Bits of the levels whose instructions code for it may use.
    fn cpu_needs(self) -> u64 {
        match self {
            Cpu::Native => Level::host(),
            Cpu::Level(level) => level.needs(),
        }
    }

    /// The highest level whose instructions code for it may use. None: the baseline of x86-64.
    pub fn level(self) -> Option<Level> {
        Level::of(self.cpu_needs())
    }

    /// Bits of the registers that look-ups of the layouts of complete trees use. Registers of 128 bits hold
    /// tables of bytes only. 0 if there are no instructions for look-ups.
    pub fn lookup_register_bits(self) -> u32 {
        self.level().map_or(0, Level::register_bits)
    }

    /// The instruction set extensions that code for it may use, by the names that compilers give them. Older
    /// ones that they include are left out.
    pub fn features(self) -> Vec<&'static str> {
        let needs = self.cpu_needs();
        let levels = Level::ALL.iter().filter(|level| needs & level.bit() != 0);
        levels.flat_map(|level| level.features().iter().copied()).collect()
    }

    /// Whether its [gathers are slow](Family::gathers_slowly). Code for a level assumes fast gathers.
    pub fn gathers_slowly(self) -> bool {
        self == Cpu::Native && gathers_slowly(&host_cpu_name())
    }

    /// Whether this machine can run code for it.
    pub fn runs_here(self) -> bool {
        self.cpu_needs() & !Level::host() == 0
    }

    /// The word on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Cpu::Native => NATIVE,
            Cpu::Level(level) => level.word(),
        }
    }
}

impl Display for Cpu {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Cpu {
    type Err = LlvmError;

    fn from_str(text: &str) -> Result<Cpu, LlvmError> {
        Cpu::all().find(|cpu| cpu.name() == text).ok_or_else(|| {
            let names: Vec<&str> = Cpu::all().map(Cpu::name).collect();
            LlvmError::new(codes::UNKNOWN_CPU, format!("unknown processor `{text}`"))
                .with_help(format!("use one of {}", names.join(", ")))
        })
    }
}

/// LLVM's names for the generic processor of a set of levels, and for the features beyond it. Only features
/// that the runtime can check are ever used, so that an artefact built with `native` refuses to run elsewhere
/// instead of crashing there.
fn llvm_names(needs: u64) -> (&'static str, &'static str) {
    Level::of(needs).map_or((BASELINE, ""), |level| (level.llvm_cpu(), level.llvm_features()))
}

fn gathers_slowly(name: &str) -> bool {
    Family::of(name).is_some_and(|family| family.gathers_slowly)
}

/// LLVM's name for the processor of this machine, such as `sapphirerapids`. LLVM derives it from the
/// processor's number, which hypervisors may change. One wrong name is corrected: if processors of that name
/// have slow gathers, and this one has half-precision arithmetic, the result is `sapphirerapids`.
pub fn host_cpu_name() -> String {
    let name = TargetMachine::get_host_cpu_name().to_string();
    let features = TargetMachine::get_host_cpu_features().to_string();
    if is_name_wrong(&name, &features) { "sapphirerapids".to_string() } else { name }
}

/// Whether LLVM's name for a processor is wrong. It is, if processors of that name have [slow
/// gathers](Cpu::gathers_slowly), and this one has arithmetic of half precision, which they lack.
fn is_name_wrong(name: &str, features: &str) -> bool {
    gathers_slowly(name) && features.split(',').any(|feature| feature == "+avx512fp16")
}

/// An LLVM target machine, and the instructions that its code needs.
pub(crate) struct LlvmMachine {
    pub(crate) kind: MachineKind,
    pub(crate) llvm: TargetMachine,
    /// Bits of the levels whose instructions its code uses.
    pub(crate) cpu_needs: u64,
    /// Name of the processor to schedule for, if it is not the generic one.
    pub(crate) tune_cpu: Option<String>,
    /// Whether its [gathers are slow](Family::gathers_slowly).
    pub(crate) gathers_slowly: bool,
    /// Whether instructions are marked with the loop of the nest that they belong to.
    pub(crate) has_loop_marks: bool,
    /// Whether it is a GPU whose tensor cores multiply in double precision.
    pub(crate) has_tensor_cores: bool,
}

impl LlvmMachine {
    /// Makes a machine for a CPU. Code is position-independent and never fuses a product and a sum.
    pub(crate) fn new(cpu: Cpu) -> Result<LlvmMachine, LlvmError> {
        options::initialise();
        let unavailable = || {
            LlvmError::new(codes::CODE_GENERATION, "the installed LLVM cannot generate code for x86-64")
                .with_help("install LLVM 19 with its X86 target (package libllvm19)")
        };
        let cpu_needs = cpu.cpu_needs();
        let (llvm_cpu, llvm_features) = llvm_names(cpu_needs);
        let triple = TargetTriple::create(ARTEFACT_TRIPLE);
        let target = Target::from_triple(&triple).map_err(|_| unavailable())?;
        let llvm = target
            .create_target_machine(
                &triple,
                llvm_cpu,
                llvm_features,
                OptimizationLevel::Aggressive,
                RelocMode::PIC,
                CodeModel::Default,
            )
            .ok_or_else(unavailable)?;
        let tune_cpu = (cpu == Cpu::Native).then(host_cpu_name).filter(|name| name != "generic");
        let gathers_slowly = cpu.gathers_slowly();
        Ok(LlvmMachine {
            kind: MachineKind::X86,
            llvm,
            cpu_needs,
            tune_cpu,
            gathers_slowly,
            has_loop_marks: false,
            has_tensor_cores: false,
        })
    }

    /// Makes a machine of this processor for the code of launches, which tests run.
    pub(crate) fn of_host_launches() -> Result<LlvmMachine, LlvmError> {
        let machine = LlvmMachine::new(Cpu::Native)?;
        machine.check_host(Cpu::Native)?;
        Ok(LlvmMachine { kind: MachineKind::Host, ..machine })
    }

    /// Makes a machine for a GPU. Its code, too, never fuses a product and a sum.
    pub(crate) fn of_gpu(gpu: Gpu) -> Result<LlvmMachine, LlvmError> {
        options::initialise();
        let maker = gpu.maker();
        let platform = Platform::of(maker);
        let unavailable = || {
            let message = format!("the installed LLVM cannot generate code for {maker}'s GPUs");
            LlvmError::new(codes::CODE_GENERATION, message)
                .with_help("install LLVM 19 with its targets AMDGPU and NVPTX (package libllvm19)")
        };
        let triple = TargetTriple::create(platform.triple);
        let target = Target::from_triple(&triple).map_err(|_| unavailable())?;
        let (cpu, features) = (gpu.llvm_name(), gpu.llvm_features());
        let level = OptimizationLevel::Aggressive;
        let llvm = target
            .create_target_machine(&triple, cpu, features, level, platform.reloc, CodeModel::Default)
            .ok_or_else(unavailable)?;
        let kind = platform.machine_kind;
        Ok(LlvmMachine {
            kind,
            llvm,
            cpu_needs: 0,
            tune_cpu: None,
            gathers_slowly: false,
            has_loop_marks: false,
            has_tensor_cores: maker == Maker::Nvidia && gpu.code_capability() >= LEAST_TENSOR_CAPABILITY,
        })
    }

    /// Attributes of a function that name the instructions it may use, for modules with functions for several
    /// machines.
    pub(crate) fn attributes(&self) -> [(&'static str, &'static str); 2] {
        let (cpu, features) = llvm_names(self.cpu_needs);
        [("target-cpu", cpu), ("target-features", features)]
    }

    /// Fails if this machine lacks instructions that the code needs.
    pub(crate) fn check_host(&self, cpu: Cpu) -> Result<(), LlvmError> {
        if cfg!(not(all(target_arch = "x86_64", target_os = "linux"))) {
            let message = "schedc runs predictions only on x86-64 Linux";
            return Err(LlvmError::new(codes::CANNOT_RUN, message));
        }
        if self.cpu_needs & !Level::host() != 0 {
            let message = format!("this machine cannot run code for {cpu}");
            return Err(LlvmError::new(codes::CANNOT_RUN, message).with_help("use native, or a lower level"));
        }
        Ok(())
    }
}

/// First capability of NVIDIA's GPUs whose code may multiply in double precision by tensor cores.
const LEAST_TENSOR_CAPABILITY: u32 = 80;

/// The system that artefacts are built for.
const ARTEFACT_TRIPLE: &str = "x86_64-unknown-linux-gnu";

/// The triples of all systems that there is code for.
pub(crate) fn triples() -> Vec<&'static str> {
    let gpus = Maker::ALL.iter().map(|maker| Platform::of(*maker).triple);
    std::iter::once(ARTEFACT_TRIPLE).chain(gpus).collect()
}

#[cfg(test)]
mod tests;
