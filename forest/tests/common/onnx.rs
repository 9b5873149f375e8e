//! Writes ONNX files, also in forms that converters do not write.
#![allow(dead_code)]

/// Appends a whole number as a varint.
pub fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A field of bytes, with its length.
pub fn bytes(number: u64, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    varint(number << 3 | 2, &mut out);
    varint(content.len() as u64, &mut out);
    out.extend_from_slice(content);
    out
}

/// A field that is a whole number.
pub fn number(number: u64, value: i64) -> Vec<u8> {
    let mut out = Vec::new();
    varint(number << 3, &mut out);
    varint(value as u64, &mut out);
    out
}

/// An attribute of a node.
pub fn attribute(name: &str, content: &[Vec<u8>]) -> Vec<u8> {
    bytes(5, &[bytes(1, name.as_bytes()), content.concat()].concat())
}

pub fn ints(name: &str, values: &[i64]) -> Vec<u8> {
    attribute(name, &values.iter().map(|&value| number(8, value)).collect::<Vec<_>>())
}

pub fn packed(name: &str, values: &[i64]) -> Vec<u8> {
    let mut content = Vec::new();
    values.iter().for_each(|&value| varint(value as u64, &mut content));
    attribute(name, &[bytes(8, &content)])
}

pub fn floats(name: &str, values: &[f32]) -> Vec<u8> {
    let content: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    attribute(name, &[bytes(7, &content)])
}

pub fn texts(name: &str, values: &[&str]) -> Vec<u8> {
    attribute(name, &values.iter().map(|value| bytes(9, value.as_bytes())).collect::<Vec<_>>())
}

pub fn int(name: &str, value: i64) -> Vec<u8> {
    attribute(name, &[number(3, value)])
}

pub fn node(operator: &str, attributes: &[Vec<u8>]) -> Vec<u8> {
    let names = [bytes(1, b"X"), bytes(2, b"Y"), bytes(4, operator.as_bytes()), bytes(7, b"ai.onnx.ml")];
    bytes(1, &[names.concat(), attributes.concat()].concat())
}

/// A file with these nodes, and rows of floats.
pub fn model(nodes: &[Vec<u8>], features: i64) -> Vec<u8> {
    let dimensions = [bytes(1, &bytes(2, b"rows")), bytes(1, &number(1, features))].concat();
    let tensor = [number(1, 1), bytes(2, &dimensions)].concat();
    let input = [bytes(1, b"X"), bytes(2, &bytes(1, &tensor))].concat();
    let graph = [nodes.concat(), bytes(11, &input)].concat();
    [number(1, 10), bytes(7, &graph)].concat()
}

/// The nodes of a regressor: number of the tree, number in the tree, mode, children for true and false.
pub type NodeRow = (i64, i64, &'static str, i64, i64);

/// A model with a regressor of feature 0. Thresholds of nodes and weights of leaves are positions in the list
/// of nodes.
pub fn regressor(rows: &[NodeRow], ints: fn(&str, &[i64]) -> Vec<u8>) -> Vec<u8> {
    model(
        &[node(
            "TreeEnsembleRegressor",
            &[node_columns(rows, ints), votes(rows, "target", 1, ints), int("n_targets", 1)],
        )],
        1,
    )
}

/// The attributes of nodes, without votes.
pub fn node_columns(rows: &[NodeRow], ints: fn(&str, &[i64]) -> Vec<u8>) -> Vec<u8> {
    let column = |name: &str, of: fn(&NodeRow) -> i64| ints(name, &rows.iter().map(of).collect::<Vec<_>>());
    let places: Vec<f32> = (0..rows.len()).map(|place| place as f32).collect();
    let attributes = [
        column("nodes_treeids", |row| row.0),
        column("nodes_nodeids", |row| row.1),
        column("nodes_featureids", |_| 0),
        texts("nodes_modes", &rows.iter().map(|row| row.2).collect::<Vec<_>>()),
        column("nodes_truenodeids", |row| row.3),
        column("nodes_falsenodeids", |row| row.4),
        floats("nodes_values", &places),
    ];
    attributes.concat()
}

/// The attributes of votes, one for each leaf. Its weight is the leaf's position in the list of nodes, and
/// its class the position modulo the number of classes.
pub fn votes(rows: &[NodeRow], prefix: &str, classes: i64, ints: fn(&str, &[i64]) -> Vec<u8>) -> Vec<u8> {
    let leaves: Vec<(i64, &NodeRow)> = (0..).zip(rows).filter(|(_, row)| row.2 == "LEAF").collect();
    let column = |name: &str, of: &dyn Fn(&(i64, &NodeRow)) -> i64| {
        ints(&format!("{prefix}_{name}"), &leaves.iter().map(of).collect::<Vec<_>>())
    };
    let weights: Vec<f32> = leaves.iter().map(|leaf| leaf.0 as f32).collect();
    [
        column("treeids", &|leaf| leaf.1.0),
        column("nodeids", &|leaf| leaf.1.1),
        column("ids", &|leaf| leaf.0 % classes),
        floats(&format!("{prefix}_weights"), &weights),
    ]
    .concat()
}
