//! The fit of the GPU cost model's figures to one half of the points of the models that were not held out.
//!
//! The search begins with counts and with figures of data sheets ([`FittedFigures::start`]). It changes one
//! figure at a time, and compares predictions with the measured times of that half alone.
//! `cargo test -p sched-cost --release fit -- --ignored --nocapture` prints the figures that it finds, and
//! the regrets of all parts of the data.

use super::h100::{Part, Point, TimedModel, gpu, quantiles};
use sched_cost::FittedFigures;

/// Largest logarithm of a predicted over a measured time that counts.
const MOST_ERROR: f64 = 0.7;
/// Spread of the logarithms of predicted times. If two differ by less, either schedule may be preferred.
const SPREAD: f64 = 0.04;
/// Weight of the preferred schedule's expected loss, if the errors of times have the weight 1.
const LOSS_WEIGHT: f64 = 0.3;
/// Weight of the squared logarithms of fitted over starting figures. It decides figures that times do not.
const START_WEIGHT: f64 = 1e-4;
/// First step of a figure's logarithm.
const FIRST_STEP: f64 = 0.3;
/// Smallest step of a figure's logarithm.
const LEAST_STEP: f64 = 0.003;
/// Most rounds over all figures in a stage of the fit.
const MOST_ROUNDS: usize = 80;
/// Most repetitions of a round's step.
const MOST_REPETITIONS: usize = 6;
/// Least gain of a round that justifies another one if all steps are small.
const LEAST_GAIN: f64 = 1e-5;
/// Figures that are shares: at most 1.
const SHARES: [&str; 5] = ["leaf_share", "kept_share", "drift", "next_walk_share", "interleaving_overlap"];

/// The weighted squared logarithms of predicted over measured times at a point. Schedules near the fastest
/// one have the largest weights.
fn time_error(point: &Point) -> f64 {
    let fastest = point.fastest(false);
    let (mut all, mut weights) = (0.0, 0.0);
    for call in &point.calls {
        let weight = (fastest / call.us).powi(2);
        all += weight * (call.predicted / call.us).ln().abs().min(MOST_ERROR).powi(2);
        weights += weight;
    }
    all / weights
}

/// The expected logarithm of the regret at a point if predictions have errors of [`SPREAD`].
fn expected_loss(point: &Point, exact_only: bool) -> f64 {
    let fastest = point.fastest(exact_only);
    let least = point.calls(exact_only).map(|call| call.predicted).fold(f64::INFINITY, f64::min);
    let (mut all, mut weights) = (0.0, 0.0);
    for call in point.calls(exact_only) {
        let weight = (call.predicted / least).powf(-1.0 / SPREAD);
        all += weight * (call.us / fastest).ln();
        weights += weight;
    }
    if weights > 0.0 { all / weights } else { 0.0 }
}

/// The points of some parts, as figures predict them.
fn points(models: &[TimedModel], figures: &FittedFigures, parts: &[Part]) -> Vec<Point> {
    let mut gpu = gpu();
    gpu.fitted = *figures;
    models.iter().flat_map(|model| model.points(&gpu, parts)).collect()
}

/// The sum that the fit minimizes.
fn objective(models: &[TimedModel], figures: &FittedFigures, loss_weight: f64) -> f64 {
    let points = points(models, figures, &[Part::Fitted]);
    let of_point = |point: &Point| {
        time_error(point) + loss_weight * (expected_loss(point, false) + expected_loss(point, true))
    };
    let times = points.iter().map(of_point).sum::<f64>() / points.len() as f64;
    let (mut now, mut start) = (*figures, FittedFigures::start());
    let pairs = now.values().into_iter().zip(start.values());
    let moved: f64 = pairs.map(|((_, now), (_, start))| (*now / *start).ln().powi(2)).sum();
    times + START_WEIGHT * moved
}

/// Multiplies figures by factors, within their limits.
fn scaled(figures: &FittedFigures, factors: &[f64]) -> FittedFigures {
    let mut scaled = *figures;
    for ((name, value), factor) in scaled.values().into_iter().zip(factors) {
        *value *= factor;
        if SHARES.contains(&name.as_str()) {
            *value = value.min(1.0);
        }
        if name == "overlap_exponent" {
            *value = value.max(1.0);
        }
    }
    scaled
}

/// A search for better figures: one after the other, then all together in the direction of the last round.
struct Search<'a> {
    models: &'a [TimedModel],
    loss_weight: f64,
    figures: FittedFigures,
    least: f64,
    /// Steps of the figures' logarithms.
    steps: Vec<f64>,
}

impl<'a> Search<'a> {
    fn new(models: &'a [TimedModel], loss_weight: f64, mut figures: FittedFigures) -> Search<'a> {
        let steps = vec![FIRST_STEP; figures.values().len()];
        let least = objective(models, &figures, loss_weight);
        Search { models, loss_weight, figures, least, steps }
    }

    /// Takes figures if they are better.
    fn take(&mut self, figures: FittedFigures) -> bool {
        let found = objective(self.models, &figures, self.loss_weight);
        let is_better = found < self.least;
        if is_better {
            (self.least, self.figures) = (found, figures);
        }
        is_better
    }

    /// Tries a larger and a smaller value of a figure.
    fn vary(&mut self, at: usize) {
        for sign in [1.0, -1.0] {
            let mut factors = vec![1.0; self.steps.len()];
            factors[at] = (sign * self.steps[at]).exp();
            if self.take(scaled(&self.figures, &factors)) {
                self.steps[at] *= sign * 1.3;
                return;
            }
        }
        self.steps[at] /= 2.0;
        if self.steps[at].abs() < LEAST_STEP {
            self.steps[at] = LEAST_STEP;
        }
    }

    /// Varies each figure, and repeats the whole step while that is better. Returns the gain.
    fn round(&mut self) -> f64 {
        let (before, mut previous) = (self.least, self.figures);
        (0..self.steps.len()).for_each(|at| self.vary(at));
        for _ in 0..MOST_REPETITIONS {
            let mut now = self.figures;
            let pairs = now.values().into_iter().zip(previous.values());
            let factors: Vec<f64> = pairs.map(|((_, now), (_, before))| *now / *before).collect();
            previous = self.figures;
            if !self.take(scaled(&self.figures, &factors)) {
                break;
            }
        }
        before - self.least
    }

    fn run(mut self) -> FittedFigures {
        for _ in 0..MOST_ROUNDS {
            let gain = self.round();
            let largest = self.steps.iter().map(|step| step.abs()).fold(0.0, f64::max);
            if gain < LEAST_GAIN && largest < 0.02 {
                break;
            }
        }
        self.figures
    }
}

/// Prints the regrets of figures.
fn report(models: &[TimedModel], figures: &FittedFigures) {
    for exact_only in [false, true] {
        for part in Part::ALL {
            let points = points(models, figures, &[part]);
            let regrets = points.iter().filter_map(|point| point.regret(exact_only)).collect();
            let [median, most, worst] = quantiles(regrets);
            println!("{part:?}, in order {exact_only}: {median:.3} {most:.3} {worst:.3}");
        }
    }
}

/// First fits times alone, so that the search begins with the choices near the right ones.
#[test]
#[ignore = "takes minutes"]
fn figures_are_those_of_a_fit_to_one_half_of_the_points() {
    let models = TimedModel::all();
    let of_times = Search::new(&models, 0.0, FittedFigures::start()).run();
    let mut found = Search::new(&models, LOSS_WEIGHT, of_times).run();
    for (title, figures) in [("start", FittedFigures::start()), ("now", FittedFigures::fit()), ("fit", found)]
    {
        println!("{title}: {:.5}", objective(&models, &figures, LOSS_WEIGHT));
        report(&models, &figures);
    }
    for ((name, value), (_, now)) in found.values().into_iter().zip(FittedFigures::fit().values()) {
        println!("{name}: {value:.4}, now {now}");
    }
    let objective = |figures| objective(&models, figures, LOSS_WEIGHT);
    assert!(objective(&FittedFigures::fit()) <= 1.02 * objective(&found));
}
