//! Compaction: a transcript in, a smaller one out, without a word of it being rewritten.
//!
//! ```text
//! Transcript ──pair──► pairs ──pin, rules──► decisions ──select | questions, decide──► Plan ──apply──► edits ──validate
//! ```

pub mod apply;
pub mod baseline;
pub mod brief;
pub mod elide_arguments;
pub mod line;
pub mod local;
pub mod notes;
pub mod pair;
pub mod pin;
pub mod plan;
pub mod retention;
pub mod rules;
pub mod run;
pub mod scored;
pub mod token;
pub mod token_rate;
pub mod transcript;
pub mod validate;

#[cfg(test)]
mod testing;
