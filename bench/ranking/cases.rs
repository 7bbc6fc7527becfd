//! Tasks made ready to rank: the project as it stood at the parent, counted for the task, and its past.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result};
use context_packer::core::search::corpus::{self, Corpus, Counts, DocumentKind};
use context_packer::core::search::history::{History, MAX_COMMITS};
use context_packer::core::search::matcher::{Matcher, Scratch};
use context_packer::core::search::query::{self, Query};
use context_packer::project::files::Extensions;
use context_packer::project::history;

use crate::clones::{self, Change, TreeFile};
use crate::mine;
use crate::tasks::{Task, Tasks};
use crate::{first_bm25, recipe};

/// What is ranked.
#[derive(Debug, Clone)]
pub struct Candidates {
    pub extensions: Extensions,
    pub max_bytes: u64,
}

/// Which yardsticks rank the cases as well. What they count is held for one repository at a time.
#[derive(Debug, Clone, Copy)]
pub struct Yardsticks {
    pub first: bool,
    pub recipe: bool,
}

/// A task with everything a ranking needs.
pub struct Case {
    pub repo: String,
    pub commit: String,
    pub parent: String,
    pub text: String,
    /// The files the commit modified.
    pub answer: Vec<Vec<u8>>,
    pub query: Query,
    pub corpus: Corpus,
    pub history: History,
    /// Documents by the first context-packer's ranking, best first; empty if not asked for.
    pub first: Vec<u32>,
    /// The same by the recipe.
    pub recipe: Vec<u32>,
}

/// Loads all tasks, repositories side by side. Says on `progress` which repository has no clone.
pub fn load(
    clones: &Path,
    tasks: &Tasks,
    candidates: &Candidates,
    yardsticks: Yardsticks,
    progress: impl Fn(&str) + Sync,
) -> Result<Vec<Case>> {
    let work: Vec<(&String, &Vec<Task>)> = tasks.iter().collect();
    let cursor = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<Vec<Case>>)>> = Mutex::default();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = cursor.fetch_add(1, Ordering::Relaxed);
                    let Some((repo, tasks)) = work.get(at) else { break };
                    let cases = load_repository(clones, repo, tasks, candidates, yardsticks);
                    progress(repo);
                    if let Ok(mut done) = done.lock() {
                        done.push((at, cases));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(at, _)| *at);
    let mut all = Vec::new();
    for (_, cases) in done {
        all.extend(cases?);
    }
    Ok(all)
}

fn load_repository(
    clones: &Path,
    repo: &str,
    tasks: &[Task],
    candidates: &Candidates,
    yardsticks: Yardsticks,
) -> Result<Vec<Case>> {
    let git_dir = clones::find(clones, repo)
        .with_context(|| format!("no clone of {repo} in {}", clones.display()))?;
    let commits: Vec<&str> = tasks.iter().map(|task| task.commit.as_str()).collect();
    let changes = clones::changes_of(&git_dir, &commits)?;
    let mut outlines = Vec::new();
    for task in tasks {
        let change = changes
            .iter()
            .find(|change| change.commit.starts_with(&task.commit))
            .with_context(|| format!("{repo} has no commit {}", task.commit))?;
        outlines.push(outline(&git_dir, task, change, candidates)?);
    }
    let (corpora, words) = count(&git_dir, &outlines, yardsticks)?;
    let cases = outlines.into_iter().zip(corpora).map(|(outline, corpus)| {
        let log = clones::history_log(&git_dir, &outline.parent, MAX_COMMITS)?;
        let history = history::parse(&log, &corpus.documents, &Default::default());
        let Outline { commit, parent, text, answer, query, files } = outline;
        let by_first = || first_bm25::rank(&text, &documents(&files, &words.first));
        let by_recipe = || recipe::rank(&text, &documents(&files, &words.recipe), &history);
        Ok(Case {
            first: yardsticks.first.then(by_first).unwrap_or_default(),
            recipe: yardsticks.recipe.then(by_recipe).unwrap_or_default(),
            repo: repo.to_owned(),
            commit,
            parent,
            text,
            answer,
            query,
            corpus,
            history,
        })
    });
    cases.collect()
}

/// A task before its files are read.
struct Outline {
    commit: String,
    parent: String,
    text: String,
    answer: Vec<Vec<u8>>,
    query: Query,
    files: Vec<TreeFile>,
}

fn outline(
    git_dir: &Path,
    task: &Task,
    change: &Change,
    candidates: &Candidates,
) -> Result<Outline> {
    let parent = change.parent.clone().with_context(|| format!("{} has no parent", task.commit))?;
    let text = task.prompt.clone().unwrap_or_else(|| mine::task(&change.subject));
    let mut files = clones::tree(git_dir, &parent)?;
    files.retain(|f| f.bytes <= candidates.max_bytes && candidates.extensions.contain(&f.path));
    let (query, answer) = (query::query(&text), mine::answer(change));
    Ok(Outline { commit: change.commit.clone(), parent, text, answer, query, files })
}

/// What the yardsticks read of a repository's files, by blob; empty for one not asked for.
#[derive(Default)]
struct Words {
    first: HashMap<String, first_bm25::Words>,
    recipe: HashMap<String, recipe::Words>,
}

/// The files that a yardstick has read: the documents of the [`Corpus`].
fn documents<'a, W>(
    files: &'a [TreeFile],
    words: &'a HashMap<String, W>,
) -> Vec<(&'a [u8], &'a W)> {
    files.iter().filter_map(|f| Some((f.path.as_slice(), words.get(&f.blob)?))).collect()
}

/// Reads every blob once and counts it for each task that has it, and for the yardsticks.
fn count(
    git_dir: &Path,
    outlines: &[Outline],
    yardsticks: Yardsticks,
) -> Result<(Vec<Corpus>, Words)> {
    let uses = uses(outlines);
    let blobs: Vec<&str> = uses.keys().copied().collect();
    let matchers: Vec<Matcher<'_>> = outlines.iter().map(|o| Matcher::new(&o.query)).collect();
    let mut counts: Vec<Vec<Option<Counts>>> =
        outlines.iter().map(|o| vec![None; o.files.len()]).collect();
    let texts = || outlines.iter().map(|o| o.text.as_str());
    let (of_first, of_recipe) = (first_bm25::asked(texts()), recipe::asked(texts()));
    let (mut words, mut scratch) = (Words::default(), Scratch::default());
    clones::read_blobs(git_dir, &blobs, |at, bytes| {
        if corpus::kind(bytes) == DocumentKind::Binary {
            return;
        }
        for &(task, file) in &uses[blobs[at]] {
            counts[task][file] = Some(matchers[task].count(bytes, &mut scratch));
        }
        if yardsticks.first {
            words.first.insert(blobs[at].to_owned(), first_bm25::Words::of(bytes, &of_first));
        }
        if yardsticks.recipe {
            words.recipe.insert(blobs[at].to_owned(), recipe::Words::of(bytes, &of_recipe));
        }
    })?;
    let corpora = outlines.iter().zip(counts).map(|(outline, counts)| corpus(outline, counts));
    Ok((corpora.collect(), words))
}

/// Every blob, with the tasks and the files of theirs that it is.
fn uses(outlines: &[Outline]) -> BTreeMap<&str, Vec<(usize, usize)>> {
    let mut uses: BTreeMap<&str, Vec<(usize, usize)>> = BTreeMap::new();
    for (task, outline) in outlines.iter().enumerate() {
        for (file, TreeFile { blob, .. }) in outline.files.iter().enumerate() {
            uses.entry(blob).or_default().push((task, file));
        }
    }
    uses
}

/// The files that could be read.
fn corpus(outline: &Outline, counts: Vec<Option<Counts>>) -> Corpus {
    let mut documents = Corpus::new(&outline.query);
    for (file, counts) in outline.files.iter().zip(counts) {
        if let Some(counts) = counts {
            documents.push(file.path.clone(), &counts);
        }
    }
    documents
}
