//! The pure core: bytes and numbers in, values out.
//!
//! No file, clock, environment, thread, process, network or JSON in here. The two lints below
//! enforce this with the lists in `clippy.toml`; `tests/it/tidy.rs` also enforces it.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod compact;
pub mod rerank;
pub mod search;
pub mod text;
