//! The decision model: questions about texts in, probabilities out, over HTTP.
//!
//! [`settings`] reads who is asked and how; [`Client`] asks one request, with retries; [`pool`] asks many at once;
//! [`pack`] ranks a project's files with them and [`laya`] does so with the model on this machine. This is the only
//! module that opens a connection, and `wire.rs` is its only file that knows a field name. No key is ever part
//! of an output, a log or an error: see [`secret::Secret`].

pub mod batch;
pub mod calls;
pub mod client;
pub mod error;
pub mod estimate;
pub mod laya;
pub mod pack;
pub mod passes;
pub mod pool;
pub mod resolver;
pub mod retry;
mod run;
pub mod secret;
pub mod settings;
pub mod transport;
pub mod wire;

pub use client::Client;
pub use error::Error;
pub use pack::{Project, Reranked, rerank};
pub use run::{Deadline, Run};
pub use settings::Settings;
