//! Text and bytes: words, lines, hashes, redaction of credentials.

pub(crate) mod blocks;
pub(crate) mod hash;
pub(crate) mod lines;
pub mod redact;
pub mod tokenize;
