//! Results → text, JSON, hook output. No decisions, no I/O.

pub mod compact;
pub mod compact_wire;
pub mod hook;
pub mod json;
pub mod text;
