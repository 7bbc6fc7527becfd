//! What is compared: the product with some weights, the first context-packer's BM25, the published recipe, or orders made
//! elsewhere.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result, bail};
use context_packer::core::search::rank::{self, Weights};
use serde::Deserialize;

use crate::cases::{Case, Yardsticks};
use crate::measure::{self, Place};
use crate::tasks;

/// A ranking to measure.
pub enum System {
    /// The first context-packer.
    First,
    /// The published recipe.
    Recipe,
    /// Ours.
    Ours(Box<Weights>),
    /// Paths per commit, best first.
    ParsedArgs(HashMap<String, Vec<String>>),
}

/// A line of a file of orders made elsewhere.
#[derive(Deserialize)]
struct ParsedArgs {
    commit: String,
    files: Vec<String>,
}

impl System {
    /// Reads `first`, `recipe`, `product`, `product:history=1.2,path=1`, or a JSONL file of `{"commit": …, "files": […]}`.
    pub fn parse(name: &str) -> Result<System> {
        let (base, changes) = name.split_once(':').unwrap_or((name, ""));
        let mut weights = match base {
            "first" => return Ok(System::First),
            "recipe" => return Ok(System::Recipe),
            "product" => Weights::default(),
            path => {
                let given: Vec<ParsedArgs> = tasks::read_lines(Path::new(path))?;
                return Ok(System::ParsedArgs(
                    given.into_iter().map(|g| (g.commit, g.files)).collect(),
                ));
            }
        };
        for change in changes.split(',').filter(|change| !change.is_empty()) {
            let (key, value) =
                change.split_once('=').context("weights are changed by name=number")?;
            let value = value.parse().with_context(|| change.to_owned())?;
            match weight(&mut weights, key) {
                Some(weight) => *weight = value,
                None => bail!("no weight is called {key}; there are {}", WEIGHTS.join(" ")),
            }
        }
        Ok(System::Ours(Box::new(weights)))
    }

    /// The yardsticks among systems.
    pub fn yardsticks(systems: &[(&str, System)]) -> Yardsticks {
        Yardsticks {
            first: systems.iter().any(|(_, system)| matches!(system, System::First)),
            recipe: systems.iter().any(|(_, system)| matches!(system, System::Recipe)),
        }
    }

    /// All documents in order.
    pub fn order(&self, case: &Case) -> Vec<Vec<u8>> {
        let path = |document: u32| case.corpus.documents[document as usize].path.clone();
        match self {
            System::First => case.first.iter().copied().map(path).collect(),
            System::Recipe => case.recipe.iter().copied().map(path).collect(),
            System::Ours(weights) => {
                let ranking = rank::rank(&case.query, &case.corpus, &case.history, weights);
                ranking.candidates.into_iter().map(|c| path(c.document)).collect()
            }
            System::ParsedArgs(orders) => {
                let files = orders.get(&case.commit).map(Vec::as_slice).unwrap_or_default();
                files.iter().map(|file| file.as_bytes().to_vec()).collect()
            }
        }
    }

    pub fn first_twenty(&self, case: &Case) -> Vec<Vec<u8>> {
        self.order(case).into_iter().take(20).collect()
    }

    /// The places of the right files of every case, cases side by side.
    pub fn places(&self, cases: &[Case]) -> Vec<Vec<Place>> {
        let cursor = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            loop {
                let at = cursor.fetch_add(1, Ordering::Relaxed);
                let Some(case) = cases.get(at) else { return done };
                let order = self.order(case);
                done.push((at, measure::places(order.iter().map(Vec::as_slice), &case.answer)));
            }
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let mut all: Vec<(usize, Vec<Place>)> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
        });
        all.sort_by_key(|(at, _)| *at);
        all.into_iter().map(|(_, places)| places).collect()
    }
}

/// The names of the weights, in the order in which they are tuned.
pub const WEIGHTS: &[&str] = &[
    "history",
    "path",
    "identifiers",
    "pairs",
    "coverage",
    "recency",
    "cochange",
    "test",
    "asked_test",
    "stop",
    "joined",
    "quoted",
    "repeated",
    "mentions",
    "long_task",
    "k1",
    "b",
    "path_k1",
    "third_party_or_generated",
    "recency_half",
];

/// A weight by name.
pub fn weight<'a>(weights: &'a mut Weights, name: &str) -> Option<&'a mut f64> {
    Some(match name {
        "stop" => &mut weights.stop,
        "joined" => &mut weights.joined,
        "quoted" => &mut weights.quoted,
        "repeated" => &mut weights.repeated,
        "mentions" => &mut weights.mentions,
        "long_task" => &mut weights.long_task,
        "k1" => &mut weights.text.k1,
        "b" => &mut weights.text.b,
        "path_k1" => &mut weights.path_k1,
        "path" => &mut weights.path,
        "history" => &mut weights.history,
        "pairs" => &mut weights.pairs,
        "asked_test" => &mut weights.asked_test,
        "identifiers" => &mut weights.identifiers,
        "coverage" => &mut weights.coverage,
        "test" => &mut weights.test,
        "third_party_or_generated" => &mut weights.third_party_or_generated,
        "recency" => &mut weights.recency,
        "recency_half" => &mut weights.recency_half,
        "cochange" => &mut weights.cochange,
        _ => return None,
    })
}
