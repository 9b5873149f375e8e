//! Model folders of MLServer.

use super::facts::{Element, LibraryInfo, Tensor};
use super::files::Files;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The files of a folder with one model.
pub fn files(name: &str, facts: &LibraryInfo, threads: i64, library: Vec<u8>) -> Files {
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

fn tensor(tensor: &Tensor) -> Value {
    let datatype = match tensor.element {
        Element::F32 => "FP32",
        Element::F64 => "FP64",
        Element::I32 => "INT32",
        Element::I64 => "INT64",
        Element::Truth => "BOOL",
        Element::Text => "BYTES",
    };
    json!({ "name": tensor.name, "datatype": datatype, "shape": [-1, tensor.columns] })
}
