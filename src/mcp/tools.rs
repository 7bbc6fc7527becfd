//! The tools: a table of names, descriptions, parameters and functions.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use serde_json::value::RawValue;

use super::ServerSettings;
use super::arguments::{Arguments, Parameter, ParameterKind};
use crate::config::{self, Environment, Provider};
use crate::model::Deadline;
use crate::pack::{self, PackRequest, Reranker};
use crate::project::root::Root;
use crate::render;

/// The server's instructions. Clients show them to the model whether or not a tool is used, so one
/// sentence.
pub(super) const INSTRUCTIONS: &str = "When you do not yet know which files of this project a coding task touches, \
    call pack_context once with the user's request before searching.";

/// One tool. All tools are read-only.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    /// For users.
    pub(super) title: &'static str,
    /// For the model: when to use the tool and how far to trust its answer.
    pub(super) description: &'static str,
    pub(super) parameters: &'static [Parameter],
    /// JSON Schema of the structured answer.
    pub(super) output_schema: &'static str,
    /// Whether it may contact a service outside this machine.
    pub(super) is_open_world: bool,
    pub(super) run: fn(&Context<'_>) -> Result<ToolAnswer, String>,
}

/// The input of a tool.
pub(super) struct Context<'a> {
    pub(super) settings: &'a ServerSettings,
    pub(super) root: Root,
    pub(super) arguments: Arguments,
    /// Set when nobody waits for the answer any longer.
    pub(super) is_cancelled: Arc<AtomicBool>,
    /// Receives steps done, total steps, and the next step in words.
    pub(super) progress: &'a (dyn Fn(usize, usize, &str) + Sync),
}

/// The answer of a tool.
#[derive(Debug)]
pub(super) struct ToolAnswer {
    /// For the model.
    pub(super) text: String,
    /// The same as data.
    pub(super) structured: Box<RawValue>,
}

/// All tools.
pub(super) const TOOLS: &[Tool] = &[PACK_CONTEXT];

/// Deadline of a decision model; its verdicts so far are the answer then. The official TypeScript
/// client gives up after a minute.
const MODEL_TIME: Duration = Duration::from_secs(50);

/// The parameter that every tool has and the server resolves.
pub(super) const ROOT: &str = "root";

const PACK_CONTEXT: Tool = Tool {
    name: "pack_context",
    title: "Rank files for a task",
    description: "Ranks this project's source files for a coding task by text, paths, identifiers and git history, in \
        milliseconds. Use it once at the start of a task when you do not know which files to read or edit; skip it \
        when the files are already known. Give the request in the user's own words, with any file names, identifiers \
        and error texts in it. The answer lists paths, best first, tests marked. It is a ranking to verify by reading \
        the files: scores order the files of one answer and say nothing about certainty.",
    parameters: &[
        Parameter {
            name: "task",
            kind: ParameterKind::Text,
            is_required: true,
            description: "what is to be done, in the user's words",
        },
        Parameter {
            name: "limit",
            kind: ParameterKind::Number { min: 1, max: 20, default: 10 },
            is_required: false,
            description: "files to list",
        },
        Parameter {
            name: "provider",
            kind: ParameterKind::Choice(&["keywords", "jev", "laya"]),
            is_required: false,
            description: "who ranks; leave it out unless the user names one: keywords is local, jev sends excerpts of \
                candidate files to a hosted model, laya asks a model on this machine",
        },
        Parameter {
            name: ROOT,
            kind: ParameterKind::Text,
            is_required: false,
            description: "folder inside the project to rank alone, for example one package of a monorepo",
        },
        Parameter {
            name: "explain",
            kind: ParameterKind::Switch,
            is_required: false,
            description: "add a line per file that says why it was picked",
        },
        Parameter {
            name: "code",
            kind: ParameterKind::Number { min: 0, max: 10, default: 0 },
            is_required: false,
            description: "of how many of the first files to show the most relevant lines",
        },
    ],
    output_schema: render::json::PACK_SCHEMA,
    is_open_world: true,
    run: pack_context,
};

fn pack_context(context: &Context<'_>) -> Result<ToolAnswer, String> {
    let started = Instant::now();
    let Context { settings, root, arguments, .. } = context;
    let environment: Environment<'_> = &settings.environment;
    let provider = match arguments.text("provider") {
        Some(name) => Provider::parse(name),
        None => config::provider(environment),
    };
    let provider = provider.map_err(|error| format!("{error:#}"))?;
    let model = settings.models.get(provider).map_err(ToString::to_string)?;
    let text = arguments.text("task").unwrap_or_default().to_owned();
    let request = PackRequest {
        text: text.clone(),
        limit: arguments.number("limit"),
        code: arguments.number("code"),
        only_if_distinctive: false,
    };
    let project = config::project(root.clone(), environment).map_err(|e| format!("{e:#}"))?;
    (context.progress)(0, 1, "ranking the project's files");
    let deadline = Deadline::at(started + MODEL_TIME).or_when(context.is_cancelled.clone());
    let progress = &|done, all| (context.progress)(done, all, "asking the decision model");
    let reranker = model.map(|model| Reranker { model, deadline, progress });
    let pack = pack::run(&project, &request, reranker, started).map_err(|e| e.to_string())?;
    pack::refresh_index(&project, &pack);
    let structured =
        render::json::structured(&pack, &text, &root.path).map_err(|e| e.to_string())?;
    let text = render::text::pack(&pack, &root.path, arguments.is_on("explain"));
    Ok(ToolAnswer { text, structured })
}
