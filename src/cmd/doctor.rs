//! `context-packer doctor`: would the hook add context here, and if not, why?

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::Result;

use super::pack::project;
use crate::args::DoctorArgs;
use crate::cache::private;
use crate::config::{self, Environment, Provider};
use crate::hook::{journal, skip_rules};
use crate::index::{self, IndexScope};
use crate::pack::{self, PackRequest};
use crate::project::{Project, counted, git};
use crate::render;
use crate::rerank::Model;

/// The prompt when none is given: an ordinary request.
const SAMPLE_PROMPT: &str = "fix the error handling in the main module";

/// Log lines shown.
const LOG_LINES: usize = 5;

/// Keys that would be used. Only whether they are set is shown.
const KEYS: &[&str] = &["TYPESAFE_API_KEY", "AI_GATEWAY_API_KEY"];

/// Examines and prints.
///
/// # Errors
/// A `--root` that is not a folder, closed standard output. Faults of the project itself are part
/// of the report.
pub fn run(args: &DoctorArgs) -> Result<()> {
    let environment: Environment<'_> = &config::process_environment;
    if args.root.is_some() {
        project(args.root.as_deref(), environment)?;
    }
    let mut report = program(environment);
    let (text, wrong) = settings(environment);
    report += &text;
    report += &match &args.prompt {
        Some(prompt) => format!("For the prompt {prompt:?}\n"),
        None => format!("For the example prompt {SAMPLE_PROMPT:?}\n"),
    };
    let prompt = args.prompt.as_deref().unwrap_or(SAMPLE_PROMPT);
    report += &verdict(prompt, args.root.as_deref(), wrong.first(), environment);
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

/// The settings in words, and their errors. With any error the hook stays silent.
fn settings(environment: Environment<'_>) -> (String, Vec<String>) {
    let mut wrong = Vec::new();
    let provider = config::hook_provider(environment);
    if let Ok(Err(error)) = provider.as_ref().map(|provider| Model::open(*provider, environment)) {
        wrong.push(error.to_string());
    }
    let provider = shown(provider.map(Provider::name), &mut wrong);
    let mut number = |n: config::Number| shown(n.read(environment), &mut wrong);
    let (limit, code) = (number(config::HOOK_LIMIT), number(config::HOOK_CODE));
    let deadline = number(config::HOOK_DEADLINE_MS);
    for switch in [config::HOOK_NOTICE, config::INDEX] {
        shown(switch.read(environment), &mut wrong);
    }
    let mut text = format!(
        "Hook settings\n  provider {provider}\n  files {limit}, with lines of {code}, within {deadline} ms\n"
    );
    wrong.iter().for_each(|error| _ = writeln!(text, "  wrong: {error}"));
    (text, wrong)
}

/// A setting's value, or a question mark for an invalid one.
fn shown(value: Result<impl ToString>, wrong: &mut Vec<String>) -> String {
    value.map_or_else(
        |error| {
            wrong.push(format!("{error:#}"));
            "?".to_owned()
        },
        |value| value.to_string(),
    )
}

fn verdict(
    text: &str,
    given: Option<&Path>,
    wrong: Option<&String>,
    environment: Environment<'_>,
) -> String {
    let mut report = String::new();
    if let Some(reason) = skip_rules::skip(text, None) {
        let _ = writeln!(report, "  the hook stays silent: {reason}");
        return report;
    }
    if let Some(error) = wrong {
        return report + &format!("  the hook stays silent: {error}\n");
    }
    let started = Instant::now();
    let project = match project(given, environment) {
        Ok(project) => project,
        Err(error) => return report + &format!("  the hook stays silent: {error:#}\n"),
    };
    let _ = writeln!(report, "  project {}", project.root.path.display());
    let limit = config::HOOK_LIMIT.read(environment).unwrap_or(config::HOOK_LIMIT.default);
    let request = PackRequest {
        text: text.to_owned(),
        limit: limit as usize,
        code: 0,
        only_if_distinctive: false,
    };
    report += &index_line(&project);
    match pack::run(&project, &request, None, started) {
        Err(error) => _ = writeln!(report, "  the hook stays silent: {error}"),
        Ok(pack) => report += &outcome(&pack),
    }
    report
}

fn index_line(project: &Project) -> String {
    let Some(folder) = &project.index else {
        return "  index   off: CONTEXT_PACKER_INDEX is 0, or there is nowhere to keep it\n"
            .to_owned();
    };
    match index::status(folder, &project.root, &IndexScope::of(project)).found {
        Some(found) => {
            format!("  index   of {}, made {} ago\n", counted(found.n_files), since(found.seconds))
        }
        None => "  index   none; `context-packer index build` makes one\n".to_owned(),
    }
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
    let mut text = format!("Last failures, from {}\n", journal::path(&folder).display());
    for entry in entries {
        let _ = writeln!(text, "  {} ago: {}", since(entry.seconds), entry.text);
    }
    text
}

/// How long ago a time was, given in seconds since 1970.
pub(super) fn since(seconds: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    match now.saturating_sub(seconds) {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} min", seconds / 60),
        seconds @ 7_200..172_800 => format!("{} h", seconds / 3_600),
        seconds => format!("{} days", seconds / 86_400),
    }
}
