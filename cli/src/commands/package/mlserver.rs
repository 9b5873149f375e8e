//! Model folders of MLServer.

use super::facts::{LibraryInfo, ServedTensor, TensorType};
use super::files::PackageFiles;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The files of a folder with one model.
pub fn files(name: &str, facts: &LibraryInfo, threads: i64, library: Vec<u8>) -> PackageFiles {
    let folder = Path::new(name);
    let model = json!({
        "name": name,
        "implementation": "schedc_runtime.mlserver.SchedcModel",
        "inputs": facts.inputs.iter().map(tensor).collect::<Value>(),
        "outputs": [tensor(&facts.output)],
        "parameters": { "uri": "./model.so", "extra": { "output": facts.kind, "threads": threads } },
    });
    let settings = json!({ "debug": false });
    vec![
        (PathBuf::from("settings.json"), format!("{settings:#}\n").into_bytes()),
        (folder.join("model-settings.json"), format!("{model:#}\n").into_bytes()),
        (folder.join("model.so"), library),
    ]
}

fn tensor(tensor: &ServedTensor) -> Value {
    let datatype = match tensor.element {
        TensorType::F32 => "FP32",
        TensorType::F64 => "FP64",
        TensorType::I32 => "INT32",
        TensorType::I64 => "INT64",
        TensorType::Truth => "BOOL",
        TensorType::Text => "BYTES",
    };
    json!({ "name": tensor.name, "datatype": datatype, "shape": [-1, tensor.columns] })
}
