//! What was said at the previous prompt of a session, so that the same list is not said twice.
//!
//! One small private file a session, named by a hash; it holds a hash of the list and nothing of the person's.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::cache::private;

/// Sessions not heard of for this long are forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(7 * 24 * 3600);

/// The memory of one session.
pub struct Session {
    file: PathBuf,
}

impl Session {
    /// The memory in a folder of ours, for the session of this id.
    #[must_use]
    pub fn open(folder: &Path, session_id: &str) -> Session {
        Session { file: folder.join("sessions").join(format!("{:016x}", hash(session_id))) }
    }

    /// Was this list the last one? Remembers it either way.
    pub fn repeats(&self, list: &str) -> bool {
        let now = format!("{:016x}", hash(list));
        let repeats = fs::read_to_string(&self.file).is_ok_and(|last| last == now);
        if !repeats {
            // A memory that cannot be kept means that a list may be said twice, no more.
            let _ = private::write(&self.file, now.as_bytes());
            self.forget_old_sessions();
        }
        repeats
    }

    /// Forgets the last list: the conversation does not hold it any more.
    pub fn forget(&self) {
        // A session that was told nothing yet has no file.
        let _ = fs::remove_file(&self.file);
    }

    fn forget_old_sessions(&self) {
        let Some(entries) = self.file.parent().and_then(|folder| fs::read_dir(folder).ok()) else {
            return;
        };
        let now = SystemTime::now();
        for entry in entries.flatten() {
            let modified = entry.metadata().and_then(|m| m.modified());
            let age = modified.ok().and_then(|modified| now.duration_since(modified).ok());
            if age.is_some_and(|age| age > FORGOTTEN_AFTER) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// Equal for equal text, in every run of the same program.
fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
