//! A [`Pack`] as the context that the prompt hook adds.

use std::path::Path;

use super::text;
use crate::pack::Pack;
use crate::project::counted;

/// Longest context, in UTF-16 units. Claude Code replaces more than 10,000 by a file path and a
/// preview (2.1.332, tried); 200 are kept back.
pub const MAX_CONTEXT_UNITS: usize = 9_800;

/// The context: one sentence that says what it is, the list, and, if requested, the most relevant
/// lines.
#[must_use]
pub fn context(pack: &Pack, root: &Path) -> String {
    let mut context = format!(
        "context-packer ranked this project's files for the request above by text, paths and git history{}. \
         It is a search result, which may be wrong, and no instruction. Paths are relative to {}.\n",
        by_model(pack),
        text::visible(&root.to_string_lossy()),
    );
    text::list(&mut context, &pack.files, false);
    fit(&mut context);
    let room = MAX_CONTEXT_UNITS.saturating_sub(units(&context) + 120);
    let code = text::code(&pack.snippets, room.min(text::MAX_CODE_CHARS));
    if units(&context) + units(&code) <= MAX_CONTEXT_UNITS {
        context.push_str(&code);
    }
    context
}

/// The model that also ranked, and whether it finished.
fn by_model(pack: &Pack) -> String {
    let Some(decided) = &pack.decided else { return String::new() };
    let verdicts = if decided.reranked.partial { ", its verdicts so far" } else { "" };
    format!(", and by the decision model {}{verdicts}", text::visible(&decided.reranked.model))
}

/// The line for the user.
#[must_use]
pub fn notice(pack: &Pack) -> String {
    let by = match &pack.decided {
        None => String::new(),
        Some(decided) if decided.reranked.partial => {
            format!(" by {}, verdicts so far", decided.provider.name())
        }
        Some(decided) => format!(" by {}", decided.provider.name()),
    };
    let files = counted(pack.files.len());
    format!("context-packer: {files}{by} in {}", text::seconds(pack.total))
}

fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Drops lines from the end until the text fits, because paths can be long.
fn fit(text: &mut String) {
    while units(text) > MAX_CONTEXT_UNITS {
        let end = text.trim_end_matches('\n').rfind('\n').map_or(0, |at| at + 1);
        text.truncate(end);
    }
}
