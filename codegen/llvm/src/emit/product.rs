//! Products of matrices by the warps of a block, tile by tile.

use super::function::Emitter;
use crate::error::LlvmError;
use inkwell::IntPredicate;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicValueEnum, FloatValue, IntValue, PointerValue};
use sched_ir::lir::{BlockProduct, ProductElements, TILE, TILE_TERMS, WARP};

/// Numbers of the running thread in a tile, all indices.
struct TileThread<'ctx> {
    /// Number of its unit, and of the row whose operand it loads.
    beside: IntValue<'ctx>,
    /// Number of the term of a step whose operand and constant it loads.
    term: IntValue<'ctx>,
    /// First row whose sum it holds.
    row: IntValue<'ctx>,
}

/// A tile: the numbers of its panel and of its first row, and the number of rows of the product.
#[derive(Clone, Copy)]
struct ProductTile<'ctx> {
    panel: IntValue<'ctx>,
    first_row: IntValue<'ctx>,
    rows: IntValue<'ctx>,
}

type TileSums<'ctx> = [FloatValue<'ctx>; 2];

impl<'ctx> Emitter<'_, 'ctx> {
    /// Emits a product: each warp computes every tile whose number is its own plus a multiple of the number
    /// of warps.
    pub(super) fn product(&mut self, product: &BlockProduct) -> Result<(), LlvmError> {
        if product.warps() == 0 {
            return Err(LlvmError::ill_formed("a product of matrices in a block without a whole warp"));
        }
        let (thread, rows) = (self.operands.index(product.thread)?, self.operands.index(product.rows)?);
        let b = &self.ir().builder;
        let number = |n: i64| thread.get_type().const_int(n as u64, true);
        let warp = b.build_int_unsigned_div(thread, number(WARP), "warp")?;
        let lane = b.build_int_unsigned_rem(thread, number(WARP), "lane")?;
        let term = b.build_int_unsigned_rem(lane, number(TILE_TERMS), "")?;
        let place = TileThread {
            beside: b.build_int_unsigned_div(lane, number(TILE_TERMS), "")?,
            term,
            row: b.build_int_mul(term, number(2), "")?,
        };
        let more = b.build_int_add(rows, number(TILE - 1), "")?;
        let row_tiles = b.build_int_unsigned_div(more, number(TILE), "row_tiles")?;
        let tiles = b.build_int_mul(row_tiles, number(product.panels), "tiles")?;
        // The threads beyond the last whole warp have no tile.
        let has_tiles = b.build_int_compare(IntPredicate::ULT, warp, number(product.warps()), "")?;
        let end = b.build_select(has_tiles, tiles, number(0), "")?.into_int_value();
        self.counted((warp, end, product.warps()), Vec::new(), |emitter, tile, _| {
            let b = &emitter.ir().builder;
            let panel = b.build_int_unsigned_div(tile, row_tiles, "panel")?;
            let row = b.build_int_unsigned_rem(tile, row_tiles, "")?;
            let first_row = b.build_int_mul(row, number(TILE), "first_row")?;
            emitter.tile(product, &place, ProductTile { panel, first_row, rows })?;
            Ok(Vec::new())
        })?;
        Ok(())
    }

    /// Computes and stores the sums of a tile.
    fn tile(
        &mut self,
        product: &BlockProduct,
        thread: &TileThread<'ctx>,
        tile: ProductTile<'ctx>,
    ) -> Result<(), LlvmError> {
        let b = &self.ir().builder;
        let number = |n: i64| thread.row.get_type().const_int(n as u64, true);
        let before = b.build_int_mul(tile.panel, number(TILE), "")?;
        let unit = b.build_int_add(before, thread.beside, "unit")?;
        let start = match product.starts {
            Some(starts) => self.double(starts, unit)?,
            None => self.ir().context.f64_type().const_zero(),
        };
        let by_tensor_cores = self.device()?.has_tensor_cores();
        let sums = match by_tensor_cores {
            true => self.tensor_sums(product, thread, tile, [start; 2])?,
            false => self.own_sums(product, thread, tile, [start; 2])?,
        };
        let b = &self.ir().builder;
        let distance = self.operands.index(product.distance)?;
        let before = b.build_int_mul(unit, distance, "")?;
        let row = b.build_int_add(tile.first_row, thread.row, "")?;
        for (sum, next) in sums.into_iter().zip(0..) {
            let row = self.ir().builder.build_int_add(row, number(next), "")?;
            let exists = self.ir().builder.build_int_compare(IntPredicate::SLT, row, tile.rows, "")?;
            let (store, after) = (self.new_block("store"), self.new_block("stored"));
            self.ir().builder.build_conditional_branch(exists, store, after)?;
            self.ir().builder.position_at_end(store);
            let at = self.ir().builder.build_int_add(before, row, "")?;
            let at = self.element(product.sums, at, self.ir().context.f64_type().into())?;
            self.ir().builder.build_store(at, sum)?;
            self.ir().builder.build_unconditional_branch(after)?;
            self.ir().builder.position_at_end(after);
        }
        Ok(())
    }

    /// The sums of a tile, by its device's tensor cores. Each thread loads one constant and one operand in a
    /// step; zeros stand for the terms and rows that do not exist.
    fn tensor_sums(
        &mut self,
        product: &BlockProduct,
        thread: &TileThread<'ctx>,
        tile: ProductTile<'ctx>,
        starts: TileSums<'ctx>,
    ) -> Result<TileSums<'ctx>, LlvmError> {
        let b = &self.ir().builder;
        let number = |n: i64| thread.row.get_type().const_int(n as u64, true);
        let row = b.build_int_add(tile.first_row, thread.beside, "")?;
        let (row, has_row) = self.at_most(row, tile.rows)?;
        // Some threads stored a sum of the tile before, and others did not.
        self.device()?.join_warp(self.ir())?;
        self.add_terms((product, TILE_TERMS), starts, |emitter, step, sums| {
            let b = &emitter.ir().builder;
            let term = b.build_int_add(step, thread.term, "")?;
            let (term, has_term) = emitter.at_most(term, number(product.terms))?;
            let b = &emitter.ir().builder;
            let exists = b.build_and(has_term, has_row, "")?;
            let constant = emitter.constant(product, tile.panel, term, thread.beside)?;
            let operand = emitter.operand(product, term, row)?;
            let b = &emitter.ir().builder;
            let zero = constant.get_type().const_zero();
            let constant = b.build_select(has_term, constant, zero, "")?.into_float_value();
            let operand = b.build_select(exists, operand, zero, "")?.into_float_value();
            emitter.device()?.multiply_tiles(emitter.ir(), constant, operand, sums)
        })
    }

    /// The sums of a tile, each by the thread that holds it.
    fn own_sums(
        &mut self,
        product: &BlockProduct,
        thread: &TileThread<'ctx>,
        tile: ProductTile<'ctx>,
        starts: TileSums<'ctx>,
    ) -> Result<TileSums<'ctx>, LlvmError> {
        let b = &self.ir().builder;
        let first = b.build_int_add(tile.first_row, thread.row, "")?;
        let second = b.build_int_add(first, first.get_type().const_int(1, false), "")?;
        // Sums of rows that do not exist are not stored.
        let rows = [self.at_most(first, tile.rows)?.0, self.at_most(second, tile.rows)?.0];
        self.add_terms((product, 1), starts, |emitter, term, sums| {
            let constant = emitter.constant(product, tile.panel, term, thread.beside)?;
            let mut added = sums;
            for (sum, row) in added.iter_mut().zip(rows) {
                let operand = emitter.operand(product, term, row)?;
                let b = &emitter.ir().builder;
                *sum = b.build_float_add(*sum, b.build_float_mul(constant, operand, "")?, "")?;
            }
            Ok(added)
        })
    }

    /// Adds terms to two sums, `step` terms at a time.
    fn add_terms(
        &mut self,
        (product, step): (&BlockProduct, i64),
        starts: TileSums<'ctx>,
        add: impl FnOnce(&mut Self, IntValue<'ctx>, TileSums<'ctx>) -> Result<TileSums<'ctx>, LlvmError>,
    ) -> Result<TileSums<'ctx>, LlvmError> {
        let index = self.operands.index(product.thread)?.get_type();
        let (zero, end) = (index.const_zero(), index.const_int(product.terms as u64, false));
        let starts = starts.map(BasicValueEnum::from).to_vec();
        let sums = self.counted((zero, end, step), starts, |emitter, number, sums| {
            let sums = pair(sums)?;
            Ok(add(emitter, number, sums)?.map(BasicValueEnum::from).to_vec())
        })?;
        pair(&sums)
    }

    /// An index, or the last one below `end` if it is not below; and whether it is.
    fn at_most(
        &self,
        index: IntValue<'ctx>,
        end: IntValue<'ctx>,
    ) -> Result<(IntValue<'ctx>, IntValue<'ctx>), LlvmError> {
        let b = &self.ir().builder;
        let last = b.build_int_sub(end, end.get_type().const_int(1, false), "")?;
        let is_below = b.build_int_compare(IntPredicate::SLT, index, end, "")?;
        Ok((b.build_select(is_below, index, last, "")?.into_int_value(), is_below))
    }

    /// The constant of a term for the unit number `beside` of a panel.
    fn constant(
        &self,
        product: &BlockProduct,
        panel: IntValue<'ctx>,
        term: IntValue<'ctx>,
        beside: IntValue<'ctx>,
    ) -> Result<FloatValue<'ctx>, LlvmError> {
        let b = &self.ir().builder;
        let number = |n: i64| panel.get_type().const_int(n as u64, true);
        let before = b.build_int_mul(panel, number(product.terms), "")?;
        let at = b.build_int_add(before, term, "")?;
        let at = b.build_int_mul(at, number(TILE), "")?;
        let at = b.build_int_add(at, beside, "")?;
        self.double(product.constants, at)
    }

    /// The operand of a term for a row.
    fn operand(
        &self,
        product: &BlockProduct,
        term: IntValue<'ctx>,
        row: IntValue<'ctx>,
    ) -> Result<FloatValue<'ctx>, LlvmError> {
        let place = match product.places {
            Some(places) => {
                let word = self.ir().context.i32_type();
                let at = self.element(places, term, word.into())?;
                let place = self.ir().builder.build_load(word, at, "")?.into_int_value();
                self.ir().builder.build_int_s_extend_or_bit_cast(place, term.get_type(), "")?
            }
            None => term,
        };
        let b = &self.ir().builder;
        let before = b.build_int_mul(place, self.operands.index(product.distance)?, "")?;
        let at = b.build_int_add(before, row, "")?;
        self.double(product.operands, at)
    }

    /// Loads a double.
    fn double(&self, of: ProductElements, number: IntValue<'ctx>) -> Result<FloatValue<'ctx>, LlvmError> {
        let double = self.ir().context.f64_type();
        let at = self.element(of, number, double.into())?;
        Ok(self.ir().builder.build_load(double, at, "")?.into_float_value())
    }

    /// The address of an element.
    fn element(
        &self,
        of: ProductElements,
        number: IntValue<'ctx>,
        ty: BasicTypeEnum<'ctx>,
    ) -> Result<PointerValue<'ctx>, LlvmError> {
        let (base, first) = (self.operands.frame.buffer(of.buffer)?, self.operands.index(of.first)?);
        let at = self.ir().builder.build_int_add(first, number, "")?;
        // SAFETY: the elements of a product are inside their buffers.
        Ok(unsafe { self.ir().builder.build_gep(ty, base, &[at], "")? })
    }

    /// A loop over indices, with carried values. Returns their values after the loop.
    fn counted(
        &mut self,
        (start, end, step): (IntValue<'ctx>, IntValue<'ctx>, i64),
        firsts: Vec<BasicValueEnum<'ctx>>,
        body: impl FnOnce(
            &mut Self,
            IntValue<'ctx>,
            &[BasicValueEnum<'ctx>],
        ) -> Result<Vec<BasicValueEnum<'ctx>>, LlvmError>,
    ) -> Result<Vec<BasicValueEnum<'ctx>>, LlvmError> {
        let before = self.ir().current_block()?;
        let [test, inside, after] = ["product", "product.do", "product.end"].map(|name| self.new_block(name));
        self.ir().builder.build_unconditional_branch(test)?;
        self.ir().builder.position_at_end(test);
        let counter = self.ir().builder.build_phi(start.get_type(), "")?;
        counter.add_incoming(&[(&start, before)]);
        let mut phis = Vec::with_capacity(firsts.len());
        for first in &firsts {
            let phi = self.ir().builder.build_phi(first.get_type(), "")?;
            phi.add_incoming(&[(first, before)]);
            phis.push(phi);
        }
        let values: Vec<BasicValueEnum> = phis.iter().map(|phi| phi.as_basic_value()).collect();
        let index = counter.as_basic_value().into_int_value();
        let goes_on = self.ir().builder.build_int_compare(IntPredicate::SLT, index, end, "")?;
        self.ir().builder.build_conditional_branch(goes_on, inside, after)?;

        self.ir().builder.position_at_end(inside);
        let next = body(self, index, &values)?;
        let latch = self.ir().current_block()?;
        let step = index.get_type().const_int(step as u64, false);
        let later = self.ir().builder.build_int_add(index, step, "")?;
        self.ir().builder.build_unconditional_branch(test)?;
        counter.add_incoming(&[(&later, latch)]);
        for (phi, next) in phis.iter().zip(&next) {
            phi.add_incoming(&[(next, latch)]);
        }
        self.ir().builder.position_at_end(after);
        Ok(values)
    }
}

/// Two floats.
fn pair<'ctx>(values: &[BasicValueEnum<'ctx>]) -> Result<TileSums<'ctx>, LlvmError> {
    match values {
        [BasicValueEnum::FloatValue(first), BasicValueEnum::FloatValue(second)] => Ok([*first, *second]),
        _ => Err(LlvmError::ill_formed("a product of matrices carries no two floats")),
    }
}
