//! Chooses weights: coordinate ascent on the mean recall of the tasks given.
//!
//! Meant for repositories other than the published benchmark's; the result is verified there, on tasks not tuned on.
#![allow(clippy::print_stdout)]

use anyhow::Result;
use context_packer::core::search::rank::Weights;

use crate::cases::Case;
use crate::measure::{CUTS, Column, Place, mean, recall};
use crate::systems::{self, System};

/// What a weight is multiplied by to look around.
const STEPS: [f64; 4] = [0.5, 0.8, 1.25, 2.0];

/// A change must gain this much of the mean recall: less is noise on a thousand tasks.
const MIN_GAIN: f64 = 0.0005;

/// What no group of tasks may lose for it.
const MAX_LOSS: f64 = 0.001;

/// Passes over all weights.
const PASSES: usize = 2;

/// Prints each improvement and the weights at the end.
pub fn tune(groups: &[(&str, Vec<Case>)]) -> Result<()> {
    let mut weights = Weights::default();
    let mut best = objective(groups, &weights);
    println!("start {best:.4?}");
    for _ in 0..PASSES {
        for name in systems::WEIGHTS {
            for step in STEPS {
                let mut changed = weights.clone();
                let Some(weight) = systems::weight(&mut changed, name) else { continue };
                *weight *= step;
                let value = *weight;
                let means = objective(groups, &changed);
                if is_better(groups, &means, &best) {
                    println!("{means:.4?} {name} = {value:.4}");
                    (best, weights) = (means, changed);
                }
            }
        }
    }
    println!("{weights:#?}");
    Ok(())
}

/// Better over all tasks together, and on no group clearly worse.
fn is_better(groups: &[(&str, Vec<Case>)], means: &[f64], best: &[f64]) -> bool {
    let n: usize = groups.iter().map(|(_, cases)| cases.len()).sum();
    let share = |k: usize| groups[k].1.len() as f64 / n.max(1) as f64;
    let gains: Vec<f64> = means.iter().zip(best).map(|(mean, best)| mean - best).collect();
    let pooled: f64 = gains.iter().enumerate().map(|(k, gain)| gain * share(k)).sum();
    pooled > MIN_GAIN && gains.iter().all(|&gain| gain > -MAX_LOSS)
}

/// Per group, the mean recall at 5, 10 and 20, all files and non-test files alike.
fn objective(groups: &[(&str, Vec<Case>)], weights: &Weights) -> Vec<f64> {
    let of_group = |(_, cases): &(&str, Vec<Case>)| {
        let places = System::Ours(Box::new(weights.clone())).places(cases);
        mean(&places.iter().map(|places| of_case(places)).collect::<Vec<_>>())
    };
    groups.iter().map(of_group).collect()
}

fn of_case(places: &[Place]) -> f64 {
    let all = CUTS.map(|cut| recall(places, cut, Column::All));
    let sources = CUTS.map(|cut| recall(places, cut, Column::Sources));
    mean(&all.into_iter().chain(sources).flatten().collect::<Vec<_>>())
}
