//! Parameters of groups and columns: one number for all, consecutive numbers, or entries of a pool.

use super::pools::{PoolTables, Pools};
use crate::lir::{Address, BufferId, Builder, Scalar, Value};
use sched_columns::ColumnValue;

/// A parameter of an operation of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OperationParameter {
    /// A number, of 32 bits.
    Number(i64),
    /// A constant of the node's type.
    Constant(ColumnValue),
}

/// A parameter of each group, column or layer of a run, as code reads it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ParameterSource {
    /// One number for the whole run.
    Same(OperationParameter),
    /// Consecutive numbers, of which this is the first.
    Consecutive(i64),
    /// An entry of the pool of the type for each group or column, from this position on.
    Pooled(Scalar, i64),
}

impl ParameterSource {
    /// Parameters as one number if all are equal, else as entries of a pool: of integers for numbers, of type
    /// `ty` for constants.
    pub fn new(all: &[OperationParameter], ty: Scalar, pools: &mut Pools) -> ParameterSource {
        match all {
            [] => ParameterSource::number(0),
            [first, rest @ ..] if rest.iter().all(|other| other == first) => ParameterSource::Same(*first),
            [first, ..] => {
                let ty = if matches!(first, OperationParameter::Number(_)) { Scalar::I32 } else { ty };
                let at = pools.len(ty) as i64;
                for parameter in all {
                    match parameter {
                        OperationParameter::Number(n) => pools.push_integer(ty, *n),
                        OperationParameter::Constant(value) if ty.is_float() => {
                            pools.push_float(ty, value.to_f64())
                        }
                        OperationParameter::Constant(value) => pools.push_integer(ty, value.to_i64()),
                    }
                }
                ParameterSource::Pooled(ty, at)
            }
        }
    }

    /// One number for the whole run.
    pub fn number(n: i64) -> ParameterSource {
        ParameterSource::Same(OperationParameter::Number(n))
    }

    /// The parameters as consecutive numbers, if they are consecutive.
    pub fn consecutive(all: &[OperationParameter]) -> Option<ParameterSource> {
        let [OperationParameter::Number(first), _, ..] = all else { return None };
        let numbers = (*first..).map(OperationParameter::Number);
        numbers
            .zip(all)
            .all(|(number, parameter)| number == *parameter)
            .then_some(ParameterSource::Consecutive(*first))
    }
}

/// The parameter of the group or column number `place`, as an index.
pub(super) fn index_of(
    b: &mut Builder,
    pools: &PoolTables<BufferId>,
    number: ParameterSource,
    place: Value,
) -> Value {
    match number {
        ParameterSource::Same(OperationParameter::Number(n)) => b.int(n),
        ParameterSource::Same(OperationParameter::Constant(value)) => b.int(value.to_i64()),
        ParameterSource::Consecutive(first) => b.add_int(place, first),
        ParameterSource::Pooled(_, first) => {
            let start = Address::element(pools.buffer(Scalar::I32), place, Scalar::I32);
            let address = b.address_after(start, first);
            b.load_index(Scalar::I32, address)
        }
    }
}
