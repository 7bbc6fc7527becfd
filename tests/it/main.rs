//! Integration tests: the whole program, its invariants and its failures, in one binary.
// A test binary has no callers: its harness is public to its own modules, and a failed unwrap is the report.
#![allow(unreachable_pub, missing_docs, clippy::unwrap_used)]

mod cli;
mod harness;
mod hook;
mod mcp;
mod pack;
mod plugin;
mod reports;
mod tidy;
