//! Compaction: a transcript in, a smaller one out, without a word of it being rewritten.
//!
//! ```text
//! Transcript ──pair──► pairs ──pin, rules──► decisions ──select | questions, decide──► Plan ──apply──► edits ──validate
//! ```

pub mod apply;
pub mod ask;
pub mod baseline;
pub mod brief;
pub mod calibrate;
pub mod decide;
pub mod estimate;
pub mod line;
pub mod local;
pub mod mark;
pub mod pair;
pub mod pin;
pub mod plan;
pub mod question;
pub mod ruler;
pub mod rules;
pub mod run;
pub mod select;
pub mod state;
pub mod stub;
pub mod token;
pub mod transcript;
pub mod validate;
pub mod weights;

mod lexicon;
mod worth;

#[cfg(test)]
mod testing;
