//! The pure core: bytes and numbers in, values out.
//!
//! No file, clock, environment, thread, process, network or JSON in here. The wall is the two
//! lints below together with the lists in `clippy.toml`; `tests/it/tidy.rs` holds it a second time.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub(crate) mod blocks;
pub mod bm25;
pub mod compact;
pub mod corpus;
pub mod fuse;
pub(crate) mod hash;
pub mod history;
pub(crate) mod lines;
pub mod matcher;
pub(crate) mod mention;
pub mod query;
pub mod question;
pub mod rank;
pub mod redact;
pub mod signal;
pub mod sketch;
pub mod snippet;
pub mod terms;
pub mod tokenize;
