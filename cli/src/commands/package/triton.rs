//! Model repositories of Triton.

use super::facts::{LibraryInfo, ServedTensor, TensorType};
use super::files::PackageFiles;
use std::fmt::Write;
use std::path::Path;

/// Most rows of a request, and of a batch that Triton forms of several requests.
const MOST_ROWS: u32 = 65536;

/// The module that Triton's Python backend runs.
const MODEL_MODULE: &str =
    "from schedc_runtime.triton import TritonPythonModel\n\n__all__ = [\"TritonPythonModel\"]\n";

/// The files of a repository with one version of one model.
pub fn files(name: &str, facts: &LibraryInfo, threads: i64, library: Vec<u8>) -> PackageFiles {
    let folder = Path::new(name);
    let version = folder.join("1");
    vec![
        (folder.join("config.pbtxt"), config(name, facts, threads).into_bytes()),
        (version.join("model.py"), MODEL_MODULE.as_bytes().to_vec()),
        (version.join("model.so"), library),
    ]
}

fn config(name: &str, facts: &LibraryInfo, threads: i64) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_config(&mut text, name, facts, threads);
    text
}

fn write_config(out: &mut String, name: &str, facts: &LibraryInfo, threads: i64) -> std::fmt::Result {
    writeln!(out, "name: {}", quoted(name))?;
    writeln!(out, "backend: \"python\"\nmax_batch_size: {MOST_ROWS}")?;
    if facts.inputs.iter().any(|rows| rows.columns == facts.features.len() as u64) {
        for (at, feature) in facts.features.iter().enumerate() {
            writeln!(out, "# column {at} of rows: {}", quoted(feature))?;
        }
    }
    facts.inputs.iter().try_for_each(|tensor| write_tensor(out, "input", tensor))?;
    write_tensor(out, "output", &facts.output)?;
    let processor = if facts.runs_on_gpu { "KIND_GPU" } else { "KIND_CPU" };
    writeln!(out, "instance_group [ {{ kind: {processor} count: 1 }} ]\ndynamic_batching {{ }}")?;
    for (key, value) in [("output", facts.kind), ("threads", threads.to_string().as_str())] {
        writeln!(out, "parameters {{ key: \"{key}\" value {{ string_value: \"{value}\" }} }}")?;
    }
    Ok(())
}

fn write_tensor(out: &mut String, what: &str, tensor: &ServedTensor) -> std::fmt::Result {
    let element = match tensor.element {
        TensorType::F32 => "TYPE_FP32",
        TensorType::F64 => "TYPE_FP64",
        TensorType::I32 => "TYPE_INT32",
        TensorType::I64 => "TYPE_INT64",
        TensorType::Truth => "TYPE_BOOL",
        TensorType::Text => "TYPE_STRING",
    };
    let ServedTensor { name, columns, .. } = tensor;
    writeln!(out, "{what} [ {{ name: {} data_type: {element} dims: [ {columns} ] }} ]", quoted(name))
}

/// A quoted string in the text format of protocol buffers.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted.push_str("\\n"),
            _ if letter.is_ascii_control() => quoted.push_str(&format!("\\{:03o}", u32::from(letter))),
            _ => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn texts_are_quoted() {
        assert_eq!(quoted("a \"b\"\\\n\u{7}é"), r#""a \"b\"\\\n\007é""#);
    }
}
