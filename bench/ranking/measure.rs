//! How good an order is: places of the right files, recall, paired bootstrap intervals.

use crate::mine::is_test;

/// The cuts at which recall is told.
pub const CUTS: [usize; 3] = [5, 10, 20];

/// Rounds of the bootstrap and its fixed seed, as in the published benchmark.
const ROUNDS: usize = 10_000;
const SEED: u64 = 20_260_923;

/// Where one right file stands, from 1; `None`: not ranked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub path: Vec<u8>,
    pub among_all: Option<usize>,
    /// Among the files that are no tests; meaningless for a test.
    pub among_sources: Option<usize>,
    pub is_test: bool,
}

/// Where the right files stand in an order of paths.
pub fn places<'a>(order: impl Iterator<Item = &'a [u8]>, answer: &[Vec<u8>]) -> Vec<Place> {
    let place = |path: &Vec<u8>| Place {
        path: path.clone(),
        among_all: None,
        among_sources: None,
        is_test: is_test(path),
    };
    let mut places: Vec<Place> = answer.iter().map(place).collect();
    let mut tests = 0;
    for (at, path) in (1..).zip(order) {
        if is_test(path) {
            tests += 1;
        }
        if let Some(place) = places.iter_mut().find(|p| p.path == path && p.among_all.is_none()) {
            place.among_all = Some(at);
            place.among_sources = Some(at - tests);
        }
    }
    places
}

/// Which files count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// All files.
    All,
    /// Tests taken out of the answer and out of the order.
    Sources,
}

/// The share of the right files among the first `cut`; `None` when no right file counts.
pub fn recall(places: &[Place], cut: usize, column: Column) -> Option<f64> {
    let found: Vec<bool> = match column {
        Column::All => places.iter().map(|p| p.among_all.is_some_and(|at| at <= cut)).collect(),
        Column::Sources => places
            .iter()
            .filter(|p| !p.is_test)
            .map(|p| p.among_sources.is_some_and(|at| at <= cut))
            .collect(),
    };
    let hits = found.iter().filter(|&&hit| hit).count();
    (!found.is_empty()).then(|| hits as f64 / found.len() as f64)
}

pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The mean of paired differences with its 95 % interval by the percentile bootstrap.
pub fn interval(differences: &[f64]) -> (f64, f64, f64) {
    let n = differences.len().max(1);
    let mut state = SEED;
    let mut means: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let draw = |_| differences.get(xorshift(&mut state) as usize % n).copied();
            (0..n).filter_map(draw).sum::<f64>() / n as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    (mean(differences), means[ROUNDS / 40], means[ROUNDS - 1 - ROUNDS / 40])
}

/// Marsaglia's xorshift64.
fn xorshift(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}
