//! Chooses weights: coordinate ascent on the mean recall of the tasks given.
//!
//! Meant for repositories other than the published benchmark's; the result is verified there, on tasks not tuned on.
#![allow(clippy::print_stdout)]

use anyhow::Result;
use context_packer::core::rank::Weights;

use crate::cases::Case;
use crate::measure::{CUTS, Column, Place, mean, recall};
use crate::systems::{self, System};

/// What a weight is multiplied by to look around.
const STEPS: [f64; 4] = [0.5, 0.8, 1.25, 2.0];

/// A change must gain this much of the mean recall: less is noise on a thousand tasks.
const MIN_GAIN: f64 = 0.0002;

/// Passes over all weights.
const PASSES: usize = 2;

/// Prints each improvement and the weights at the end.
pub fn tune(groups: &[(&str, Vec<Case>)]) -> Result<()> {
    let mut weights = Weights::default();
    let mut best = objective(groups, &weights);
    println!("start {best:.4}");
    for _ in 0..PASSES {
        for name in systems::WEIGHTS {
            for step in STEPS {
                let mut changed = weights.clone();
                let Some(weight) = systems::weight(&mut changed, name) else { continue };
                *weight *= step;
                let value = *weight;
                let score = objective(groups, &changed);
                if score > best + MIN_GAIN {
                    println!("{score:.4} {name} = {value:.4}");
                    (best, weights) = (score, changed);
                }
            }
        }
    }
    println!("{weights:#?}");
    Ok(())
}

/// Mean over the groups of the mean recall at 5, 10 and 20, all files and non-test files alike.
fn objective(groups: &[(&str, Vec<Case>)], weights: &Weights) -> f64 {
    let of_group = |(_, cases): &(&str, Vec<Case>)| {
        let places = System::Ours(Box::new(weights.clone())).places(cases);
        mean(&places.iter().map(|places| of_case(places)).collect::<Vec<_>>())
    };
    mean(&groups.iter().map(of_group).collect::<Vec<_>>())
}

fn of_case(places: &[Place]) -> f64 {
    let all = CUTS.map(|cut| recall(places, cut, Column::All));
    let sources = CUTS.map(|cut| recall(places, cut, Column::Sources));
    mean(&all.into_iter().chain(sources).flatten().collect::<Vec<_>>())
}
