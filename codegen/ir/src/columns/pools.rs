//! Parameters of columns as tables of a module: one table for each type.

use crate::lir::{BufferId, Builder, Scalar, Space, Table};

/// Numbers and constants of all columns, in one pool for each type.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pools {
    integers: Vec<i32>,
    wide_integers: Vec<i64>,
    singles: Vec<f32>,
    doubles: Vec<f64>,
}

/// A pool for each type, as table numbers or as declared buffers. An empty pool has no table.
#[derive(Clone, Copy, Debug)]
pub struct PoolTables<T> {
    integers: Option<T>,
    wide_integers: Option<T>,
    singles: Option<T>,
    doubles: Option<T>,
}

impl Pools {
    /// Number of entries of a pool.
    pub fn len(&self, scalar: Scalar) -> usize {
        match scalar {
            Scalar::I64 => self.wide_integers.len(),
            Scalar::F32 => self.singles.len(),
            Scalar::F64 => self.doubles.len(),
            Scalar::I1 | Scalar::I8 | Scalar::I16 | Scalar::I32 => self.integers.len(),
        }
    }

    /// Adds an integer to a pool of integers.
    pub fn push_integer(&mut self, scalar: Scalar, n: i64) {
        match scalar {
            Scalar::I64 => self.wide_integers.push(n),
            _ => self.integers.push(n as i32),
        }
    }

    /// Adds a number to a pool of floats.
    pub fn push_float(&mut self, scalar: Scalar, x: f64) {
        match scalar {
            Scalar::F32 => self.singles.push(x as f32),
            _ => self.doubles.push(x),
        }
    }

    /// Adds the pools to the tables of a module by `add`, which returns a table's number.
    pub fn tables(&self, mut add: impl FnMut(Table) -> u32) -> PoolTables<u32> {
        let mut table = |name: &str, bytes: Vec<u8>| {
            let is_used = !bytes.is_empty();
            is_used.then(|| add(Table { name: name.to_string(), bytes: bytes.into() }))
        };
        let bytes = |numbers: &[i32]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        PoolTables {
            integers: table("column_integers", bytes(&self.integers)),
            wide_integers: table(
                "column_wide_integers",
                self.wide_integers.iter().flat_map(|n| n.to_le_bytes()).collect(),
            ),
            singles: table("column_singles", self.singles.iter().flat_map(|x| x.to_le_bytes()).collect()),
            doubles: table("column_doubles", self.doubles.iter().flat_map(|x| x.to_le_bytes()).collect()),
        }
    }
}

impl PoolTables<u32> {
    /// Declares the tables of these numbers as buffers.
    pub fn declare(self, b: &mut Builder) -> PoolTables<BufferId> {
        let mut buffer = |name: &str, number: Option<u32>, element| {
            number.map(|number| b.buffer(name, Space::ModelTable(number), element))
        };
        PoolTables {
            integers: buffer("column_integers", self.integers, Scalar::I32),
            wide_integers: buffer("column_wide_integers", self.wide_integers, Scalar::I64),
            singles: buffer("column_singles", self.singles, Scalar::F32),
            doubles: buffer("column_doubles", self.doubles, Scalar::F64),
        }
    }
}

impl PoolTables<BufferId> {
    /// The buffer of a pool. Truth values are integers.
    pub fn buffer(&self, scalar: Scalar) -> BufferId {
        let pool = match scalar {
            Scalar::I64 => self.wide_integers,
            Scalar::F32 => self.singles,
            Scalar::F64 => self.doubles,
            Scalar::I1 | Scalar::I8 | Scalar::I16 | Scalar::I32 => self.integers,
        };
        // Code reads parameters from pools with entries alone, so the default is never read.
        pool.unwrap_or(BufferId(0))
    }
}
