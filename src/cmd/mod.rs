//! One file per subcommand, wiring only: read settings, call the edges and the core, render.

pub mod compact;
pub mod compact_bench;
mod compact_file;
pub mod doctor;
pub mod hook;
pub mod index;
pub mod mcp;
pub mod pack;
pub mod restore;
