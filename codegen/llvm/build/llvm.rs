//! LLVM's archives: their folder, and the options that link them into a program that then needs only the C
//! library.

use std::{
    env,
    error::Error,
    ffi::OsStr,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Environment variable that names LLVM's folder, as `llvm-sys` reads it.
const LLVM_PREFIX_VARIABLE: &str = "LLVM_SYS_191_PREFIX";

/// Components that this crate calls, apart from the targets.
const COMPONENTS: [&str; 10] = [
    "bitreader",
    "bitwriter",
    "interpreter",
    "irreader",
    "linker",
    "lto",
    "mcjit",
    "objcopy",
    "orcjit",
    "passes",
];

/// A loop optimiser that LLVM's archives refer to and that is left out; `linker/linker.cpp` replaces it.
const OMITTED_ARCHIVES: [&str; 2] = ["Polly", "PollyISL"];

/// Targets of generated code.
const TARGETS: [&str; 3] = ["AMDGPU", "NVPTX", "X86"];

/// Parts that LLVM sets up for a target; each function is named `LLVMInitialize`, target, part.
const TARGET_PARTS: [&str; 6] =
    ["TargetInfo", "Target", "TargetMC", "AsmPrinter", "AsmParser", "Disassembler"];

/// Endings of the names of archives with unused parts of targets: nothing parses assembly or machine code.
/// Their tables are large.
const UNUSED_TARGET_PARTS: [&str; 2] = ["AsmParser", "Disassembler"];

/// Compression, which LLVM's archives need from the system. Other libraries that LLVM was built with serve
/// unused parts.
const COMPRESSION_LIBRARIES: [&str; 2] = ["z", "zstd"];

/// The program that prints LLVM's folders.
pub struct Config(PathBuf);

impl Config {
    /// Finds LLVM 19.1 as `llvm-sys` does.
    pub fn find() -> Result<Config> {
        println!("cargo::rerun-if-env-changed={LLVM_PREFIX_VARIABLE}");
        let folder = env::var_os(LLVM_PREFIX_VARIABLE)
            .map(|prefix| PathBuf::from(prefix).join("bin"))
            .unwrap_or_default();
        for name in ["llvm-config", "llvm-config-19", "llvm-config19"] {
            let config = Config(folder.join(name));
            if config.query(["--version"]).is_ok_and(|version| version.starts_with("19.1.")) {
                return Ok(config);
            }
        }
        Err(format!("no llvm-config of LLVM 19.1 is in the search path or below {LLVM_PREFIX_VARIABLE}")
            .into())
    }

    fn query<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, arguments: I) -> Result<String> {
        output(Command::new(&self.0).args(arguments))
    }

    /// Returns the folder of LLVM's headers.
    pub fn header_folder(&self) -> Result<PathBuf> {
        Ok(self.query(["--includedir"])?.into())
    }

    /// Returns the folder of LLVM's archives.
    pub fn library_folder(&self) -> Result<PathBuf> {
        Ok(self.query(["--libdir"])?.into())
    }

    /// Returns C code that defines the set-up functions of parts that are left out, for LLVM's linker and
    /// inkwell.
    fn stubs_of_unused_parts(&self) -> Result<String> {
        let mut text = String::new();
        let built = self.query(["--targets-built"])?;
        for target in built.split_whitespace() {
            let parts = if TARGETS.contains(&target) { &UNUSED_TARGET_PARTS[..] } else { &TARGET_PARTS };
            for part in parts {
                writeln!(
                    text,
                    "void LLVMInitialize{target}{part}(void); void LLVMInitialize{target}{part}(void) {{}}"
                )?;
            }
        }
        Ok(text)
    }

    /// Links the archives of LLVM and of C++. Compiles into `out` replacements of the parts that are left
    /// out, and of functions that only new systems have.
    pub fn link_archives(&self, out: &Path) -> Result<()> {
        let text = out.join("unused_parts.c");
        fs::write(&text, self.stubs_of_unused_parts()?)?;
        let mut build = cc::Build::new();
        build.flag("-fvisibility=hidden").file(text).file("linker/arc4random.c");
        build.try_compile("schedc_replacements")?;
        println!("cargo::rustc-link-search=native={}", self.library_folder()?.display());
        let targets = TARGETS.map(str::to_lowercase);
        let components = COMPONENTS.into_iter().chain(targets.iter().map(String::as_str));
        let question = ["--link-static", "--libnames"].into_iter().chain(components);
        for name in self.query(question)?.split_whitespace() {
            let name = name.strip_prefix("lib").and_then(|name| name.strip_suffix(".a"));
            let name = name.ok_or("llvm-config names a file that is not an archive")?;
            if !is_left_out(name) {
                link_archive(name);
            }
        }
        // Unwinding is in the system's `libgcc_s.so.1`, which Rust links: `libgcc_eh.a` needs glibc 2.35.
        link_compiler_archives(&["stdc++"])
    }
}

/// Whether an archive of LLVM is left out.
fn is_left_out(name: &str) -> bool {
    let is_unused = |target| UNUSED_TARGET_PARTS.iter().any(|part| name == format!("LLVM{target}{part}"));
    OMITTED_ARCHIVES.contains(&name) || TARGETS.into_iter().any(is_unused)
}

/// Links the archives of compression.
pub fn link_compression() -> Result<()> {
    link_compiler_archives(&COMPRESSION_LIBRARIES)
}

/// Links archives that the C++ compiler finds.
fn link_compiler_archives(names: &[&str]) -> Result<()> {
    for name in names {
        println!("cargo::rustc-link-search=native={}", folder_of(name)?.display());
        link_archive(name);
    }
    Ok(())
}

/// Links an archive into programs, instead of copying it into a library of Rust.
pub fn link_archive(name: &str) {
    println!("cargo::rustc-link-lib=static:-bundle={name}");
}

/// Returns the folder of an archive that the C++ compiler finds.
fn folder_of(name: &str) -> Result<PathBuf> {
    let file = format!("lib{name}.a");
    let compiler = cc::Build::new().cpp(true).try_get_compiler()?;
    let path = output(compiler.to_command().arg(format!("-print-file-name={file}")))?;
    let folder = Path::new(&path).parent().filter(|_| Path::new(&path).is_absolute());
    Ok(folder.ok_or_else(|| format!("the C++ compiler has no {file}"))?.to_path_buf())
}

/// Returns the output of a program.
fn output(command: &mut Command) -> Result<String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{command:?} fails: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_string())
}
