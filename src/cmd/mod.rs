//! One file per subcommand: wiring only. Reads settings, calls the edges and the core, renders.

pub mod compact;
pub mod compact_bench;
mod compact_file;
pub mod doctor;
pub mod hook;
pub mod index;
pub mod mcp;
pub mod pack;
pub mod restore;
