//! Integration tests: the whole program, its invariants and its failures, in one binary.

mod cli;
mod harness;
