//! Ranking quality on real commits: `scripts/bench-ranking CLONES [options]`.
//!
//! Definitions (which repositories, which commits, which requests) are data beside this file; messages, diffs, trees and
//! history are read from clones. The rankings come from the library's core, as the product calls it.
#![allow(clippy::print_stdout, clippy::print_stderr, unreachable_pub)]

mod cases;
mod clones;
mod first_bm25;
mod measure;
mod mine;
mod options;
mod report;
mod systems;
mod tasks;
mod tune;

use std::process::ExitCode;

use anyhow::{Context as _, Result};

use cases::Case;
use options::Options;
use report::Row;
use systems::System;
use tasks::Tasks;

fn main() -> ExitCode {
    match Options::parse().and_then(|options| options.map_or(Ok(()), |o| run(&o))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-ranking: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<()> {
    if options.mine {
        return mine_all(options);
    }
    let mut groups = Vec::new();
    for source in &options.tasks {
        let tasks = select(options, source)?;
        let cases = cases::load(&options.clones, &tasks, &options.candidates, |repo| {
            if options.verbose {
                eprintln!("{repo}");
            }
        })?;
        groups.push((source.as_str(), cases));
    }
    if options.tune {
        return tune::tune(&groups);
    }
    for (source, cases) in &groups {
        if options.print_tasks {
            print_tasks(cases)?;
        } else if options.print_orders {
            print_orders(&options.systems, cases)?;
        } else {
            print_tables(options, source, cases)?;
        }
    }
    Ok(())
}

fn select(options: &Options, source: &str) -> Result<Tasks> {
    match source {
        "subjects" => tasks::subjects(&options.definitions, &options.selection),
        "requests" => {
            tasks::requests(&options.definitions.join("requests.jsonl"), &options.selection)
        }
        path => tasks::requests(path.as_ref(), &options.selection),
    }
}

fn print_tables(options: &Options, source: &str, cases: &[Case]) -> Result<()> {
    let mut rows = Vec::new();
    for name in &options.systems {
        let places = System::parse(name)?.places(cases);
        rows.push(Row { name: name.clone(), places });
    }
    let splits = options.selection.splits.join(" and ");
    println!("## {source}, {splits}: {} tasks\n\n{}", cases.len(), report::summary(&rows));
    println!("{}", report::differences(&rows));
    if options.by_repository {
        println!("{}", report::by_repository(cases, &rows));
    }
    if let Some(row) = rows.last().filter(|_| options.misses) {
        println!("Not among the first ten of {}:\n\n{}", row.name, report::misses(cases, row));
    }
    Ok(())
}

/// One JSON line per task, for those who rank elsewhere.
fn print_tasks(cases: &[Case]) -> Result<()> {
    for case in cases {
        let answer: Vec<_> = case.answer.iter().map(|p| String::from_utf8_lossy(p)).collect();
        let line = serde_json::json!({ "repo": case.repo, "commit": case.commit, "parent": case.parent,
            "task": case.text, "files": answer });
        println!("{}", serde_json::to_string(&line)?);
    }
    Ok(())
}

/// The first twenty files of every task by the last system named, in the form that systems are read in.
fn print_orders(systems: &[String], cases: &[Case]) -> Result<()> {
    let system = System::parse(systems.last().context("no system named")?)?;
    for case in cases {
        let order = system.order(case);
        let files: Vec<_> = order.iter().take(20).map(|p| String::from_utf8_lossy(p)).collect();
        let line = serde_json::json!({ "repo": case.repo, "commit": case.commit, "files": files });
        println!("{}", serde_json::to_string(&line)?);
    }
    Ok(())
}

/// Prints `subjects.jsonl` anew from the clones.
fn mine_all(options: &Options) -> Result<()> {
    let path = options.definitions.join("repositories.jsonl");
    for repository in tasks::read_lines::<tasks::Repository>(&path)? {
        let repo = repository.repo;
        let git_dir =
            clones::find(&options.clones, &repo).with_context(|| format!("no clone of {repo}"))?;
        let commits = mine::mine(&git_dir, &repository.head)?;
        let mut commits = commits.into_iter().map(|id| id[..12].to_owned());
        let [dev, test, extra] = mine::SPLITS.map(|(_, n)| commits.by_ref().take(n).collect());
        println!("{}", serde_json::to_string(&tasks::Subjects { repo, dev, test, extra })?);
    }
    Ok(())
}
