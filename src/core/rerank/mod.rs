//! What a decision model is asked about files, and how its verdicts join the ranking.

pub mod fuse;
pub mod request;
pub mod sketch;
pub mod tokens;
