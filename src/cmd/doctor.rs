//! `context-packer doctor`: in plain words, would the hook speak here, and if not, why.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::Result;

use super::pack::project;
use crate::args::DoctorArgs;
use crate::config::{self, Environment};
use crate::hook::{journal, prompt};
use crate::pack::{self, Task};
use crate::project::{counted, git, scan};
use crate::{private, render};

/// Asked when no prompt is given: an ordinary request.
const SAMPLE_PROMPT: &str = "fix the error handling in the main module";

/// Log lines shown.
const LOG_LINES: usize = 5;

/// Keys we would use; only whether they are set is ever shown.
const KEYS: &[&str] = &["TYPESAFE_API_KEY", "AI_GATEWAY_API_KEY"];

/// Looks and prints.
///
/// # Errors
/// Closed standard output. What is wrong with the project is part of the report.
pub fn run(args: &DoctorArgs) -> Result<()> {
    let environment: Environment<'_> = &config::process_environment;
    let mut report = program(environment);
    report += &settings(environment);
    let prompt = args.prompt.as_deref().unwrap_or(SAMPLE_PROMPT);
    report += &verdict(prompt, args.root.as_deref(), environment);
    report += &log(environment);
    std::io::stdout().lock().write_all(report.as_bytes())?;
    Ok(())
}

fn program(environment: Environment<'_>) -> String {
    let binary =
        std::env::current_exe().map_or_else(|e| e.to_string(), |p| p.display().to_string());
    let git = git::command(Path::new("."), &["--version"]).output();
    let git = git.map_or_else(
        |error| {
            format!(
                "not found ({error}): no history, and ignored files are told by .gitignore alone"
            )
        },
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    );
    let mut text = format!(
        "context-packer {}\n  binary  {binary}\n  git     {git}\n",
        env!("CARGO_PKG_VERSION")
    );
    for key in KEYS {
        let state =
            if environment(key).is_some() { "set" } else { "not set (needed for jev only)" };
        let _ = writeln!(text, "  {key} {state}");
    }
    text
}

fn settings(environment: Environment<'_>) -> String {
    let number = |n: config::Number| {
        n.read(environment).map_or_else(|e| format!("{e:#}"), |v| v.to_string())
    };
    let provider = config::hook_provider(environment);
    format!(
        "Hook settings\n  provider {}\n  files {}, with lines of {}, within {} ms\n",
        provider.map_or_else(|e| format!("{e:#}"), |p| p.name().to_owned()),
        number(config::HOOK_LIMIT),
        number(config::HOOK_CODE),
        number(config::HOOK_DEADLINE_MS),
    )
}

fn verdict(text: &str, given: Option<&Path>, environment: Environment<'_>) -> String {
    let mut report = format!("For the prompt {text:?}\n");
    if let Some(reason) = prompt::skip(text, None) {
        let _ = writeln!(report, "  the hook stays silent: {reason}");
        return report;
    }
    let limit = match config::HOOK_LIMIT.read(environment) {
        Ok(limit) => limit as usize,
        Err(error) => return report + &format!("  the hook stays silent: {error:#}\n"),
    };
    let started = Instant::now();
    let root = match project(given, environment) {
        Ok(root) => root,
        Err(error) => return report + &format!("  the hook stays silent: {error:#}\n"),
    };
    let _ = writeln!(report, "  project {}", root.path.display());
    let task = Task {
        text: text.to_owned(),
        limit,
        code: 0,
        extensions: config::extensions(environment),
        max_file_bytes: scan::MAX_FILE_BYTES,
        index: config::index(environment).ok().flatten(),
    };
    match pack::keywords(&root, &task, started) {
        Err(error) => _ = writeln!(report, "  the hook stays silent: {error}"),
        Ok(pack) => report += &outcome(&pack),
    }
    report
}

fn outcome(pack: &pack::Pack) -> String {
    let mut text = format!(
        "  files   {} ranked in {}\n",
        pack.n_candidates,
        render::text::seconds(pack.total)
    );
    for warning in &pack.warnings {
        let _ = writeln!(text, "  note    {warning}");
    }
    if pack.n_candidates == 0 {
        text += "  the hook stays silent: there is no source file here; CONTEXT_PACKER_EXTENSIONS adds other kinds\n";
    } else if !pack.is_distinctive {
        text +=
            "  the hook stays silent: no word of the prompt tells files of this project apart\n";
    } else {
        let _ = writeln!(text, "  the hook adds {}:", counted(pack.files.len()));
        let mut list = String::new();
        render::text::list(&mut list, &pack.files, false);
        list.lines().for_each(|line| _ = writeln!(text, "    {line}"));
    }
    text
}

fn log(environment: Environment<'_>) -> String {
    let Some(folder) = private::folder(environment) else {
        return "Log: none, for there is no HOME; set CONTEXT_PACKER_CACHE to a folder\n"
            .to_owned();
    };
    let entries = journal::last(&folder, LOG_LINES);
    if entries.is_empty() {
        return format!("Log {}: no failures\n", journal::path(&folder).display());
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let mut text = format!("Last failures, from {}\n", journal::path(&folder).display());
    for entry in entries {
        let _ = writeln!(text, "  {} ago: {}", age(now.saturating_sub(entry.seconds)), entry.text);
    }
    text
}

pub(crate) fn age(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}
