//! Which folder a call works on: the one the user fixed, one the client allows, or where the server
//! was started.
//!
//! A `root` argument comes from a model, so it may only narrow what the user or the client has
//! opened.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::ServerSettings;
use super::wire::Id;
use crate::project::root::{self, Root};

/// How long calls wait for the client to name its roots. Clients answer within milliseconds; a
/// client that never answers must not block its own calls.
const ANSWER_TIME: Duration = Duration::from_secs(1);

/// What the client has said about its roots.
#[derive(Debug, Default)]
pub(super) struct ClientRoots {
    can_be_asked: bool,
    n_asked: u32,
    /// The open question.
    open: Option<Id>,
    /// How long calls wait for its answer.
    awaited_until: Option<Instant>,
    folders: Vec<PathBuf>,
}

impl ClientRoots {
    pub(super) fn new(can_be_asked: bool) -> ClientRoots {
        ClientRoots { can_be_asked, ..ClientRoots::default() }
    }

    /// The id of a new question, which replaces an open one; `None` if the client cannot be asked.
    pub(super) fn ask(&mut self) -> Option<Id> {
        if !self.can_be_asked {
            return None;
        }
        self.n_asked += 1;
        let id = Id::Text(format!("roots-{}", self.n_asked));
        self.open = Some(id.clone());
        self.awaited_until = Some(Instant::now() + ANSWER_TIME);
        Some(id)
    }

    /// Accepts the folders of an answer; none if the client refused. Answers to other questions are
    /// ignored.
    pub(super) fn answer(&mut self, id: Option<&Id>, folders: Vec<PathBuf>) {
        if self.open.as_ref().is_some_and(|open| Some(open) == id) {
            (self.open, self.awaited_until) = (None, None);
            self.folders = folders;
        }
    }

    /// Calls have waited long enough; an answer is still initialize_result.
    pub(super) fn wait_no_more(&mut self) {
        self.awaited_until = None;
    }

    /// The end of the wait for an answer; `None` if there is nothing to wait for.
    pub(super) fn awaited_until(&self) -> Option<Instant> {
        self.awaited_until
    }

    /// The folders that the client works in; none if it has not said.
    pub(super) fn folders(&self) -> &[PathBuf] {
        &self.folders
    }
}

/// The folder of a call.
///
/// # Errors
/// No readable project, or a `root` argument that leads outside. The message is for the model.
pub(super) fn choose(
    settings: &ServerSettings,
    of_client: &[PathBuf],
    argument: Option<&str>,
) -> Result<Root, String> {
    let (first, rest) = allowed(settings, of_client)?;
    let Some(argument) = argument else { return Ok(first) };
    let folders: Vec<&Path> =
        std::iter::once(&first).chain(&rest).map(|root| root.path.as_path()).collect();
    // Relative to the first one; an absolute argument replaces it. The message does not reveal
    // whether a folder outside exists.
    root::exactly(&first.path.join(argument))
        .ok()
        .filter(|chosen| folders.iter().any(|folder| chosen.path.starts_with(folder)))
        .ok_or_else(|| {
            let names: Vec<String> = folders.iter().map(|f| f.display().to_string()).collect();
            format!(
                "root {argument:?} is no folder inside {}: name one, or leave it out",
                names.join(" or ")
            )
        })
}

/// The folders that a call may use, at least one.
fn allowed(settings: &ServerSettings, of_client: &[PathBuf]) -> Result<(Root, Vec<Root>), String> {
    if let Some(fixed) = &settings.fixed_root {
        return root::exactly(fixed).map(|root| (root, Vec::new())).map_err(|e| e.to_string());
    }
    // A root that has been removed is not an error; another one may exist.
    let mut roots = of_client.iter().filter_map(|folder| root::exactly(folder).ok());
    match roots.next() {
        Some(first) => Ok((first, roots.collect())),
        None => root::around(&settings.start).map(|r| (r, Vec::new())).map_err(|e| e.to_string()),
    }
}

/// The folder that a `file:` URI names (RFC 8089); `None` for any other.
pub(super) fn path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    let bytes = percent_decoded(rest.split(['?', '#']).next()?)?;
    let path = PathBuf::from(OsString::from_vec(bytes));
    path.is_absolute().then_some(path)
}

fn percent_decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let (digits, tail) = rest.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = tail;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_uris() {
        let check = |uri: &str, expected: Option<&str>| {
            assert_eq!(path(uri), expected.map(PathBuf::from), "{uri}");
        };
        check("file:///home/a%20b/p", Some("/home/a b/p"));
        check("file://localhost/p", Some("/p"));
        check("file:///p%C3%A9?x#y", Some("/pé"));
        check("file://server/share", None);
        check("https://example.com/p", None);
        check("file:///p%2", None);
        check("file:///p%zz", None);
        check("/p", None);
    }

    #[test]
    fn calls_wait_once_and_a_late_answer_is_welcome() {
        let mut roots = ClientRoots::new(true);
        let id = roots.ask();
        assert!(roots.awaited_until().is_some());
        roots.wait_no_more();
        assert_eq!(roots.awaited_until(), None);
        roots.answer(id.as_ref(), vec![PathBuf::from("/late")]);
        assert_eq!(roots.folders(), [PathBuf::from("/late")]);
        roots.answer(id.as_ref(), Vec::new());
        assert_eq!(roots.folders().len(), 1, "one answer a question");
    }
}
