//! context-packer: the right files for a task before an agent's first turn, and compaction without a summary.
//!
//! The path of a piece of data; every arrow is a file of that name:
//!
//! ```text
//! hook JSON / argv / MCP call
//!    │ hook::wire, args, mcp::wire              bytes → Task { text, root, limit, provider }
//! Task ──core::query──► Query { terms with weights, identifiers, paths, quoted }
//! root ──project::files──► FileEntry ──project::scan + core::matcher (or project::index)──► core::corpus::Corpus
//! HEAD ──project::history──► core::history::History { subjects, files touched }
//!    │ core::bm25 + core::signal ─► Explained score ─core::rank─► [Candidate], in a total order
//!    ├─ keywords: stop here
//!    ├─ core::question ─► batches ─model::pool─► Verdicts ─core::fuse─► [Candidate]
//! Pack { files with reasons, snippets, warnings, timings } ──render──► stdout
//! ```
//!
//! Compaction is the same picture: `rows → [Call] → rules → select | questions → Verdicts → decide → apply → validate → rows`.
//! The command line, the hook and the MCP server differ only in the first and the last arrow.
//!
//! `core` is pure; `project`, `model`, `hook`, `transcript` and `mcp` are the edges; `render` turns results
//! into bytes; `cmd` wires them together. `ARCHITECTURE.md` says why.

pub mod args;
pub mod cache;
pub mod cmd;
pub mod compact;
pub mod config;
pub mod core;
pub mod first_stage;
pub mod hook;
pub mod index;
pub mod mcp;
pub mod model;
pub mod pack;
pub mod project;
pub mod render;
pub mod rerank;
mod threads;
pub mod transcript;
