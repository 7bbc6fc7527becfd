//! Integration tests: the whole program, its invariants and its failures, in one binary.
// A test binary has no callers: its harness is public to its own modules, and a failed unwrap is the report.
#![allow(unreachable_pub, missing_docs, clippy::unwrap_used)]

mod cli;
mod compact;
mod compact_hostile;
mod compact_http;
mod compact_model;
mod compact_properties;
#[allow(dead_code)] // Used by the program of the same name as well.
#[path = "../fake/mod.rs"]
mod fake;
mod harness;
mod hook;
mod index;
mod mcp;
mod model;
mod model_cli;
mod pack;
mod plugin;
mod reports;
mod tidy;
