//! What a decision model is shown of files and asked about them, and how its verdicts join the ranking.

pub mod fuse;
pub mod request;
pub mod sketch;
pub mod tokens;
