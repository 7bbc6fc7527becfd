//! The cache folder: private files written atomically, and the archive of what compaction removed.

pub mod archive;
mod archive_wire;
pub mod private;
