//! Properties of a library that a server's configuration needs.

use sched_categories::{Label, Names, Naming, from_json};
use sched_llvm::runtime::{self, OutputKind};
use schedc_driver::Failure;
use schedc_driver::outputs::missing_output;
use serde_json::Value;

/// A type of tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorType {
    F32,
    F64,
    I32,
    I64,
    Truth,
    Text,
}

/// A tensor of a request or a response, with one row for each predicted row.
pub struct ServedTensor {
    pub name: String,
    pub element: TensorType,
    pub columns: u64,
}

/// Inputs, output and other properties of a library, for a server's configuration.
pub struct LibraryInfo {
    /// One tensor for all features in the model's order; if features have named categories, one for each
    /// feature that the model reads.
    pub inputs: Vec<ServedTensor>,
    /// The output.
    pub output: ServedTensor,
    /// The output's word, such as `raw`.
    pub kind: &'static str,
    /// The feature names; empty if the model has none.
    pub features: Vec<String>,
    /// Whether calls run on a GPU.
    pub runs_on_gpu: bool,
}

impl LibraryInfo {
    /// The properties of a library with these versions, for a server that returns the output `output`.
    pub fn of(versions: &[Value], output: OutputKind) -> Result<LibraryInfo, Failure> {
        let about = versions.first().unwrap_or(&Value::Null);
        let model = &about["model"];
        let kind = output.word();
        let columns_of = |kind: OutputKind| about["outputs"][kind.word()].as_u64().unwrap_or(0);
        let columns = columns_of(output);
        if columns == 0 {
            return Err(missing_output(kind, |kind| columns_of(kind) > 0));
        }
        let texts = |value: &Value| -> Vec<String> {
            value
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|name| name.as_str().map(str::to_owned))
                .collect()
        };
        let features = texts(&model["feature_names"]);
        // The widest type of rows that some version reads without rounding.
        let wide = versions.iter().any(|version| version["model"]["types"]["rows"] == "f64");
        let number = if wide { TensorType::F64 } else { TensorType::F32 };
        let output =
            ServedTensor { name: output.heading().to_owned(), element: result(model, output), columns };
        let runs_on_gpu = versions.iter().any(|version| version["runs_on"] == "gpu");
        Ok(LibraryInfo { inputs: inputs(model, &features, number), output, kind, features, runs_on_gpu })
    }
}

fn inputs(model: &Value, features: &[String], number: TensorType) -> Vec<ServedTensor> {
    let count = model["features"].as_u64().unwrap_or(0);
    let (all, _) = from_json(&model["categories"]).unwrap_or_default();
    if features.is_empty() || !all.iter().any(Names::are_names) {
        return vec![ServedTensor { name: "rows".to_owned(), element: number, columns: count }];
    }
    // A tensor has one type, which must also represent missing values.
    let element = |names: &Names| match names.labels.as_slice() {
        labels if labels.iter().any(|label| matches!(label, Label::Text(_))) => TensorType::Text,
        labels if labels.iter().any(|label| matches!(label, Label::Truth(_))) => TensorType::Truth,
        [] => number,
        _ => TensorType::F64,
    };
    let read = features.iter().zip(&all).filter(|(_, names)| names.naming != Naming::Unread);
    read.map(|(name, names)| ServedTensor { name: name.clone(), element: element(names), columns: 1 })
        .collect()
}

fn result(model: &Value, output: OutputKind) -> TensorType {
    let float = |word: &str| if model["types"][word] == "f64" { TensorType::F64 } else { TensorType::F32 };
    let labels: Vec<&Value> = model["labels"].as_array().into_iter().flatten().collect();
    match output.element() {
        runtime::Element::Leaf => TensorType::I32,
        runtime::Element::Class if labels.is_empty() => TensorType::I32,
        runtime::Element::Class if labels.iter().any(|label| label.is_string()) => TensorType::Text,
        runtime::Element::Class if labels.iter().all(|label| label.is_i64()) => TensorType::I64,
        runtime::Element::Class => TensorType::F64,
        runtime::Element::Result => float("results"),
        runtime::Element::Sum => float("sums"),
    }
}
