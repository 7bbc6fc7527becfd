//! The pure core: bytes and numbers in, values out.
//!
//! No file, clock, environment, thread, process, network or JSON in here. The wall is the two
//! lints below together with the lists in `clippy.toml`; `tests/it/tidy.rs` holds it a second time.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod compact;
pub mod rerank;
pub mod search;
pub mod text;
