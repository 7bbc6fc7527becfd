//! Old edits lose their bulk, never their existence: arguments whose text later events made worthless.
//!
//! Input: pairs and what is pinned. Output: for each pair the arguments that may be replaced by a note. Used only when
//! the target needs it.

use std::collections::HashMap;

use super::notes::is_note;
use super::pair::Pair;
use super::plan::is_tool;
use super::transcript::{ArgumentValue, char_count};

/// Shorter arguments stay, in characters: a note takes a third of this.
const MIN_ARGUMENT: usize = 200;

/// Indices of arguments to replace, for each pair. `is_fixed[i]`: the pair is not to be touched. O(pairs).
#[must_use]
pub fn stubs(pairs: &[Pair<'_, '_>], is_fixed: &[bool]) -> Vec<Vec<usize>> {
    let mut rewritten: HashMap<&str, ()> = HashMap::new();
    let mut stubs = vec![Vec::new(); pairs.len()];
    for (i, pair) in pairs.iter().enumerate().rev() {
        let Some(path) = pair.call.path() else { continue };
        let is_write = is_tool(pair, &["Write"]);
        let is_edit = is_tool(pair, &["Edit"]);
        if !(is_write || is_edit) || pair.result.is_error {
            // A later read of the whole file shows what was written.
            if is_tool(pair, &["Read"]) && !pair.result.is_error && is_whole_read(pair) {
                rewritten.insert(path, ());
            }
            continue;
        }
        if !is_fixed[i] && pair.call.is_editable {
            // What an edit replaced is no longer in the file; what a file held before it was written anew, neither.
            let name = match () {
                () if is_edit => Some("old_string"),
                () if rewritten.contains_key(path) => Some("content"),
                () => None,
            };
            stubs[i].extend(name.and_then(|name| long_argument(pair, name)));
        }
        if is_write {
            rewritten.insert(path, ());
        }
    }
    stubs
}

fn is_whole_read(pair: &Pair<'_, '_>) -> bool {
    pair.call.argument("offset").is_none() && pair.call.argument("limit").is_none()
}

fn long_argument(pair: &Pair<'_, '_>, name: &str) -> Option<usize> {
    pair.call.arguments.iter().position(|argument| match &argument.value {
        ArgumentValue::Text(text) => {
            argument.name == name && char_count(text) > MIN_ARGUMENT && !is_note(text)
        }
        ArgumentValue::Number(_) | ArgumentValue::Other(_) => false,
    })
}
