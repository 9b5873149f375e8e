//! Numbers of the fields of ONNX messages.

pub const PRODUCER_VERSION: u32 = 3;
pub const GRAPH: u32 = 7;
pub const OPERATOR_SET: u32 = 8;
pub const METADATA: u32 = 14;
pub const DOMAIN: u32 = 1;
pub const VERSION: u32 = 2;
pub const KEY: u32 = 1;
pub const VALUE: u32 = 2;
pub const GRAPH_NODE: u32 = 1;
pub const GRAPH_CONSTANT: u32 = 5;
pub const GRAPH_INPUT: u32 = 11;
pub const GRAPH_OUTPUT: u32 = 12;
pub const CONSTANT_NAME: u32 = 8;
pub const NODE_INPUT: u32 = 1;
pub const NODE_OUTPUT: u32 = 2;
pub const NODE_NAME: u32 = 3;
pub const NODE_OPERATOR: u32 = 4;
pub const NODE_DOMAIN: u32 = 7;
pub const VALUE_NAME: u32 = 1;
pub const VALUE_TYPE: u32 = 2;
pub const TYPE_TENSOR: u32 = 1;
pub const TENSOR_ELEMENT: u32 = 1;
pub const TENSOR_SHAPE: u32 = 2;
pub const SHAPE_DIMENSION: u32 = 1;
pub const DIMENSION_SIZE: u32 = 1;
