//! The lines of the archive's files as JSON.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct ArchiveLine<'a> {
    id: Cow<'a, str>,
    tool: Cow<'a, str>,
    text: Cow<'a, str>,
}

/// A result as a line.
///
/// # Errors
/// None in practice: strings always have a JSON form.
pub(super) fn line(id: &str, tool: &str, text: &str) -> serde_json::Result<Vec<u8>> {
    // Usually enough: a line that outgrows its buffer is copied again and again.
    let mut line = Vec::with_capacity(text.len() + text.len() / 8 + 64);
    let entry = ArchiveLine { id: id.into(), tool: tool.into(), text: text.into() };
    serde_json::to_writer(&mut line, &entry)?;
    line.push(b'\n');
    Ok(line)
}

/// The text of the result with this id among the lines of a file.
pub(super) fn text(lines: &[u8], id: &str) -> Option<String> {
    let start = format!("{{\"id\":\"{id}\"");
    let line = lines.split(|&b| b == b'\n').find(|line| line.starts_with(start.as_bytes()))?;
    let entry: ArchiveLine<'_> = serde_json::from_slice(line).ok()?;
    Some(entry.text.into_owned())
}
