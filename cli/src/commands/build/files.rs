//! Files that `schedc build` writes: the artefact, its C header and its pkg-config file.

use crate::args::{Build, Emit};
use crate::outputs::{Companion, PKG_CONFIG_MARK, is_same, refuse_foreign, refuse_overwriting};
use crate::stdout::print_bytes;
use crate::terminal::Terminal;
use schedc_data::write_together;
use schedc_driver::failure::Failure;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Paths of the files to write.
pub struct BuildFiles {
    /// The artefact.
    pub out: PathBuf,
    /// The C header beside the artefact.
    pub header: Option<PathBuf>,
    /// The pkg-config file beside the artefact.
    pub pkg_config: Option<PathBuf>,
    /// The soname of a shared library, or the name of the object in a static one.
    pub own_name: Option<String>,
}

impl BuildFiles {
    /// Output paths. Fails if one is an input of this command, such as the model or the schedule, or cannot
    /// be written. Also fails if a C header or the pkg-config file would replace a file that schedc did not
    /// write.
    pub fn of(args: &Build, model: &Path, schedule: Option<&Path>) -> Result<BuildFiles, Failure> {
        let out = args.out.clone().unwrap_or_else(|| default_name(model, args.emit));
        // Standard output and devices have no files beside them.
        let special = out.as_os_str() == "-" || std::fs::metadata(&out).is_ok_and(|found| !found.is_file());
        let header = (has_header(args.emit) && !special).then(|| out.with_extension("h"));
        let pkg_config = (args.pkg_config && !special).then(|| out.with_extension("pc"));
        if args.pkg_config && !pkg_config.as_deref().is_some_and(is_plain) {
            return Err(Failure::usage(
                format!("no pkg-config file can be written beside {}", out.display()),
                "name the output with letters, digits, `.`, `_`, `+` and `-` only",
            ));
        }
        let profile = args.schedule.values.profile.as_deref();
        let read = [Some(model), schedule, profile];
        refuse_overwriting(&read, &out)?;
        if has_header(args.emit) && !special {
            check_ending(&out, args.emit)?;
        }
        for beside in [&header, &pkg_config].into_iter().flatten() {
            refuse_overwriting(&read, beside)?;
            if is_same(&out, beside) {
                let message = format!("{} and {} are the same file", out.display(), beside.display());
                return Err(Failure::usage(message, "remove the link between them, or use another name"));
            }
        }
        let own = (args.emit == Emit::Header).then_some(&out);
        header.iter().chain(own).try_for_each(|header| refuse_foreign(header, Companion::Header))?;
        pkg_config.iter().try_for_each(|path| refuse_foreign(path, Companion::PkgConfig))?;
        let own_name = match args.emit {
            Emit::So => args.soname.clone().or_else(|| file_name(&out).filter(|_| !special)),
            Emit::Static => file_name(&out.with_extension("o")).filter(|_| !special),
            _ => None,
        };
        Ok(BuildFiles { out, header, pkg_config, own_name })
    }
}

/// Whether a C header is written beside the artefact.
fn has_header(emit: Emit) -> bool {
    matches!(emit, Emit::So | Emit::Obj | Emit::Static)
}

fn file_name(path: &Path) -> Option<String> {
    path.file_name().and_then(|name| name.to_str()).map(str::to_string)
}

/// Whether a file's name needs no quotes in a pkg-config file.
fn is_plain(path: &Path) -> bool {
    file_name(path).is_some_and(|name| {
        name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+' | '-'))
    })
}

/// Refuses options without effect, and an artefact with the name of its C header or its pkg-config file.
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
            format!("{}, the output, is also the name of the C header", out.display()),
            "name a .so, .a or .o file, or ask for the header alone with --emit header",
        ));
    }
    if args.pkg_config && has_extension("pc") {
        return Err(Failure::usage(
            format!("{}, the output, is also the name of the pkg-config file", out.display()),
            "name a .so, .a or .o file",
        ));
    }
    Ok(())
}

/// Endings of artefacts and the words of `--emit` for them.
const ARTEFACT_ENDINGS: [(&str, &str); 6] =
    [("so", "so"), ("o", "obj"), ("a", "static"), ("ll", "llvm"), ("s", "asm"), ("ptx", "ptx")];

/// Endings of libraries, objects and programs of Windows and macOS, which schedc does not write.
const FOREIGN_ENDINGS: [&str; 7] = ["dll", "dylib", "lib", "obj", "pyd", "bundle", "exe"];

/// Further endings under which no library or object is written; those of models are added.
const OTHER_ENDINGS: [&str; 10] = ["cbm", "pkl", "csv", "parquet", "npy", "sched", "lock", "md", "py", "c"];

/// Refuses a library or an object under the name of another kind of file.
fn check_ending(out: &Path, emit: Emit) -> Result<(), Failure> {
    let Some(ending) = out.extension().and_then(|ending| ending.to_str()) else { return Ok(()) };
    let ending = ending.to_lowercase();
    let ending = ending.as_str();
    let (kind, own) = match emit {
        Emit::Obj => ("an object file", "o"),
        Emit::Static => ("a static library", "a"),
        _ => ("a shared library", "so"),
    };
    let artefact = ARTEFACT_ENDINGS.iter().find(|(known, _)| *known == ending);
    let help = match artefact {
        Some((known, _)) if *known == own => return Ok(()),
        Some((_, word)) => format!("name it .{own}, or ask for the other kind with --emit {word}"),
        None if FOREIGN_ENDINGS.contains(&ending) => {
            format!(
                "name it .{own}: schedc writes ELF files, which Linux loads; on Windows and macOS, build and \
                 load the library in a container of Linux"
            )
        }
        None if OTHER_ENDINGS.contains(&ending) || sched_forest::endings().contains(&ending) => {
            format!("name it .{own}")
        }
        None => return Ok(()),
    };
    let message = format!("{} would be {kind} under the name of another kind of file", out.display());
    Err(Failure::usage(message, help))
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

/// The description of an artefact for pkg-config.
pub struct PkgConfig {
    /// Number of the model's trees.
    pub trees: i32,
    /// Number of columns of a row.
    pub features: i32,
    /// The kind of the artefact.
    pub emit: Emit,
}

impl PkgConfig {
    /// The text of the pkg-config file in the folder of the artefact `out`.
    pub fn text(&self, out: &Path) -> String {
        let PkgConfig { trees, features, emit } = *self;
        let name = file_name(out).unwrap_or_default();
        let stem = file_name(&out.with_extension("")).unwrap_or_default();
        let ending = if emit == Emit::Static { ".a" } else { ".so" };
        let found_by = match name.strip_prefix("lib").and_then(|name| name.strip_suffix(ending)) {
            Some(short) => format!("-L${{pcfiledir}} -l{short}"),
            None => format!("-L${{pcfiledir}} -l:{name}"),
        };
        // A shared library loads its dependencies itself. Only static linking needs `Libs.private`.
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

/// Writes all files or none. Standard output cannot be one of several files.
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
