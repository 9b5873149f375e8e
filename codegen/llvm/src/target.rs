//! The processors that code is generated for.

use crate::codes;
use crate::error::LlvmError;
use crate::gpu::Gpu;
use crate::options;
use crate::runtime::{CPU_V2, CPU_V3, CPU_V4, CPU_VBMI};
use inkwell::OptimizationLevel;
use inkwell::targets::{CodeModel, RelocMode, Target, TargetMachine, TargetTriple};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// The instruction sets that code may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Cpu {
    /// Those of the machine that compiles, scheduled for its pipeline.
    #[default]
    Native,
    /// SSE4.2 and POPCNT.
    X86_64V2,
    /// AVX2, BMI and FMA.
    X86_64V3,
    /// AVX-512 F, BW, CD, DQ and VL.
    X86_64V4,
}

impl Cpu {
    /// All of them, in the order in which a help text lists them.
    pub const ALL: [Cpu; 4] = [Cpu::Native, Cpu::X86_64V2, Cpu::X86_64V3, Cpu::X86_64V4];

    /// Bits of the registers in which code for it looks tables up, which the layouts of complete trees live
    /// on; those of 128 bits only tables of bytes. 0 if there are no instructions for that.
    pub fn lookup_bits(self) -> u32 {
        match Instructions::of(self).needs {
            needs if needs & CPU_V4 != 0 => 512,
            needs if needs & CPU_V3 != 0 => 256,
            needs if needs & CPU_V2 != 0 => 128,
            _ => 0,
        }
    }

    /// The instruction sets that code for it may use, by the names that compilers give them, the newest of
    /// each kind.
    pub fn features(self) -> Vec<&'static str> {
        let needs = Instructions::of(self).needs;
        let levels: [(u64, &[&str]); 4] = [
            (CPU_V2, &["sse4.2", "popcnt"]),
            (CPU_V3, &["avx2", "bmi2", "f16c", "fma"]),
            (CPU_V4, &["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"]),
            (CPU_VBMI, &["avx512vbmi"]),
        ];
        levels
            .iter()
            .filter(|(bit, _)| needs & bit != 0)
            .flat_map(|(_, names)| names.iter().copied())
            .collect()
    }

    /// Whether its gathers wait for each other, so that loading lane by lane is no slower: the processors
    /// that leak what gathers have loaded (Gather Data Sampling), which newer microcode prevents at that
    /// price. Code for a level of instruction sets is made for those that are better.
    pub fn gathers_slowly(self) -> bool {
        self == Cpu::Native && SLOW_GATHERS.contains(&host_name().as_str())
    }

    /// Whether this machine runs code for it.
    pub fn runs_here(self) -> bool {
        Instructions::of(self).needs & !host() == 0
    }

    /// How it is written on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Cpu::Native => "native",
            Cpu::X86_64V2 => "x86-64-v2",
            Cpu::X86_64V3 => "x86-64-v3",
            Cpu::X86_64V4 => "x86-64-v4",
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
        Cpu::ALL.into_iter().find(|cpu| cpu.name() == text).ok_or_else(|| {
            LlvmError::new(codes::UNKNOWN_CPU, format!("there is no CPU `{text}`"))
                .with_help(format!("use one of {}", Cpu::ALL.map(Cpu::name).join(", ")))
        })
    }
}

/// Processors with [slow gathers](Cpu::gathers_slowly), as LLVM calls them.
const SLOW_GATHERS: [&str; 9] = [
    "skylake",
    "skylake-avx512",
    "cascadelake",
    "cooperlake",
    "cannonlake",
    "icelake-client",
    "icelake-server",
    "tigerlake",
    "rocketlake",
];

/// What code for a [`Cpu`] asks of the machine that runs it. Only features that the runtime can check are
/// ever used, so that an artefact built with `native` refuses to run elsewhere instead of crashing there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Instructions {
    needs: u64,
}

impl Instructions {
    fn of(cpu: Cpu) -> Instructions {
        let needs = match cpu {
            Cpu::Native => host(),
            Cpu::X86_64V2 => CPU_V2,
            Cpu::X86_64V3 => CPU_V2 | CPU_V3,
            Cpu::X86_64V4 => CPU_V2 | CPU_V3 | CPU_V4,
        };
        Instructions { needs }
    }

    fn llvm_cpu(self) -> &'static str {
        match self.needs {
            n if n & CPU_V4 != 0 => "x86-64-v4",
            n if n & CPU_V3 != 0 => "x86-64-v3",
            n if n & CPU_V2 != 0 => "x86-64-v2",
            _ => "x86-64",
        }
    }

    fn llvm_features(self) -> &'static str {
        match self.needs {
            n if n & CPU_VBMI != 0 => "+avx512vbmi",
            n if n & CPU_V4 != 0 => "",
            // Without this hint LLVM loads lane by lane, which takes a third longer in a walk.
            n if n & CPU_V3 != 0 => "+fast-gather",
            _ => "",
        }
    }
}

/// What LLVM calls the processor of this machine, such as `sapphirerapids`. LLVM goes by the processor's number, and hypervisors
/// give numbers as they like: instructions that no processor of that name has tell the first one that it can be.
pub fn host_name() -> String {
    let name = TargetMachine::get_host_cpu_name().to_string();
    let features = TargetMachine::get_host_cpu_features().to_string();
    if is_disguised(&name, &features) { "sapphirerapids".to_string() } else { name }
}

/// Whether a processor has arithmetic of half precision, which those with [slow gathers](Cpu::gathers_slowly) have not.
fn is_disguised(name: &str, features: &str) -> bool {
    SLOW_GATHERS.contains(&name) && features.split(',').any(|feature| feature == "+avx512fp16")
}

/// What this machine has, as `CPU_*` bits of the runtime; each level includes the lower ones.
fn host() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        macro_rules! all { ($($feature:tt)*) => { true $(&& is_x86_feature_detected!($feature))* } }
        let v2 = all!("sse3" "ssse3" "sse4.1" "sse4.2" "popcnt" "cmpxchg16b");
        let v3 = v2 && all!("avx" "avx2" "bmi1" "bmi2" "f16c" "fma" "lzcnt" "movbe" "xsave");
        let v4 = v3 && all!("avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl");
        let vbmi = v4 && all!("avx512vbmi");
        let bits = [(v2, CPU_V2), (v3, CPU_V3), (v4, CPU_V4), (vbmi, CPU_VBMI)];
        bits.iter().filter(|(has, _)| *has).map(|(_, bit)| bit).sum()
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// A kind of machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MachineKind {
    /// x86-64 processors.
    X86,
    /// AMD's GPUs.
    AmdGpu,
    /// NVIDIA's GPUs.
    Nvptx,
    /// This machine's processor, which runs launches thread by thread.
    Host,
}

impl MachineKind {
    /// Whether its instructions are those of x86.
    pub(crate) fn is_x86(self) -> bool {
        matches!(self, MachineKind::X86 | MachineKind::Host)
    }
}

/// An LLVM target machine, and what its code needs.
pub(crate) struct Machine {
    pub(crate) kind: MachineKind,
    pub(crate) llvm: TargetMachine,
    /// `CPU_*` bits of the runtime.
    pub(crate) needs: u64,
    /// The processor to schedule for, if it is not the generic one.
    pub(crate) tune: Option<String>,
    /// See [`Cpu::gathers_slowly`].
    pub(crate) gathers_slowly: bool,
    /// Whether instructions say which loop of the nest they are for.
    pub(crate) marks: bool,
}

impl Machine {
    /// A machine for a CPU. Code is position-independent and never fuses a product and a sum.
    pub(crate) fn new(cpu: Cpu) -> Result<Machine, LlvmError> {
        options::initialise();
        let unavailable = || {
            LlvmError::new(codes::CODE_GENERATION, "the installed LLVM cannot generate code for x86-64")
                .with_help("install LLVM 19 with its X86 target (package libllvm19)")
        };
        let instructions = Instructions::of(cpu);
        let triple = TargetTriple::create(TRIPLE);
        let target = Target::from_triple(&triple).map_err(|_| unavailable())?;
        let llvm = target
            .create_target_machine(
                &triple,
                instructions.llvm_cpu(),
                instructions.llvm_features(),
                OptimizationLevel::Aggressive,
                RelocMode::PIC,
                CodeModel::Default,
            )
            .ok_or_else(unavailable)?;
        let tune = (cpu == Cpu::Native).then(host_name).filter(|name| name != "generic");
        let gathers_slowly = cpu.gathers_slowly();
        Ok(Machine {
            kind: MachineKind::X86,
            llvm,
            needs: instructions.needs,
            tune,
            gathers_slowly,
            marks: false,
        })
    }

    /// This machine for the code of launches, which tests run.
    pub(crate) fn of_host_launches() -> Result<Machine, LlvmError> {
        let machine = Machine::new(Cpu::Native)?;
        machine.check_host(Cpu::Native)?;
        Ok(Machine { kind: MachineKind::Host, ..machine })
    }

    /// A machine for a GPU. Its code, too, never fuses a product and a sum.
    pub(crate) fn of_gpu(gpu: Gpu) -> Result<Machine, LlvmError> {
        options::initialise();
        let (kind, triple, reloc, name) = match gpu.is_amd() {
            true => (MachineKind::AmdGpu, AMD_TRIPLE, RelocMode::PIC, "AMD's GPUs"),
            false => (MachineKind::Nvptx, NVIDIA_TRIPLE, RelocMode::Default, "NVIDIA's GPUs"),
        };
        let unavailable = || {
            let message = format!("the installed LLVM cannot generate code for {name}");
            LlvmError::new(codes::CODE_GENERATION, message)
                .with_help("install LLVM 19 with its targets AMDGPU and NVPTX (package libllvm19)")
        };
        let triple = TargetTriple::create(triple);
        let target = Target::from_triple(&triple).map_err(|_| unavailable())?;
        let (cpu, features) = (gpu.llvm_name(), gpu.llvm_features());
        let level = OptimizationLevel::Aggressive;
        let llvm = target
            .create_target_machine(&triple, &cpu, features, level, reloc, CodeModel::Default)
            .ok_or_else(unavailable)?;
        Ok(Machine { kind, llvm, needs: 0, tune: None, gathers_slowly: false, marks: false })
    }

    /// What a function says of the instructions it may use, where functions for several machines are in one
    /// module.
    pub(crate) fn attributes(&self) -> [(&'static str, &'static str); 2] {
        let instructions = Instructions { needs: self.needs };
        [("target-cpu", instructions.llvm_cpu()), ("target-features", instructions.llvm_features())]
    }

    /// An error if this machine lacks what the code needs.
    pub(crate) fn check_host(&self, cpu: Cpu) -> Result<(), LlvmError> {
        if cfg!(not(all(target_arch = "x86_64", target_os = "linux"))) {
            let message = "predictions can be run here only on x86-64 Linux";
            return Err(LlvmError::new(codes::CANNOT_RUN, message));
        }
        if self.needs & !host() != 0 {
            let message = format!("this machine cannot run code for {cpu}");
            return Err(LlvmError::new(codes::CANNOT_RUN, message).with_help("use native, or a lower level"));
        }
        Ok(())
    }
}

/// The only system that artefacts are built for.
const TRIPLE: &str = "x86_64-unknown-linux-gnu";

/// The systems of GPUs.
const NVIDIA_TRIPLE: &str = "nvptx64-nvidia-cuda";
const AMD_TRIPLE: &str = "amdgcn-amd-amdhsa";

/// Every system that there is code for.
pub(crate) fn triples() -> [&'static str; 3] {
    [TRIPLE, NVIDIA_TRIPLE, AMD_TRIPLE]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_tell_more_than_a_number() {
        assert!(is_disguised("rocketlake", "+avx2,+avx512fp16,+fma"));
        assert!(!is_disguised("rocketlake", "+avx2,-avx512fp16,+fma"));
        assert!(!is_disguised("graniterapids", "+avx512fp16"));
    }
}
