//! Records the commit that the program is built from: the one in `SCHEDC_COMMIT`, or else that of the package
//! or of git. Builds for development record none, so that a commit rebuilds nothing. Links a program that
//! contains LLVM to a fixed address.

use std::{env, fs, path::Path, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=SCHEDC_COMMIT");
    let given = env::var("SCHEDC_COMMIT").ok().filter(|commit| !commit.is_empty());
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let found = given.or_else(|| is_release.then(|| commit_of_package().or_else(commit_of_git)).flatten());
    if let Some(commit) = found {
        println!("cargo::rustc-env=SCHEDC_COMMIT={commit}");
    }
    if env::var_os("CARGO_FEATURE_LLVM_STATIC").is_some() {
        // LLVM has tables of 166,000 addresses. A program at a fixed address need not relocate them at each
        // start.
        println!("cargo::rustc-link-arg-bin=schedc=-no-pie");
    }
}

/// The commit that `cargo package` records.
fn commit_of_package() -> Option<String> {
    let text = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = text.split_once("\"sha1\": \"")?;
    Some(rest.split_once('"')?.0.to_string())
}

/// The commit of HEAD, if git tracks this file.
fn commit_of_git() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output =
            Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_string())
    };
    // If git does not track this file, the repository around it is another project's.
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    for name in ["HEAD", "logs/HEAD"] {
        let file = git(&["rev-parse", "--git-path", name])?;
        if Path::new(&file).is_file() {
            println!("cargo::rerun-if-changed={file}");
        }
    }
    git(&["rev-parse", "HEAD"])
}
