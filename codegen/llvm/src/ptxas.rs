//! NVIDIA's assembler `ptxas` and disassembler `nvdisasm`, if they are installed: machine code of a GPU from
//! PTX, and the resources of its kernels.

use crate::codes;
use crate::error::LlvmError;
use crate::gpu::Gpu;
use crate::tools::{ToolFolder, ToolNeed, read, run};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// NVIDIA's assembler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ptxas {
    path: PathBuf,
}

/// Machine code of a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cubin {
    /// An ELF file that the driver loads.
    pub bytes: Vec<u8>,
    /// Resources of its kernels, in the order of the assembler's report.
    pub kernels: Vec<KernelResources>,
}

/// Resources of a kernel, as the assembler reports them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelResources {
    /// The kernel's name.
    pub name: String,
    /// Registers of a thread.
    pub registers: u32,
    /// Stack memory of a thread, in bytes.
    pub stack_bytes: u32,
    /// Bytes of stores that spill registers.
    pub spill_store_bytes: u32,
    /// Bytes of loads of spilled registers.
    pub spill_load_bytes: u32,
    /// Shared memory of a block, in bytes.
    pub shared_bytes: u32,
}

const PTXAS_NEED: ToolNeed = ToolNeed {
    task: "machine code of GPUs",
    help: "install the CUDA toolkit, or set PTXAS to the path of `ptxas`, or CUDA_HOME to the toolkit's \
           folder; PTX needs neither",
};

const NVDISASM_NEED: ToolNeed = ToolNeed {
    task: "text of a GPU's machine code",
    help: "install the CUDA toolkit, or set NVDISASM to the path of `nvdisasm`, or CUDA_HOME to the \
           toolkit's folder",
};

impl fmt::Display for KernelResources {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let KernelResources { name, registers, spill_store_bytes, spill_load_bytes, shared_bytes, .. } = self;
        write!(f, "{name}: {registers} registers, {shared_bytes} bytes of shared memory")?;
        match (spill_store_bytes, spill_load_bytes) {
            (0, 0) => write!(f, ", no spills"),
            (stored, loaded) => write!(f, ", {stored} bytes spilled and {loaded} loaded again"),
        }
    }
}

impl Ptxas {
    /// Finds the assembler that `PTXAS` names, else the first one in the search path, in `CUDA_HOME/bin`,
    /// `CUDA_PATH/bin` and `/usr/local/cuda/bin`.
    pub fn find() -> Option<Ptxas> {
        find("ptxas", "PTXAS", None).map(|path| Ptxas { path })
    }

    /// Finds the assembler as [`Ptxas::find`] does.
    ///
    /// # Errors
    /// If no assembler is installed.
    pub fn require() -> Result<Ptxas, LlvmError> {
        Ptxas::find().ok_or_else(|| missing_program_error("ptxas", PTXAS_NEED))
    }

    /// Returns the path of the program.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns its version, such as `13.5.37`.
    ///
    /// # Errors
    /// When the program cannot run, or does not print a version.
    pub fn version(&self) -> Result<String, LlvmError> {
        let mut command = Command::new(&self.path);
        command.arg("--version");
        let output = run(command, PTXAS_NEED)?;
        let output = String::from_utf8_lossy(&output.stdout);
        let version = output.split_whitespace().find_map(|word| word.strip_prefix('V'));
        version
            .filter(|version| version.starts_with(|c: char| c.is_ascii_digit()))
            .map(str::to_string)
            .ok_or_else(|| {
                LlvmError::new(codes::TOOL_FAILED, "`ptxas` does not print its version")
                    .with_help(PTXAS_NEED.help)
            })
    }

    /// Assembles PTX for a GPU. The PTX may be for an older GPU.
    ///
    /// # Errors
    /// When the assembler fails, for example because it does not know the GPU, and when its files cannot be
    /// written.
    pub fn assemble(&self, ptx: &str, gpu: Gpu) -> Result<Cubin, LlvmError> {
        let folder = ToolFolder::new()?;
        let source = folder.write("kernels.ptx", ptx.as_bytes())?;
        let object = folder.path("kernels.cubin");
        let mut command = Command::new(&self.path);
        command.arg("-v").arg(format!("-arch={gpu}")).arg("-o").arg(&object).arg(source);
        let output = folder.run(command, PTXAS_NEED)?;
        let kernels = parse_resources(&String::from_utf8_lossy(&output.stderr));
        Ok(Cubin { bytes: read(&object)?, kernels })
    }

    /// Finds the disassembler that `NVDISASM` names, else the one beside the assembler, else as
    /// [`Ptxas::find`] does.
    pub fn disassembler(&self) -> Option<Nvdisasm> {
        find("nvdisasm", "NVDISASM", self.path.parent()).map(|path| Nvdisasm { path })
    }
}

/// NVIDIA's disassembler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nvdisasm {
    path: PathBuf,
}

impl Nvdisasm {
    /// Returns the instructions of all kernels, with labels at the targets of branches.
    ///
    /// # Errors
    /// When the disassembler fails, and when its files cannot be written.
    pub fn text(&self, cubin: &Cubin) -> Result<String, LlvmError> {
        let folder = ToolFolder::new()?;
        let object = folder.write("kernels.cubin", &cubin.bytes)?;
        let mut command = Command::new(&self.path);
        command.arg("-c").arg(object);
        let output = folder.run(command, NVDISASM_NEED)?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// Assembles PTX, and returns the machine code as text.
///
/// # Errors
/// When one of the two programs is missing or fails.
pub fn sass_text(ptx: &str, gpu: Gpu) -> Result<String, LlvmError> {
    let ptxas = Ptxas::require()?;
    let cubin = ptxas.assemble(ptx, gpu)?;
    let nvdisasm = ptxas.disassembler().ok_or_else(|| missing_program_error("nvdisasm", NVDISASM_NEED))?;
    nvdisasm.text(&cubin)
}

fn missing_program_error(name: &str, need: ToolNeed) -> LlvmError {
    let message = format!("{} needs the program `{name}`, which was not found", need.task);
    LlvmError::new(codes::NO_TOOL, message).with_help(need.help)
}

/// Finds a program of the CUDA toolkit. A path in the variable counts even if no file is there: running it
/// reports the error.
fn find(name: &str, variable: &str, beside: Option<&Path>) -> Option<PathBuf> {
    let set = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty());
    if let Some(named) = set(variable) {
        return Some(named.into());
    }
    let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(set);
    let toolkits = toolkits.chain([OsString::from("/usr/local/cuda")]).map(|folder| bin_folder(&folder));
    let path = set("PATH").unwrap_or_default();
    let searched: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let folders = beside.map(Path::to_path_buf).into_iter().chain(searched).chain(toolkits);
    folders.map(|folder| folder.join(name)).find(|file| file.is_file())
}

fn bin_folder(toolkit: &OsStr) -> PathBuf {
    Path::new(toolkit).join("bin")
}

/// Parses the assembler's report. For each kernel it has a line with the name, one with the sizes of stack
/// and spills, and one with the other resources.
fn parse_resources(report: &str) -> Vec<KernelResources> {
    let mut kernels: Vec<KernelResources> = Vec::new();
    for line in report.lines() {
        if line.contains("Compiling entry function") {
            let name = line.split('\'').nth(1).unwrap_or_default().to_string();
            kernels.push(KernelResources { name, ..KernelResources::default() });
        }
        let Some(kernel) = kernels.last_mut() else { continue };
        for part in line.split(',') {
            let part = part.rsplit(':').next().unwrap_or(part).trim();
            let part = part.strip_prefix("Used ").unwrap_or(part);
            let Some((number, what)) = part.split_once(' ') else { continue };
            let Ok(number) = number.parse() else { continue };
            match what {
                "registers" => kernel.registers = number,
                "bytes stack frame" => kernel.stack_bytes = number,
                "bytes spill stores" => kernel.spill_store_bytes = number,
                "bytes spill loads" => kernel.spill_load_bytes = number,
                "bytes smem" => kernel.shared_bytes = number,
                _ => {}
            }
        }
    }
    kernels
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'first' for 'sm_90'
ptxas info    : Function properties for first
    16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 29 registers, used 1 barriers, 15360 bytes smem, 400 bytes cmem[0]
ptxas info    : Compile time = 10.871 ms
ptxas info    : Compiling entry function 'second' for 'sm_90'
ptxas info    : Function properties for second
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 20 registers, used 0 barriers
";

    #[test]
    fn reports_are_read() {
        let first = KernelResources {
            name: "first".to_string(),
            registers: 29,
            stack_bytes: 16,
            spill_store_bytes: 12,
            spill_load_bytes: 8,
            shared_bytes: 15360,
        };
        let second =
            KernelResources { name: "second".to_string(), registers: 20, ..KernelResources::default() };
        assert_eq!(parse_resources(REPORT), [first, second]);
    }

    #[test]
    fn a_missing_assembler_is_named() {
        let ptxas = Ptxas { path: "no-such-folder/ptxas".into() };
        let error = ptxas.assemble("", Gpu::default()).unwrap_err();
        assert_eq!(error.code, codes::NO_TOOL);
        assert!(error.message.contains("`ptxas`"), "{error}");
    }

    #[test]
    fn programs_are_looked_for_beside_each_other() {
        let folder = ToolFolder::new().unwrap();
        let file = folder.write("nvdisasm-of-a-test", b"").unwrap();
        let found = find("nvdisasm-of-a-test", "NVDISASM_OF_A_TEST", file.parent());
        assert_eq!(found, Some(file));
        assert_eq!(find("nvdisasm-of-a-test", "NVDISASM_OF_A_TEST", None), None);
    }
}
