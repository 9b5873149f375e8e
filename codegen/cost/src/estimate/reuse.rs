//! Loads whose results later loads from the same address reuse.

use sched_ir::lir::{Address, Function, Gather, Keep, Op, Stmt, Value};
use std::collections::HashMap;

/// An address in memory; loads from it may reuse each other's results.
#[derive(PartialEq, Eq, Hash)]
enum LoadSource {
    Load(Address, Keep),
    Gather(Gather),
}

/// The addresses of a function's loads, numbered.
pub struct LoadAddresses {
    /// By value: the number of the address that it is loaded from. `None` if the value is not loaded, or the
    /// load cannot reuse another.
    numbers: Vec<Option<u32>>,
    count: usize,
}

impl LoadAddresses {
    /// The addresses of a function's loads.
    pub fn new(function: &Function) -> LoadAddresses {
        let mut addresses: HashMap<LoadSource, u32> = HashMap::new();
        let mut numbers = vec![None; function.types.len()];
        Stmt::visit_all(&function.body, |stmt| {
            let Stmt::Let(value, op) = stmt else { return };
            let place = match op {
                Op::Gather(gather) => LoadSource::Gather(*gather),
                Op::Load(at, keep @ (Keep::Invariant | Keep::UntilReload)) => LoadSource::Load(*at, *keep),
                _ => return,
            };
            let next = addresses.len() as u32;
            if let Some(number) = numbers.get_mut(value.0 as usize) {
                *number = Some(*addresses.entry(place).or_insert(next));
            }
        });
        LoadAddresses { numbers, count: addresses.len() }
    }
}

/// The loads of the current iterations, by address.
pub struct LoadedValues<'a> {
    addresses: &'a LoadAddresses,
    /// By number of the address: the value that was loaded from it.
    values: Vec<Option<Value>>,
    /// The numbers of the addresses that were loaded from, in order.
    order: Vec<u32>,
}

impl<'a> LoadedValues<'a> {
    /// A record without loads.
    pub fn new(addresses: &'a LoadAddresses) -> LoadedValues<'a> {
        LoadedValues { addresses, values: vec![None; addresses.count], order: Vec::new() }
    }

    /// The value of an earlier load from the same address. If there is none, later loads reuse `value`.
    pub fn reuse_or_record(&mut self, value: Value) -> Option<Value> {
        let place = self.addresses.numbers.get(value.0 as usize).copied().flatten()?;
        let loaded = self.values.get_mut(place as usize)?;
        if loaded.is_none() {
            *loaded = Some(value);
            self.order.push(place);
            return None;
        }
        *loaded
    }

    /// Number of loads that can be reused.
    pub fn count(&self) -> usize {
        self.order.len()
    }

    /// Forgets all loads except the first `count`.
    pub fn forget(&mut self, count: usize) {
        for place in self.order.drain(count.min(self.order.len())..) {
            if let Some(loaded) = self.values.get_mut(place as usize) {
                *loaded = None;
            }
        }
    }
}
