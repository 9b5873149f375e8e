//! Types of floating-point numbers.

/// A floating-point type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Float {
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
}

impl Float {
    /// Name of the type in JSON and messages: `f32` or `f64`.
    pub fn word(self) -> &'static str {
        match self {
            Float::F32 => "f32",
            Float::F64 => "f64",
        }
    }

    /// Size in bytes.
    pub fn bytes(self) -> usize {
        match self {
            Float::F32 => 4,
            Float::F64 => 8,
        }
    }
}
