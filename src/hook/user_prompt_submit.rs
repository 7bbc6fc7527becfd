//! `UserPromptSubmit`: ranks the project for a prompt that [`skip_rules::skip`] lets through.

use std::path::PathBuf;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::session::Session;
use super::{Reply, project_folder, skip_rules, wire};
use crate::cache::private;
use crate::config::{self, Environment};
use crate::model::Deadline;
use crate::pack::{self, Pack, PackRequest, Reranker};
use crate::project::files::Extensions;
use crate::project::root::Root;
use crate::project::{Project, root, scan};
use crate::render;
use crate::rerank::Model;

/// Answers a prompt within the deadline.
#[must_use]
pub fn handle(input: wire::Input, environment: Environment<'_>) -> Reply {
    let started = Instant::now();
    let text = input.prompt.as_deref().unwrap_or_default();
    if skip_rules::skip(text, input.source.as_deref()).is_some() {
        return Reply::silent();
    }
    let settings = match HookSettings::read(environment) {
        Ok(settings) => settings,
        Err(error) => return Reply::failed(error),
    };
    within(settings.deadline, move || {
        answer(&input, &settings, started)
            .unwrap_or_else(|error| Reply::failed(format!("{error:#}")))
    })
}

/// Runs the work on a thread of its own and leaves it behind when time is up: a hanging disk must not hold the person.
fn within(time: Duration, work: impl FnOnce() -> Reply + Send + 'static) -> Reply {
    let (sender, receiver) = mpsc::channel();
    let spawned = std::thread::Builder::new().spawn(move || sender.send(work()));
    match spawned {
        Ok(_) => receiver
            .recv_timeout(time)
            .unwrap_or_else(|_| Reply::failed(format!("no answer within {} ms", time.as_millis()))),
        Err(error) => Reply::failed(format!("cannot start a thread: {error}")),
    }
}

/// The answer and, if the index should be rebuilt after it, the project.
fn answer(input: &wire::Input, settings: &HookSettings, started: Instant) -> Result<Reply, String> {
    let root = root::around(&project_folder(input, settings.project_dir.clone())?)
        .map_err(|error| error.to_string())?;
    let project = settings.project(root);
    let deadline = Deadline::at(started + settings.time_for_model());
    let progress = &|_, _| ();
    let reranker = settings.model.as_ref().map(|model| Reranker { model, deadline, progress });
    let request = settings.request(input.prompt.as_deref().unwrap_or_default());
    let pack =
        pack::run(&project, &request, reranker, started).map_err(|error| error.to_string())?;
    let reply = reply(input, settings, &project.root, &pack)?;
    Ok(Reply { reindex: pack.needs_index.then_some(project.root), ..reply })
}

/// The list as context, unless it is empty or the same as at the previous prompt.
fn reply(
    input: &wire::Input,
    settings: &HookSettings,
    root: &Root,
    pack: &Pack,
) -> Result<Reply, String> {
    if pack.files.is_empty() || settings.repeats_last_list(input, pack) {
        return Ok(Reply::silent());
    }
    let context = render::hook::context(pack, &root.path);
    let notice = settings.notice.then(|| render::hook::notice(pack));
    let output =
        wire::prompt_output(&context, notice.as_deref()).map_err(|error| error.to_string())?;
    Ok(Reply { output: Some(output), ..Reply::default() })
}

/// What the hook is told by its surroundings.
struct HookSettings {
    limit: usize,
    code: usize,
    deadline: Duration,
    notice: bool,
    extensions: Extensions,
    project_dir: Option<PathBuf>,
    folder: Option<PathBuf>,
    model: Option<Model>,
    index: Option<PathBuf>,
}

/// Kept back from the deadline for writing the answer once the model's time is up.
const WRITING: Duration = Duration::from_millis(200);

impl HookSettings {
    fn read(environment: Environment<'_>) -> Result<HookSettings, String> {
        let number =
            |setting: config::Number| setting.read(environment).map_err(|e| format!("{e:#}"));
        let provider = config::hook_provider(environment).map_err(|e| format!("{e:#}"))?;
        Ok(HookSettings {
            limit: number(config::HOOK_LIMIT)? as usize,
            code: number(config::HOOK_CODE)? as usize,
            deadline: Duration::from_millis(number(config::HOOK_DEADLINE_MS)?),
            notice: config::HOOK_NOTICE.read(environment).map_err(|e| format!("{e:#}"))?,
            extensions: config::extensions(environment),
            project_dir: environment("CLAUDE_PROJECT_DIR").map(PathBuf::from),
            folder: private::folder(environment),
            model: Model::open(provider, environment).map_err(|e| e.to_string())?,
            index: config::index(environment).map_err(|e| format!("{e:#}"))?,
        })
    }

    fn time_for_model(&self) -> Duration {
        self.deadline - WRITING.min(self.deadline / 4)
    }

    fn project(&self, root: Root) -> Project {
        Project {
            root,
            extensions: self.extensions.clone(),
            max_file_bytes: scan::MAX_FILE_BYTES,
            index: self.index.clone(),
        }
    }

    fn request(&self, text: &str) -> PackRequest {
        PackRequest {
            text: text.to_owned(),
            limit: self.limit,
            code: self.code,
            only_if_distinctive: true,
        }
    }

    fn repeats_last_list(&self, input: &wire::Input, pack: &Pack) -> bool {
        let paths: Vec<&str> = pack.files.iter().map(|file| file.path.as_str()).collect();
        match (&self.folder, &input.session_id) {
            (Some(folder), Some(id)) => Session::open(folder, id).repeats(&paths.join("\n")),
            _ => false,
        }
    }
}
