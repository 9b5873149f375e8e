//! Compiles the C runtime, once for two uses: a static library for code in memory, and the bytes of an object
//! file that is linked into artefacts. Links LLVM, unless `llvm-sys` does.

#[path = "build/lld.rs"]
mod lld;
#[path = "build/llvm.rs"]
mod llvm;

use std::{env, error::Error, fs, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=linker");
    println!("cargo::rerun-if-changed=runtime");
    let mut build = cc::Build::new();
    build
        .std("c11")
        .opt_level(2)
        .debug(false)
        .pic(true)
        .warnings(true)
        .extra_warnings(true)
        .flag("-fvisibility=hidden")
        // Copying rows to columns takes loops of a few dozen iterations.
        .flag_if_supported("-ftree-vectorize")
        .flag_if_supported("-fvect-cost-model=dynamic");
    if env::var("CARGO_CFG_TARGET_ARCH")? == "x86_64" {
        // The runtime checks the processor, so it must run on every one.
        build.flag("-march=x86-64").flag("-mtune=generic");
    }
    let objects = build.clone().file("runtime/runtime.c").try_compile_intermediates()?;

    let out = PathBuf::from(env::var("OUT_DIR")?);
    let [object] = objects.as_slice() else {
        return Err("the runtime is one translation unit and must give one object".into());
    };
    fs::copy(object, out.join("runtime.o"))?;
    cc::Build::new().object(object).try_compile("schedc_rt")?;
    if feature("LLD") {
        lld::build(&llvm::Config::find()?, &build, &out)?;
    }
    if feature("LLVM_STATIC") {
        llvm::Config::find()?.link_archives(&out)?;
    }
    if feature("LLD") || feature("LLVM_STATIC") {
        llvm::link_compression()?;
    }
    Ok(())
}

fn feature(name: &str) -> bool {
    env::var_os(format!("CARGO_FEATURE_{name}")).is_some()
}
