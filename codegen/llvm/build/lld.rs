//! Parts for linking without a C toolchain: LLVM's linker with an interface in C, stubs of the system's
//! libraries, and the code that C compilers add to each library.

use super::llvm::{Config, link_archive};
use std::{collections::BTreeMap, env, error::Error, fmt::Write, fs, path::Path};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Compiles the parts for linking without a C toolchain into `out`.
pub fn build(config: &Config, runtime: &cc::Build, out: &Path) -> Result<()> {
    linker(config)?;
    stubs(out)?;
    let objects = runtime.clone().file("linker/start.c").try_compile_intermediates()?;
    let [start] = objects.as_slice() else { return Err("one file gives one object".into()) };
    fs::copy(start, out.join("start.o"))?;
    Ok(())
}

fn linker(config: &Config) -> Result<()> {
    let (headers, libraries) = (config.header_folder()?, config.library_folder()?);
    if !headers.join("lld/Common/Driver.h").is_file() || !libraries.join("liblldELF.a").is_file() {
        return Err(
            "LLVM's linker is not installed as a library (on Debian and Ubuntu: the package liblld-19-dev)"
                .into(),
        );
    }
    let is_static = env::var_os("CARGO_FEATURE_LLVM_STATIC").is_some();
    let mut build = cc::Build::new();
    build.cpp(true).std("c++17").warnings(false).file("linker/linker.cpp").include(headers);
    build.flag("-fno-exceptions").flag("-fvisibility=hidden");
    if is_static {
        build.define("SCHEDC_WITHOUT_POLLY", None).cpp_link_stdlib(None);
    }
    build.try_compile("schedc_linker")?;
    println!("cargo::rustc-link-search=native={}", libraries.display());
    link_archive("lldELF");
    link_archive("lldCommon");
    Ok(())
}

/// Makes empty libraries with the symbols of the system's `libc.so.6` and `libm.so.6`.
fn stubs(out: &Path) -> Result<()> {
    let table = fs::read_to_string("linker/system.txt")?;
    let mut libraries: BTreeMap<&str, Vec<(&str, Vec<&str>)>> = BTreeMap::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let (Some(library), Some(version)) = (words.next(), words.next()) else {
            return Err(format!("linker/system.txt: `{line}` names no library and version").into());
        };
        libraries.entry(library).or_default().push((version, words.collect()));
    }
    for (library, versions) in libraries {
        let (mut text, mut script) = (String::from(".text\n"), String::new());
        for (version, names) in versions {
            for name in &names {
                writeln!(text, ".globl {name}\n.type {name}, @function\n{name}:")?;
            }
            writeln!(script, "{version} {{ global: {}; }};", names.join("; "))?;
        }
        writeln!(text, "ret\n.section .note.GNU-stack, \"\", @progbits")?;
        let (assembly, versions) = (out.join(format!("{library}.s")), out.join(format!("{library}.map")));
        fs::write(&assembly, text)?;
        fs::write(&versions, script)?;
        let mut compiler = cc::Build::new().try_get_compiler()?.to_command();
        compiler.args(["-shared", "-nostdlib", "-Wl,--build-id=none"]);
        compiler
            .arg(format!("-Wl,-soname,{library}"))
            .arg(format!("-Wl,--version-script={}", versions.display()));
        // Without another ending, programs that cargo starts would load the stub, since this folder is in
        // their search path.
        let stub = out.join(format!("{library}.stub"));
        let status = compiler.arg("-o").arg(stub).arg(assembly).status()?;
        if !status.success() {
            return Err(format!("the C compiler failed to build a stub of the library {library}").into());
        }
    }
    Ok(())
}
