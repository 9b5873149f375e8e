//! Kinds of machines that LLVM generates code for.

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
