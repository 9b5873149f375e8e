//! The files that `schedc build` writes: their names, and what goes beside the result.

use crate::args::{Build, Emit};
use crate::commands::{Job, print_bytes};
use crate::failure::Failure;
use crate::outputs::{Beside, PKG_CONFIG_MARK, is_same, keep, keep_foreign};
use crate::terminal::Terminal;
use schedc_data::write_together;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What the command writes.
pub struct Files {
    /// The result.
    pub out: PathBuf,
    /// The header that goes beside it.
    pub header: Option<PathBuf>,
    /// The file for pkg-config that goes beside it.
    pub pkg_config: Option<PathBuf>,
    /// The soname of a shared library, or the name of the object in a static one.
    pub own_name: Option<String>,
}

impl Files {
    /// The files, none of which may be one that is read or one of somebody else.
    pub fn of(args: &Build, job: &Job) -> Result<Files, Failure> {
        let out = args.out.clone().unwrap_or_else(|| default_name(&job.model.path, args.emit));
        // Nothing goes beside standard output or a device.
        let special = out.as_os_str() == "-" || std::fs::metadata(&out).is_ok_and(|found| !found.is_file());
        let header = (has_header(args.emit) && !special).then(|| out.with_extension("h"));
        let pkg_config = (args.pkg_config && !special).then(|| out.with_extension("pc"));
        if args.pkg_config && !pkg_config.as_deref().is_some_and(is_plain) {
            return Err(Failure::usage(
                format!("a file for pkg-config cannot be beside {}", out.display()),
                "write to a file whose name has letters, digits and `.`, `_`, `+` and `-` alone",
            ));
        }
        let profile = args.schedule.values.profile.as_deref();
        let read = [Some(job.model.path.as_path()), job.source.path.as_deref(), profile];
        keep(&read, &out)?;
        for beside in [&header, &pkg_config].into_iter().flatten() {
            keep(&read, beside)?;
            if is_same(&out, beside) {
                let message = format!("{} and {} are one file", out.display(), beside.display());
                return Err(Failure::usage(message, "remove the link between them, or use another name"));
            }
        }
        let own = (args.emit == Emit::Header).then_some(&out);
        header.iter().chain(own).try_for_each(|header| keep_foreign(header, Beside::Header))?;
        pkg_config.iter().try_for_each(|path| keep_foreign(path, Beside::PkgConfig))?;
        let own_name = match args.emit {
            Emit::So => args.soname.clone().or_else(|| file_name(&out).filter(|_| !special)),
            Emit::Static => file_name(&out.with_extension("o")).filter(|_| !special),
            _ => None,
        };
        Ok(Files { out, header, pkg_config, own_name })
    }
}

/// Whether a C header goes beside the result.
fn has_header(emit: Emit) -> bool {
    matches!(emit, Emit::So | Emit::Obj | Emit::Static)
}

fn file_name(path: &Path) -> Option<String> {
    path.file_name().and_then(|name| name.to_str()).map(str::to_string)
}

/// Whether the name of a file needs no quotes in a file for pkg-config.
fn is_plain(path: &Path) -> bool {
    file_name(path).is_some_and(|name| {
        name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+' | '-'))
    })
}

/// Refuses names that go nowhere, and a result of the name that the header beside it has.
pub fn check_names(args: &Build) -> Result<(), Failure> {
    if args.soname.is_some() && args.emit != Emit::So {
        return Err(Failure::usage("only shared libraries have a soname", "leave --soname out"));
    }
    if args.pkg_config && !has_header(args.emit) {
        let message = "only libraries and object files have a file for pkg-config";
        return Err(Failure::usage(message, "leave --pkg-config out"));
    }
    let Some(out) = args.out.as_ref().filter(|_| has_header(args.emit)) else { return Ok(()) };
    let has_extension = |wanted: &str| out.extension().is_some_and(|extension| extension == wanted);
    if has_extension("h") {
        return Err(Failure::usage(
            format!("{} is where the C header goes", out.display()),
            "name a .so, .a or .o file, or ask for the header alone with --emit header",
        ));
    }
    if args.pkg_config && has_extension("pc") {
        return Err(Failure::usage(
            format!("{} is where the file for pkg-config goes", out.display()),
            "name a .so, .a or .o file",
        ));
    }
    Ok(())
}

/// The model's name with the right extension, in the current directory.
fn default_name(model: &Path, emit: Emit) -> PathBuf {
    let extension = match emit {
        Emit::So => ".so",
        Emit::Obj => ".o",
        Emit::Static => ".a",
        Emit::Llvm => ".ll",
        Emit::Asm => ".s",
        Emit::Header | Emit::Loader => ".h",
        Emit::Ptx => ".ptx",
        Emit::Cubin => ".cubin",
        Emit::Hsaco => ".hsaco",
    };
    let mut name = OsString::from(model.file_stem().unwrap_or_default());
    name.push(extension);
    PathBuf::from(name)
}

/// What a file for pkg-config says.
pub struct PkgConfig {
    /// Trees of the model.
    pub trees: i32,
    /// Columns of a row.
    pub features: i32,
    /// What it lies beside.
    pub emit: Emit,
}

impl PkgConfig {
    /// The text for what is in a file, which lies in the same folder.
    pub fn text(&self, out: &Path) -> String {
        let PkgConfig { trees, features, emit } = *self;
        let name = file_name(out).unwrap_or_default();
        let stem = file_name(&out.with_extension("")).unwrap_or_default();
        let ending = if emit == Emit::Static { ".a" } else { ".so" };
        let found_by = match name.strip_prefix("lib").and_then(|name| name.strip_suffix(ending)) {
            Some(short) => format!("-L${{pcfiledir}} -l{short}"),
            None => format!("-L${{pcfiledir}} -l:{name}"),
        };
        // What a shared library needs concerns only those who link without shared libraries.
        let libraries = match emit {
            Emit::So => format!("Libs: {found_by}\nLibs.private: -pthread -lm"),
            Emit::Obj => format!("Libs: ${{pcfiledir}}/{name} -pthread -lm"),
            _ => format!("Libs: {found_by} -pthread -lm"),
        };
        format!(
            "{PKG_CONFIG_MARK}\n\
             Name: {stem}\n\
             Description: compiled decision forest of {trees} trees and {features} features\n\
             Version: {}\n\
             Cflags: -I${{pcfiledir}}\n\
             {libraries}\n",
            env!("CARGO_PKG_VERSION")
        )
    }
}

/// Writes all files or none; standard output is one of its own.
pub fn write(files: &[(&Path, &[u8])], terminal: &Terminal) -> Result<(), Failure> {
    if let [(path, bytes)] = files
        && path.as_os_str() == "-"
    {
        return print_bytes(bytes);
    }
    write_together(files)?;
    for (path, bytes) in files {
        terminal.say(&format!("wrote {} ({} KiB)", path.display(), bytes.len().div_ceil(1024)));
    }
    Ok(())
}
