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
pub struct LoadPlaces {
    /// By value: the number of the address that it is loaded from. `None` if the value is not loaded, or the
    /// load cannot reuse another.
    numbers: Vec<Option<u32>>,
    count: usize,
}

impl LoadPlaces {
    /// The addresses of a function's loads.
    pub fn new(function: &Function) -> LoadPlaces {
        let mut places: HashMap<LoadSource, u32> = HashMap::new();
        let mut numbers = vec![None; function.types.len()];
        Stmt::visit_all(&function.body, |stmt| {
            let Stmt::Let(value, op) = stmt else { return };
            let place = match op {
                Op::Gather(gather) => LoadSource::Gather(*gather),
                Op::Load(at, keep @ (Keep::Invariant | Keep::UntilReload)) => LoadSource::Load(*at, *keep),
                _ => return,
            };
            let next = places.len() as u32;
            if let Some(number) = numbers.get_mut(value.0 as usize) {
                *number = Some(*places.entry(place).or_insert(next));
            }
        });
        LoadPlaces { numbers, count: places.len() }
    }
}

/// The loads of the current iterations, by address.
pub struct LoadedValues<'a> {
    places: &'a LoadPlaces,
    /// By number of the address: the value that was loaded from it.
    values: Vec<Option<Value>>,
    /// The numbers of the addresses that were loaded from, in order.
    order: Vec<u32>,
}

impl<'a> LoadedValues<'a> {
    /// A record without loads.
    pub fn new(places: &'a LoadPlaces) -> LoadedValues<'a> {
        LoadedValues { places, values: vec![None; places.count], order: Vec::new() }
    }

    /// The value of an earlier load from the same address. If there is none, later loads reuse `value`.
    pub fn earlier(&mut self, value: Value) -> Option<Value> {
        let place = self.places.numbers.get(value.0 as usize).copied().flatten()?;
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
