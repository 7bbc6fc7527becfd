//! Search: a task becomes a query, documents are counted for it, and all signals make one ranking.
//!
//! ```text
//! task text ──query──► Query ──matcher, terms──► Corpus ──bm25, history, path_kind, named_files──► rank ──► snippet
//! ```

pub mod bm25;
pub mod corpus;
pub mod history;
pub mod matcher;
pub(crate) mod named_files;
pub mod path_kind;
pub mod query;
pub mod rank;
pub mod snippet;
pub mod terms;
