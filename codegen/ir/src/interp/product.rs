//! Products of matrices: each thread computes the sums that it holds on a GPU.

use super::{Interpreter, InterpreterError, ops};
use crate::lir::{
    Bin, BlockProduct, ProductElements, Scalar, Stmt, TILE, TILE_TERMS, Ty, WARP, product_tile,
};

const DOUBLE: Ty = Ty::of(Scalar::F64);

impl<'f> Interpreter<'f, '_> {
    /// Computes the running thread's sums of all tiles of its warp.
    pub(super) fn product(
        &mut self,
        stmt: &'f Stmt,
        product: &'f BlockProduct,
    ) -> Result<(), InterpreterError> {
        let (thread, rows) = (self.int(product.thread), self.int(product.rows));
        let (warp, lane) = (thread / WARP, thread % WARP);
        if warp >= product.warps() {
            return Ok(());
        }
        let row_tiles = (rows + TILE - 1) / TILE;
        for tile in (warp..product.panels * row_tiles).step_by(product.warps() as usize) {
            let (panel, first_row) = (tile / row_tiles, tile % row_tiles * TILE);
            self.spend(2 * product.terms.unsigned_abs())?;
            self.count_tile_loads(stmt, product, (panel, first_row), lane)?;
            let (unit, of_tile) = product_tile(lane);
            for (row, part) in of_tile.into_iter().zip(2..) {
                if first_row + row < rows {
                    self.sum(stmt, product, (panel, unit, first_row + row), part)?;
                }
            }
        }
        Ok(())
    }

    /// Computes and stores one sum, as access number `part` of the statement.
    fn sum(
        &mut self,
        stmt: &'f Stmt,
        product: &'f BlockProduct,
        (panel, unit, row): (i64, i64, i64),
        part: u16,
    ) -> Result<(), InterpreterError> {
        let mut sum = match product.starts {
            Some(starts) => self.element(stmt, starts, panel * TILE + unit, DOUBLE)?,
            None => 0.0_f64.to_bits(),
        };
        for term in 0..product.terms {
            let constant = (panel * product.terms + term) * TILE + unit;
            let constant = self.element(stmt, product.constants, constant, DOUBLE)?;
            let operand = self.operand(stmt, product, term)? + row;
            let operand = self.element(stmt, product.operands, operand, DOUBLE)?;
            let added = ops::bin(Bin::Mul, Scalar::F64, constant, operand);
            sum = ops::bin(Bin::Add, Scalar::F64, sum, added);
        }
        let number = (panel * TILE + unit) * self.int(product.distance) + row;
        let (buffer, start) = (product.sums.buffer, self.first_byte(product.sums, number, DOUBLE));
        self.count_access((stmt, part), buffer, start, DOUBLE.bytes());
        self.regions[buffer.0 as usize]
            .store(&self.tasks, start, DOUBLE, &[sum])
            .map_err(|trap| self.trap_error(stmt, buffer, trap))
    }

    /// Number of the first row's operand of a term.
    fn operand(
        &mut self,
        stmt: &'f Stmt,
        product: &'f BlockProduct,
        term: i64,
    ) -> Result<i64, InterpreterError> {
        let place = match product.places {
            Some(places) => {
                let place = self.element(stmt, places, term, Ty::of(Scalar::I32))?;
                i64::from(place as i32)
            }
            None => term,
        };
        Ok(place * self.int(product.distance))
    }

    fn first_byte(&self, of: ProductElements, number: i64, ty: Ty) -> i128 {
        i128::from(self.int(of.first) + number) * i128::from(ty.bytes())
    }

    /// Loads an element.
    fn element(
        &mut self,
        stmt: &'f Stmt,
        from: ProductElements,
        number: i64,
        ty: Ty,
    ) -> Result<u64, InterpreterError> {
        let (start, mut lane) = (self.first_byte(from, number, ty), [0]);
        self.regions[from.buffer.0 as usize]
            .load(&self.tasks, start, ty, &mut lane)
            .map_err(|trap| self.trap_error(stmt, from.buffer, trap))?;
        Ok(lane[0])
    }

    /// Counts the loads of a thread of a GPU: a constant and an operand of the tile in each step.
    fn count_tile_loads(
        &mut self,
        stmt: &'f Stmt,
        product: &'f BlockProduct,
        (panel, first_row): (i64, i64),
        lane: i64,
    ) -> Result<(), InterpreterError> {
        let beside = lane / TILE_TERMS;
        let row = (first_row + beside).min(self.int(product.rows) - 1);
        for step in (0..product.terms).step_by(TILE_TERMS as usize) {
            let term = (step + lane % TILE_TERMS).min(product.terms - 1);
            let constant = (panel * product.terms + term) * TILE + beside;
            let operand = self.operand(stmt, product, term)? + row;
            for (part, of, number) in [(0, product.constants, constant), (1, product.operands, operand)] {
                let start = self.first_byte(of, number, DOUBLE);
                self.count_access((stmt, part), of.buffer, start, DOUBLE.bytes());
            }
        }
        Ok(())
    }
}
