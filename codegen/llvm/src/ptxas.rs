//! NVIDIA's assembler `ptxas` and disassembler `nvdisasm`, where they are installed: machine code of a GPU from PTX, and
//! what it takes of the GPU.

use crate::codes;
use crate::error::LlvmError;
use crate::gpu::Gpu;
use crate::tools::{Folder, Need, read, run};
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
    /// An ELF file as the driver loads it.
    pub bytes: Vec<u8>,
    /// What its kernels take, in the order of the assembler's report.
    pub kernels: Vec<KernelResources>,
}

/// What a kernel takes of the GPU, as the assembler reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelResources {
    /// The kernel's name.
    pub name: String,
    /// Registers of a thread.
    pub registers: u32,
    /// Memory of a thread beside its registers, in bytes.
    pub stack_bytes: u32,
    /// Bytes of registers that a thread stores for lack of registers.
    pub spill_store_bytes: u32,
    /// Bytes that it loads again.
    pub spill_load_bytes: u32,
    /// Shared memory of a block, in bytes.
    pub shared_bytes: u32,
}

const ASSEMBLING: Need = Need {
    task: "machine code of GPUs",
    help: "install the CUDA toolkit, or name its `ptxas` by PTXAS or its folder by CUDA_HOME; PTX needs none",
};

const DISASSEMBLING: Need = Need {
    task: "text of a GPU's machine code",
    help: "install the CUDA toolkit, or name its `nvdisasm` by NVDISASM or its folder by CUDA_HOME",
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
    /// The one that `PTXAS` names, else the first one in the search path, in `CUDA_HOME/bin`, `CUDA_PATH/bin` and
    /// `/usr/local/cuda/bin`.
    pub fn find() -> Option<Ptxas> {
        find("ptxas", "PTXAS", None).map(|path| Ptxas { path })
    }

    /// As [`Ptxas::find`].
    ///
    /// # Errors
    /// If there is none.
    pub fn needed() -> Result<Ptxas, LlvmError> {
        Ptxas::find().ok_or_else(|| missing("ptxas", ASSEMBLING))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its version, such as `13.5.37`.
    ///
    /// # Errors
    /// When it cannot be run or does not tell.
    pub fn version(&self) -> Result<String, LlvmError> {
        let mut command = Command::new(&self.path);
        command.arg("--version");
        let said = run(command, ASSEMBLING)?;
        let said = String::from_utf8_lossy(&said.stdout);
        let version = said.split_whitespace().find_map(|word| word.strip_prefix('V'));
        version
            .filter(|version| version.starts_with(|c: char| c.is_ascii_digit()))
            .map(str::to_string)
            .ok_or_else(|| {
                LlvmError::new(codes::TOOL_FAILED, "`ptxas` does not tell its version")
                    .with_help(ASSEMBLING.help)
            })
    }

    /// Assembles PTX for a GPU. PTX of an older GPU than this one will do.
    ///
    /// # Errors
    /// When the assembler fails, such as for a GPU that it does not know, and when there is no room for its files.
    pub fn assemble(&self, ptx: &str, gpu: Gpu) -> Result<Cubin, LlvmError> {
        let folder = Folder::new()?;
        let source = folder.write("kernels.ptx", ptx.as_bytes())?;
        let object = folder.path("kernels.cubin");
        let mut command = Command::new(&self.path);
        command.arg("-v").arg(format!("-arch={gpu}")).arg("-o").arg(&object).arg(source);
        let said = folder.run(command, ASSEMBLING)?;
        let kernels = resources(&String::from_utf8_lossy(&said.stderr));
        Ok(Cubin { bytes: read(&object)?, kernels })
    }

    /// The disassembler: the one that `NVDISASM` names, else the one beside the assembler, else as for that.
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
    /// The instructions of all kernels, with labels where branches go.
    ///
    /// # Errors
    /// When the disassembler fails, and when there is no room for its files.
    pub fn text(&self, cubin: &Cubin) -> Result<String, LlvmError> {
        let folder = Folder::new()?;
        let object = folder.write("kernels.cubin", &cubin.bytes)?;
        let mut command = Command::new(&self.path);
        command.arg("-c").arg(object);
        let said = folder.run(command, DISASSEMBLING)?;
        Ok(String::from_utf8_lossy(&said.stdout).into_owned())
    }
}

/// The machine code of PTX as text.
///
/// # Errors
/// When one of the two programs is missing or fails.
pub fn sass_text(ptx: &str, gpu: Gpu) -> Result<String, LlvmError> {
    let ptxas = Ptxas::needed()?;
    let cubin = ptxas.assemble(ptx, gpu)?;
    let nvdisasm = ptxas.disassembler().ok_or_else(|| missing("nvdisasm", DISASSEMBLING))?;
    nvdisasm.text(&cubin)
}

fn missing(name: &str, need: Need) -> LlvmError {
    let message = format!("{} needs the program `{name}`, which was not found", need.task);
    LlvmError::new(codes::NO_TOOL, message).with_help(need.help)
}

/// A program of the CUDA toolkit. What a variable names is taken even if it is not there: running it tells.
fn find(name: &str, variable: &str, beside: Option<&Path>) -> Option<PathBuf> {
    let set = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty());
    if let Some(named) = set(variable) {
        return Some(named.into());
    }
    let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(set);
    let toolkits = toolkits.chain([OsString::from("/usr/local/cuda")]).map(|folder| bin(&folder));
    let path = set("PATH").unwrap_or_default();
    let searched: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let folders = beside.map(Path::to_path_buf).into_iter().chain(searched).chain(toolkits);
    folders.map(|folder| folder.join(name)).find(|file| file.is_file())
}

fn bin(toolkit: &OsStr) -> PathBuf {
    Path::new(toolkit).join("bin")
}

/// What the assembler tells of kernels: for each a line that names it, one with the sizes of its stack and its spills,
/// and one with what else it uses.
fn resources(report: &str) -> Vec<KernelResources> {
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
        assert_eq!(resources(REPORT), [first, second]);
    }

    #[test]
    fn an_assembler_that_is_not_there_is_named() {
        let ptxas = Ptxas { path: "no-such-folder/ptxas".into() };
        let error = ptxas.assemble("", Gpu::default()).unwrap_err();
        assert_eq!(error.code, codes::NO_TOOL);
        assert!(error.message.contains("`ptxas`"), "{error}");
    }

    #[test]
    fn programs_are_looked_for_beside_each_other() {
        let folder = Folder::new().unwrap();
        let file = folder.write("nvdisasm-of-a-test", b"").unwrap();
        let found = find("nvdisasm-of-a-test", "NVDISASM_OF_A_TEST", file.parent());
        assert_eq!(found, Some(file));
        assert_eq!(find("nvdisasm-of-a-test", "NVDISASM_OF_A_TEST", None), None);
    }
}
