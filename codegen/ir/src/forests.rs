//! Forests as kernels walk them, prepared once for a model and shared by all its compilations.
//!
//! A kernel forest tests columns that are computed from a row, by thresholds or by classes of categories. Its
//! thresholds are no wider than the values of rows. Choosing a schedule compiles a model many times.
//! Preparing its forest and finding its bins takes longer than the rest of a compilation, so
//! [`KernelForests`] does each at most once.

use crate::codes;
use crate::columns::outputs::OutputRuns;
use crate::columns::runs::ColumnRuns;
use crate::error::CompileError;
use crate::fault::{Fault, seeded};
use crate::lir::EncodedTables;
use crate::quantize::{BinMap, QuantizedRows};
use sched_forest::{Float, Forest, Predicate, Tree};
use sched_nest::{StageInfo, StageKind};
use sched_pipeline::{PreparedForest, SetTests, TablesTooLarge, scores_as_columns};
use std::sync::{Arc, OnceLock};

/// A model's forest, and the forests that kernels walk in its place, made at the first use. Clones share
/// them.
#[derive(Clone, Debug)]
pub struct KernelForests(Arc<SharedForests>);

/// Forests that clones share.
#[derive(Debug)]
struct SharedForests {
    source: Arc<Forest>,
    of_columns: OnceLock<KernelForest>,
    /// `None` if no feature has classes: the forest would equal that in `of_columns`.
    of_classes: OnceLock<Option<KernelForest>>,
    /// `None` if the model is not linear.
    with_scores: OnceLock<Option<KernelForest>>,
}

impl From<Arc<Forest>> for KernelForests {
    fn from(source: Arc<Forest>) -> KernelForests {
        KernelForests(Arc::new(SharedForests {
            source,
            of_columns: OnceLock::new(),
            of_classes: OnceLock::new(),
            with_scores: OnceLock::new(),
        }))
    }
}

impl From<Forest> for KernelForests {
    fn from(source: Forest) -> KernelForests {
        Arc::new(source).into()
    }
}

impl KernelForests {
    /// The model's forest as it was read.
    pub fn source(&self) -> &Arc<Forest> {
        &self.0.source
    }

    /// The kernel forest that tests sets of categories by columns or by classes.
    pub fn with_set_tests(&self, set_tests: SetTests) -> &KernelForest {
        let source = &self.0.source;
        let of_classes = match set_tests {
            SetTests::OfColumns => None,
            SetTests::OfClasses => self
                .0
                .of_classes
                .get_or_init(|| {
                    let forest = KernelForest::new(source, set_tests);
                    forest.has_classes().then_some(forest)
                })
                .as_ref(),
        };
        of_classes.unwrap_or_else(|| {
            self.0.of_columns.get_or_init(|| KernelForest::new(source, SetTests::OfColumns))
        })
    }

    /// The kernel forest that tests sets of categories as `set_tests` says, or by columns if bins cannot hold
    /// the classes.
    pub fn with_feasible_set_tests(&self, set_tests: SetTests) -> &KernelForest {
        let forest = self.with_set_tests(set_tests);
        let fits = || forest.bins().is_ok_and(|bins| bins.holds_sets());
        if forest.has_classes() && !fits() { self.with_set_tests(SetTests::OfColumns) } else { forest }
    }
}

impl KernelForests {
    /// The kernel forest of a linear model whose scores are computed columns, so that schedules can arrange
    /// the loops over their terms. `None` for other models.
    pub fn with_score_columns(&self) -> Option<&KernelForest> {
        let make = || {
            let forest = scores_as_columns(&self.0.source)?.ok()?;
            let forest = KernelForest::new(&Arc::new(forest), SetTests::OfColumns);
            Some(KernelForest { has_score_columns: true, ..forest })
        };
        self.0.with_scores.get_or_init(make).as_ref()
    }

    /// The stages of the model whose results are columns, in order and without names. The scores of a linear
    /// model are the last one, since schedules can make them columns.
    pub fn column_stages(&self) -> Vec<StageInfo> {
        let of = |forest: &KernelForest| {
            forest.columns().ok().flatten().map_or_else(Vec::new, |columns| columns.stages())
        };
        let mut stages = of(self.with_set_tests(SetTests::OfColumns));
        let scores = self.with_score_columns().and_then(|forest| of(forest).pop());
        stages.extend(scores.filter(|stage| stage.kind == StageKind::Scores));
        stages
    }
}

/// A forest that kernels can walk. Columns and bins are made at the first use.
#[derive(Debug)]
pub struct KernelForest {
    source: Arc<Forest>,
    prepared: Result<Option<PreparedForest>, CompileError>,
    forest: Arc<Forest>,
    depths: OnceLock<Vec<(u32, u32)>>,
    encodings: Arc<EncodedTables>,
    columns: OnceLock<Option<Arc<ColumnRuns>>>,
    bins: OnceLock<Result<Arc<BinMap>, CompileError>>,
    outputs: OnceLock<OutputRuns>,
    /// Whether the last sums among the columns are the scores of a linear model.
    has_score_columns: bool,
}

impl KernelForest {
    fn new(source: &Arc<Forest>, set_tests: SetTests) -> KernelForest {
        let prepared = PreparedForest::of(source, set_tests).map_err(tables_too_large);
        let forest = match &prepared {
            Ok(Some(prepared)) => round_thresholds(Arc::clone(&prepared.forest)),
            Ok(None) | Err(_) => round_thresholds(Arc::clone(source)),
        };
        KernelForest {
            source: Arc::clone(source),
            prepared,
            forest,
            depths: OnceLock::new(),
            encodings: Arc::default(),
            columns: OnceLock::new(),
            bins: OnceLock::new(),
            outputs: OnceLock::new(),
            has_score_columns: false,
        }
    }

    /// The forest that is walked.
    pub fn forest(&self) -> &Arc<Forest> {
        &self.forest
    }

    /// Depths of the deepest and the shallowest leaf of each tree, in edges.
    pub fn depths(&self) -> &[(u32, u32)] {
        self.depths.get_or_init(|| self.forest.trees.iter().map(Tree::depths).collect())
    }

    /// The encoded tables of the forest, whose trees must not be sorted or padded.
    pub fn encodings(&self) -> &Arc<EncodedTables> {
        &self.encodings
    }

    /// The columns that trees test in place of features. `None` if all tests of the model are numeric, or if
    /// the tables of the columns would exceed their budget.
    pub fn prepared(&self) -> Option<&PreparedForest> {
        self.prepared.as_ref().ok().and_then(Option::as_ref)
    }

    /// Whether sets of some feature are tested by class.
    fn has_classes(&self) -> bool {
        self.prepared().is_some_and(|prepared| prepared.class_features > 0)
    }

    /// The columns, divided into runs for the code that computes them. `None` if trees test features alone.
    ///
    /// # Errors
    ///
    /// When the tables would exceed their budget.
    pub fn columns(&self) -> Result<Option<&Arc<ColumnRuns>>, CompileError> {
        let prepared = self.prepared.as_ref().map_err(Clone::clone)?;
        let features = self.source.num_features;
        let new = |prepared| {
            let runs = ColumnRuns::new(prepared, features);
            Arc::new(if self.has_score_columns { runs.with_scores() } else { runs })
        };
        let runs = || prepared.as_ref().map(new);
        Ok(self.columns.get_or_init(runs).as_ref())
    }

    /// The bins of rows and thresholds. They do not depend on the order of trees.
    ///
    /// # Errors
    ///
    /// When quantized rows would have more than 65535 columns.
    pub fn bins(&self) -> Result<&Arc<BinMap>, CompileError> {
        let bins = self.bins.get_or_init(|| BinMap::of(&self.forest).map(Arc::new));
        bins.as_ref().map_err(Clone::clone)
    }

    /// The expressions of the outputs.
    pub fn outputs(&self) -> &OutputRuns {
        self.outputs.get_or_init(|| OutputRuns::of(&self.forest))
    }

    /// Number and width of the bins of quantized rows. `None` if rows cannot be quantized.
    pub fn quantized_rows(&self) -> Option<QuantizedRows> {
        self.bins().ok().map(|bins| bins.quantized_rows())
    }
}

/// The forest with thresholds rounded to the type of its rows if they are wider.
fn round_thresholds(forest: Arc<Forest>) -> Arc<Forest> {
    if !forest.has_wide_thresholds() {
        return forest;
    }
    let wide = Arc::unwrap_or_clone(forest);
    Arc::new(match seeded(Fault::ThresholdsToNearest) {
        true => with_nearest_thresholds(wide),
        false => wide.with_narrow_thresholds(),
    })
}

/// The forest with thresholds rounded to the nearest single-precision number, for the fault
/// [`Fault::ThresholdsToNearest`].
fn with_nearest_thresholds(mut forest: Forest) -> Forest {
    for inner in forest.trees.iter_mut().flat_map(|tree| &mut tree.inner) {
        if let Predicate::Numeric { threshold } = &mut inner.predicate {
            *threshold = f64::from(*threshold as f32);
        }
    }
    forest.types.threshold = Float::F32;
    forest
}

fn tables_too_large(why: TablesTooLarge) -> CompileError {
    CompileError::new(
        codes::CATEGORY_BUDGET,
        why.to_string(),
        "number the categories from 0 without gaps, or train with fewer of them",
    )
}
