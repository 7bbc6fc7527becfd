//! Ranking quality on real commits: `scripts/bench-ranking CLONES [options]`.
//!
//! Definitions (which repositories, which commits, which requests) are data beside this file; messages, diffs, trees and
//! history are read from clones. The rankings come from the library's core, as the product calls it.
#![allow(clippy::print_stdout, clippy::print_stderr, unreachable_pub)]

mod cases;
mod clones;
mod field;
mod first_bm25;
mod measure;
mod mine;
mod options;
mod recipe;
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
    let mut systems = Vec::new();
    for name in &options.systems {
        systems.push((name.as_str(), System::parse(name)?));
    }
    let yardsticks = System::yardsticks(&systems);
    let mut groups = Vec::new();
    for source in &options.tasks {
        let tasks = select(options, source)?;
        let cases =
            cases::load(&options.clones, &tasks, &options.candidates, yardsticks, |repo| {
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
            print_orders(&systems, cases)?;
        } else if options.agreement {
            print_agreement(&systems, cases);
        } else {
            print_tables(options, &systems, source, cases);
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

fn print_tables(options: &Options, systems: &[(&str, System)], source: &str, cases: &[Case]) {
    let row = |(name, system): &(&str, System)| Row {
        name: (*name).to_owned(),
        places: system.places(cases),
    };
    let rows: Vec<Row> = systems.iter().map(row).collect();
    let splits = options.selection.splits.join(" and ");
    println!("## {source}, {splits}: {} tasks\n\n{}", cases.len(), report::summary(&rows));
    println!("{}", report::differences(&rows));
    if options.by_repository {
        println!("{}", report::by_repository(cases, &rows));
    }
    if let Some(row) = rows.last().filter(|_| options.misses) {
        println!("Not among the first ten of {}:\n\n{}", row.name, report::misses(cases, row));
    }
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
fn print_orders(systems: &[(&str, System)], cases: &[Case]) -> Result<()> {
    let (_, system) = systems.last().context("no system named")?;
    for case in cases {
        let order = system.first_twenty(case);
        let files: Vec<_> = order.iter().map(|p| String::from_utf8_lossy(p)).collect();
        let line = serde_json::json!({ "repo": case.repo, "commit": case.commit, "files": files });
        println!("{}", serde_json::to_string(&line)?);
    }
    Ok(())
}

/// How many tasks' first twenty files are the first system's, in the same order, and which are not.
fn print_agreement(systems: &[(&str, System)], cases: &[Case]) {
    let Some(((base_name, base), others)) = systems.split_first() else { return };
    for (name, system) in others {
        // A file of orders may have some of the tasks only.
        let ranked = cases.iter().filter(|case| !system.order(case).is_empty());
        let (same, different): (Vec<_>, Vec<_>) =
            ranked.partition(|case| system.first_twenty(case) == base.first_twenty(case));
        let (n_same, n) = (same.len(), same.len() + different.len());
        println!("{name}: the first twenty files of {base_name} for {n_same} of {n} tasks");
        for case in different {
            println!("  not for {} {}", case.repo, &case.commit[..10]);
        }
    }
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
