//! What is asked: tasks by repository and commit, read from definitions that are data.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

/// A repository of `repositories.jsonl`.
#[derive(Debug, Clone, Deserialize)]
pub struct Repository {
    /// `owner/name` on GitHub.
    pub repo: String,
    /// The commit whose history was mined.
    pub head: String,
    /// `seed`: of the published benchmark, never tuned on; `other`.
    pub set: String,
}

/// The mined tasks of one repository, by commit id: a line of `subjects.jsonl`.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct Subjects {
    pub repo: String,
    pub dev: Vec<String>,
    pub test: Vec<String>,
    pub extra: Vec<String>,
}

/// A line of a file of requests.
#[derive(Debug, Clone, Deserialize)]
struct Request {
    repo: String,
    commit: String,
    prompt: String,
    #[serde(default = "dev")]
    split: String,
}

fn dev() -> String {
    "dev".to_owned()
}

/// One task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Full or abbreviated id.
    pub commit: String,
    /// What is asked; `None`: the commit's subject.
    pub prompt: Option<String>,
}

/// Which tasks to take.
#[derive(Debug, Clone)]
pub struct Selection {
    pub splits: Vec<String>,
    /// `seed`, `other`, `further`, or `all` for the first two; subjects only.
    pub set: String,
    /// Empty: all.
    pub repos: Vec<String>,
    /// Of each repository at most this many.
    pub per_repo: usize,
}

/// Tasks by repository.
pub type Tasks = BTreeMap<String, Vec<Task>>;

/// The lines of a JSONL file.
pub fn read_lines<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Vec<T>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| serde_json::from_str(line).with_context(|| path.display().to_string()))
        .collect()
}

/// The mined tasks of a selection.
pub fn subjects(definitions: &Path, selection: &Selection) -> Result<Tasks> {
    let repositories: Vec<Repository> = read_lines(&definitions.join("repositories.jsonl"))?;
    let mined: Vec<Subjects> = read_lines(&definitions.join("subjects.jsonl"))?;
    let is_asked = |set: &str| set == selection.set || selection.set == "all" && set != "further";
    let is_in_set = |repo: &str| repositories.iter().any(|r| r.repo == repo && is_asked(&r.set));
    let mut tasks = Tasks::new();
    for subjects in mined.iter().filter(|subjects| is_in_set(&subjects.repo)) {
        for (split, commits) in
            [("dev", &subjects.dev), ("test", &subjects.test), ("extra", &subjects.extra)]
        {
            for commit in commits {
                selection.add(&mut tasks, &subjects.repo, split, commit, None);
            }
        }
    }
    Ok(tasks)
}

/// The requests of a file.
pub fn requests(path: &Path, selection: &Selection) -> Result<Tasks> {
    let mut tasks = Tasks::new();
    for Request { repo, commit, prompt, split } in read_lines(path)? {
        selection.add(&mut tasks, &repo, &split, &commit, Some(prompt));
    }
    Ok(tasks)
}

impl Selection {
    fn add(
        &self,
        tasks: &mut Tasks,
        repo: &str,
        split: &str,
        commit: &str,
        prompt: Option<String>,
    ) {
        let is_named = |names: &[String], name: &str| names.iter().any(|n| n == name);
        if is_named(&self.splits, split) && (self.repos.is_empty() || is_named(&self.repos, repo)) {
            let of_repo = tasks.entry(repo.to_owned()).or_default();
            if of_repo.len() < self.per_repo {
                of_repo.push(Task { commit: commit.to_owned(), prompt });
            }
        }
    }
}
