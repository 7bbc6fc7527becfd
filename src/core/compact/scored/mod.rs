//! Compaction with a decision model: what it is shown, what it is asked, and what its scores decide.

pub mod ask;
pub mod decide;
pub mod model_context;
pub mod question;
