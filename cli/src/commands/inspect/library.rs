//! The content of a library that `schedc build` made. The file is read and not loaded: it may be for another
//! machine, and none of its code runs.

use elf::ElfBytes;
use elf::abi::{DT_SONAME, SHN_UNDEF, STB_LOCAL};
use elf::endian::AnyEndian;
use sched_llvm::Cpu;
use schedc_driver::Failure;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// Most names that are listed; the others are counted.
const MOST_LISTED: usize = 8;
/// Suffix of an exported function that every library has.
const PREDICT_SUFFIX: &str = "_predict_ex";
/// First bytes of the description that each version of the code contains.
const DESCRIPTION_START: &[u8] = b"{\"model\":{";

/// First bytes of static libraries.
const ARCHIVE_MAGIC: &[u8] = b"!<arch>\n";
/// First bytes of shared libraries and object files.
pub const ELF_MAGIC: &[u8; 4] = b"\x7fELF";

/// A library or an object file.
pub struct InspectedLibrary {
    /// The prefix of the function names.
    prefix: String,
    /// The name under which linked programs load the library.
    soname: Option<String>,
    /// The description in each version of the code.
    versions: Vec<Value>,
    /// The symbol versions that the library needs, by the library that provides them.
    needs: BTreeMap<String, BTreeSet<String>>,
    bytes: usize,
}

/// Whether bytes are an ELF file or a static library.
pub fn is_library(bytes: &[u8]) -> bool {
    bytes.starts_with(ELF_MAGIC) || bytes.starts_with(ARCHIVE_MAGIC)
}

/// Whether the functions of an ELF file are known, and none is a predict function of `schedc build`.
pub fn has_no_predict_function(bytes: &[u8]) -> bool {
    symbols(object_in(bytes)).is_ok_and(|symbols| symbols.prefix.is_none())
}

/// The single object of a static library; any other file unchanged.
fn object_in(bytes: &[u8]) -> &[u8] {
    let is_archive = bytes.starts_with(ARCHIVE_MAGIC);
    let at = bytes.windows(ELF_MAGIC.len()).position(|window| is_archive && window == ELF_MAGIC).unwrap_or(0);
    bytes.get(at..).unwrap_or_default()
}

impl InspectedLibrary {
    /// Reads a library from the bytes of its file.
    pub fn read(path: &Path, bytes: &[u8]) -> Result<InspectedLibrary, Failure> {
        let foreign = |why: &str| {
            let help = "name a library or an object file that `schedc build` has made";
            Failure::new(sched_llvm::codes::LOADING, why, help).in_file(path.display())
        };
        let Symbols { prefix, soname, needs } = symbols(object_in(bytes))
            .map_err(|_| foreign("it is damaged: its symbol table cannot be read"))?;
        let prefix = prefix.ok_or_else(|| foreign("it has no predict function"))?;
        let versions = texts(bytes);
        if versions.is_empty() {
            return Err(foreign("it has no description of its model"));
        }
        Ok(InspectedLibrary { prefix, soname, versions, needs, bytes: bytes.len() })
    }

    /// The processors that the library has versions for, the most demanding first. Versions for several types
    /// of rows have one processor.
    pub fn targets(&self) -> Vec<String> {
        let mut targets: Vec<_> =
            self.versions.iter().map(|version| value_text(&version["target"])).collect();
        targets.dedup();
        targets
    }

    /// The descriptions in the versions.
    pub fn into_versions(self) -> Vec<Value> {
        self.versions
    }

    /// The description as JSON, for programs.
    pub fn to_json(&self) -> Value {
        let InspectedLibrary { prefix, soname, versions, needs, bytes } = self;
        json!({ "prefix": prefix, "soname": soname, "bytes": bytes, "versions": versions, "needs": needs })
    }

    /// Writes the description for people.
    pub fn describe(&self, out: &mut String, path: &Path) -> std::fmt::Result {
        let Some(first) = self.versions.first() else { return Ok(()) };
        writeln!(out, "{}  {} KiB", path.display(), self.bytes.div_ceil(1024))?;
        line(out, "functions", &format!("{}_predict and others", self.prefix))?;
        if let Some(soname) = &self.soname {
            line(out, "soname", soname)?;
        }
        if let Some(version) = first["schedc_abi"].as_i64() {
            line(out, "interface", &format!("version {version}"))?;
        }
        line(out, "built by", &format!("schedc {}", value_text(&first["schedc"])))?;
        for (key, value) in first["model"].as_object().into_iter().flatten() {
            match key.as_str() {
                "feature_names" => line(out, "names", &value_text(value))?,
                "categories" => line(out, key, &shown_categories(value))?,
                "whole_numbers" => line(out, "integers", &shown_whole_numbers(value))?,
                _ => line(out, key, &value_text(value))?,
            }
        }
        if let Some(outputs) = first["outputs"].as_object() {
            let columns: Vec<String> = outputs.iter().map(|(kind, n)| format!("{kind} {n}")).collect();
            line(out, "outputs", &format!("{} (columns)", columns.join(", ")))?;
        }
        for (library, versions) in &self.needs {
            line(out, "needs", &format!("{library}: {}", newest(versions)))?;
        }
        let several = self.versions.iter().any(|version| rows_of(version) != rows_of(first));
        for version in &self.versions {
            let own = version["processor"].as_str().map_or_else(String::new, |name| format!(" ({name})"));
            let device = if version["runs_on"].is_string() { ", and a GPU" } else { "" };
            let rows =
                if several { format!(", rows of {}", value_text(rows_of(version))) } else { String::new() };
            writeln!(out, "for {}{own}{rows}{device}", value_text(&version["target"]))?;
            let why = version["order_reason"]
                .as_str()
                .map_or_else(String::new, |why| format!(" ({})", why.trim_end_matches('.')));
            line(out, "sums", &format!("{}{why}", value_text(&version["order"])))?;
            for text in version["schedule"].as_str().unwrap_or_default().trim_end().lines() {
                writeln!(out, "{}", format!("    {text}").trim_end())?;
            }
        }
        Ok(())
    }
}

/// The type of the rows of a version.
fn rows_of(version: &Value) -> &Value {
    &version["model"]["types"]["rows"]
}

fn line(out: &mut String, title: &str, text: &str) -> std::fmt::Result {
    writeln!(out, "  {title:<11} {text}")
}

/// A value without quotes. Long lists are shortened.
fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => {
            let mut names: Vec<String> = values.iter().take(MOST_LISTED).map(value_text).collect();
            if values.len() > MOST_LISTED {
                names.push(format!("... and {} more: --json lists all", values.len() - MOST_LISTED));
            }
            names.join(", ")
        }
        other => other.to_string(),
    }
}

/// Number of named categories, and of the features that have them.
fn shown_categories(value: &Value) -> String {
    let features = value["names"].as_array().into_iter().flatten().filter_map(Value::as_array);
    let counts: Vec<usize> = features.map(Vec::len).filter(|count| *count > 0).collect();
    let names: usize = counts.iter().sum();
    let naming = value["naming"].as_array().into_iter().flatten();
    let unread = match naming.filter(|naming| *naming == "unread").count() {
        0 => String::new(),
        unread => format!("; {unread} features never read"),
    };
    format!("{names} names in {} features; others: {}{unread}", counts.len(), value_text(&value["unseen"]))
}

/// The types to which whole numbers of rows are converted.
fn shown_whole_numbers(value: &Value) -> String {
    format!("{} in tables, {} in arrays", value_text(&value["tables"]), value_text(&value["arrays"]))
}

/// The newest of several symbol versions, which includes the others.
fn newest(versions: &BTreeSet<String>) -> &str {
    let numbers = |name: &&String| -> Vec<u32> {
        name.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
    };
    versions.iter().max_by_key(numbers).map_or("", String::as_str)
}

type NeededLibraries = BTreeMap<String, BTreeSet<String>>;

/// Information from the symbol tables of a file.
#[derive(Default)]
struct Symbols {
    /// The prefix of the functions.
    prefix: Option<String>,
    soname: Option<String>,
    /// The symbol versions that the file needs, by library.
    needs: NeededLibraries,
}

fn symbols(bytes: &[u8]) -> Result<Symbols, elf::ParseError> {
    let file = ElfBytes::<AnyEndian>::minimal_parse(bytes)?;
    let dynamic = file.dynamic_symbol_table()?;
    let is_dynamic = dynamic.is_some();
    let Some((symbols, names)) = dynamic.map_or_else(|| file.symbol_table(), |found| Ok(Some(found)))? else {
        return Ok(Symbols::default());
    };
    let versions = if is_dynamic { file.symbol_version_table()? } else { None };
    let (mut prefix, mut needs) = (None, NeededLibraries::new());
    for (at, symbol) in symbols.iter().enumerate() {
        if symbol.st_shndx != SHN_UNDEF {
            let name = names.get(symbol.st_name as usize)?;
            if let Some(found) = name.strip_suffix(PREDICT_SUFFIX).filter(|_| symbol.st_bind() != STB_LOCAL) {
                prefix.get_or_insert_with(|| found.to_string());
            }
        } else if let Some(versions) = &versions
            && let Some(need) = versions.get_requirement(at)?
        {
            needs.entry(need.file.to_string()).or_default().insert(need.name.to_string());
        }
    }
    let entries = file.dynamic()?.into_iter().flatten();
    let soname = entries
        .filter(|entry| entry.d_tag == DT_SONAME)
        .find_map(|entry| names.get(usize::try_from(entry.d_val()).ok()?).ok().map(str::to_string));
    Ok(Symbols { prefix, soname, needs })
}

/// The descriptions in the versions, sorted by demands on the processor, then by width of rows, both
/// descending.
fn texts(bytes: &[u8]) -> Vec<Value> {
    let mut found: Vec<Value> = Vec::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(DESCRIPTION_START.len()).position(|window| window == DESCRIPTION_START)
    {
        rest = rest.get(at..).unwrap_or_default();
        let value = serde_json::Deserializer::from_slice(rest).into_iter::<Value>().next();
        if let Some(Ok(value)) = value
            && value["schedc"].is_string()
            && !found.contains(&value)
        {
            found.push(value);
        }
        rest = rest.get(DESCRIPTION_START.len()..).unwrap_or_default();
    }
    let key = |version: &Value| {
        let target = version["target"].as_str().unwrap_or_default();
        let cpu = target.parse::<Cpu>().ok().map(|cpu| (cpu.level(), cpu == Cpu::Native));
        (cpu, target.to_owned(), rows_of(version).as_str().map(str::to_owned))
    };
    found.sort_by_key(|version| std::cmp::Reverse(key(version)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_the_largest_number() {
        let versions = ["GLIBC_2.4", "GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.29"].map(String::from);
        assert_eq!(newest(&BTreeSet::from(versions)), "GLIBC_2.34");
    }

    #[test]
    fn damaged_files_are_refused() {
        let path = Path::new("lib.so");
        assert!(InspectedLibrary::read(path, b"\x7fELF").is_err());
        assert!(
            InspectedLibrary::read(
                path,
                b"\x7fELF\x02\x01\x01 and then nothing that makes sense at all, for long"
            )
            .is_err()
        );
    }
}
