//! Pipelines: inputs, the columns computed from them, and the stages that read these columns.

use sched_columns::{ColumnId, Columns, Expr, OperandTypeError};
use sched_forest::{
    ComputedColumns, Float, Forest, ForestParts, ModelError, Names, Real, WalkError, codes, predict,
    predict_leaves,
};
use std::collections::{BTreeMap, HashMap};

/// A model as columns and stages: the intermediate form between the graph of a file and a forest.
#[derive(Clone, Debug, PartialEq)]
pub struct Pipeline {
    /// The features of a row, in order.
    pub inputs: Vec<PipelineInput>,
    /// The columns that stages and other columns read.
    pub columns: Columns,
    /// The stages, in order.
    pub stages: Vec<PipelineStage>,
}

/// A feature of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct PipelineInput {
    /// Its name; empty if it has none.
    pub name: String,
    /// The type of its values in the file.
    pub kind: InputKind,
    /// The names of its categories, for texts and truth values. Rows hold their codes. Also says whether some
    /// step reads the feature.
    pub names: Names,
}

/// The type of a feature's values in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// Numbers of a floating-point type.
    Float(Float),
    /// Whole numbers.
    Integer,
    /// Truth values, 0 and 1.
    Truth,
    /// Texts. Rows hold the code of a text among the input's names, [`OTHER`] for another text, and NaN for a
    /// missing one.
    Text,
}

/// The number that rows hold for a text that is not among the names of its feature.
pub const OTHER: f64 = -1.0;

/// A part of a pipeline that reads columns.
#[derive(Clone, Debug, PartialEq)]
pub enum PipelineStage {
    /// Trees.
    Forest {
        /// The name of its step; empty if it has none.
        name: String,
        /// The trees.
        forest: Box<Forest>,
        /// For each feature of the trees, the column that holds its value, of a floating-point type.
        tested: Vec<ColumnId>,
    },
}

impl PipelineStage {
    /// The name.
    pub fn name(&self) -> &str {
        let PipelineStage::Forest { name, .. } = self;
        name
    }

    /// For each feature of the stage, its column. Columns may repeat.
    pub fn tested(&self) -> &[ColumnId] {
        let PipelineStage::Forest { tested, .. } = self;
        tested
    }

    /// The forest, for a stage of trees.
    pub fn forest(&self) -> Option<&Forest> {
        let PipelineStage::Forest { forest, .. } = self;
        Some(forest)
    }
}

impl Pipeline {
    /// The values of a stage's columns for rows, widened, row by row.
    ///
    /// # Panics
    /// If there is no such stage.
    pub fn tested_rows(&self, stage: usize, rows: &[f64]) -> Vec<f64> {
        let tested = self.stages[stage].tested();
        let of_row = |row| self.columns.evaluate(tested, row).into_iter().map(|value| value.to_f64());
        rows.chunks_exact(self.inputs.len().max(1)).flat_map(of_row).collect()
    }

    /// The predictions of the last stage for rows of [`Pipeline::inputs`], in plain loops. Defines the
    /// results of a pipeline.
    ///
    /// # Errors
    /// A [`WalkError`] if sizes do not fit.
    pub fn predict<Y: Real>(&self, rows: &[f64], out: &mut [Y]) -> Result<(), WalkError> {
        self.with_rows(rows, |forest, rows| predict(forest, rows, out))
    }

    /// The leaf indices of the last stage for rows of [`Pipeline::inputs`].
    ///
    /// # Errors
    /// A [`WalkError`] if sizes do not fit.
    pub fn predict_leaves(&self, rows: &[f64], out: &mut [u32]) -> Result<(), WalkError> {
        self.with_rows(rows, |forest, rows| predict_leaves(forest, rows, out))
    }

    fn with_rows(
        &self,
        rows: &[f64],
        predict: impl FnOnce(&Forest, &[f64]) -> Result<(), WalkError>,
    ) -> Result<(), WalkError> {
        let features = self.inputs.len();
        if features == 0 || !rows.len().is_multiple_of(features) {
            return Err(WalkError::Ragged { values: rows.len(), features });
        }
        match self.stages.last() {
            Some(PipelineStage::Forest { forest, .. }) => {
                predict(forest, &self.tested_rows(self.stages.len() - 1, rows))
            }
            None => Ok(()),
        }
    }

    /// The type of rows: double precision if a needed input holds doubles or whole numbers, else single
    /// precision.
    pub fn row_type(&self) -> Float {
        let tested: Vec<ColumnId> = self.stages.iter().flat_map(|stage| stage.tested()).copied().collect();
        let is_wide = |column: ColumnId| match self.columns.expr(column) {
            Expr::Input { feature, .. } => {
                let kind = self.inputs.get(*feature as usize).map(|input| input.kind);
                matches!(kind, Some(InputKind::Float(Float::F64) | InputKind::Integer))
            }
            _ => false,
        };
        match self.columns.needed_for(&tested).into_iter().any(is_wide) {
            true => Float::F64,
            false => Float::F32,
        }
    }

    /// The forest over the inputs, if the pipeline has a single stage whose features are the inputs, in
    /// order, and then computed columns.
    ///
    /// # Errors
    /// The pipeline itself if it has another form.
    pub fn into_forest(self) -> Result<Forest, Box<Pipeline>> {
        let count = self.inputs.len();
        let made = match self.stages.as_slice() {
            [PipelineStage::Forest { forest, tested, .. }] => {
                let first = tested.first().map(|column| self.columns.expr(*column));
                let rows = match first {
                    Some(Expr::Input { float, .. }) => *float,
                    _ => forest.types.input,
                };
                let input = |feature: u32| Expr::Input { feature, float: rows };
                let is_input = |(feature, column)| *self.columns.expr(column) == input(feature);
                let fits =
                    tested.len() >= count && (0..).zip(tested.iter().copied()).take(count).all(is_input);
                // If rows are doubles and the forest compares singles, columns that round them replace the
                // inputs.
                let first = if rows == forest.types.input { count } else { 0 };
                fits.then(|| with_computed(forest, &self.columns, count, &tested[first..]).ok()).flatten()
            }
            _ => None,
        };
        match made {
            Some(forest) => Ok(with_inputs(forest, &self.inputs)),
            None => Err(Box::new(self)),
        }
    }
}

/// The forest over `num_features` features, whose last features become computed columns. If there are columns
/// for all features, they replace them.
///
/// # Errors
/// If a column cannot be cast to the type of rows, or the forest is not valid.
fn with_computed(
    forest: &Forest,
    columns: &Columns,
    num_features: usize,
    computed: &[ColumnId],
) -> Result<Forest, ModelError> {
    let impossible = |error: OperandTypeError| ModelError::new(codes::ONNX_TYPE, error.to_string());
    let mut parts = forest.clone().into_parts();
    let first = (parts.num_features - computed.len()) as u32;
    let of_nodes = parts.trees.iter_mut().flat_map(|tree| &mut tree.inner).map(|inner| &mut inner.feature);
    let terms = parts.linear.iter_mut().flatten().flat_map(|leaf| &mut leaf.terms);
    let mut places: BTreeMap<u32, u32> = BTreeMap::new();
    let mut named: Vec<&mut u32> = of_nodes.chain(terms.map(|(feature, _)| feature)).collect();
    named.iter().filter(|feature| ***feature >= first).for_each(|feature| {
        places.insert(**feature, 0);
    });
    places.values_mut().zip(num_features as u32..).for_each(|(place, number)| *place = number);
    for feature in &mut named {
        if let Some(place) = places.get(*feature) {
            **feature = *place;
        }
    }
    let read: Vec<ColumnId> = places.keys().map(|feature| computed[(*feature - first) as usize]).collect();
    let (mut kept, numbers) = needed_columns(columns, &read);
    let rows = forest.types.input.into();
    let read = read.iter().map(|column| kept.cast(numbers[column], rows));
    let read = read.collect::<Result<Vec<_>, _>>().map_err(impossible)?;
    Forest::new(ForestParts {
        num_features,
        computed: ComputedColumns { columns: kept, read_by_trees: read },
        ..parts
    })
}

/// The columns on which some columns depend, and the new number of each of them.
pub(crate) fn needed_columns(
    columns: &Columns,
    wanted: &[ColumnId],
) -> (Columns, HashMap<ColumnId, ColumnId>) {
    let (mut kept, mut numbers) = (Columns::default(), HashMap::new());
    for old in columns.needed_for(wanted) {
        let expr = columns.expr(old).clone().with_operands(|operand| numbers[&operand]);
        let new = kept.insert(expr, columns.column_type(old));
        kept.copy_step(new, (columns, old));
        numbers.insert(old, new);
    }
    (kept, numbers)
}

/// The forest with the names of the inputs and of their categories.
fn with_inputs(mut forest: Forest, inputs: &[PipelineInput]) -> Forest {
    if inputs.iter().all(|input| !input.name.is_empty()) {
        forest.feature_names = inputs.iter().map(|input| input.name.clone()).collect();
    }
    if !inputs.iter().all(|input| input.names.are_codes()) {
        forest.categories = inputs.iter().map(|input| input.names.clone()).collect();
    }
    forest
}
