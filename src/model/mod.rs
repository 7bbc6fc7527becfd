//! The decision model: questions about texts in, probabilities out, over HTTP.
//!
//! [`settings`] reads who is asked and how; [`Client`] asks one request, with retries; [`pool`]
//! asks many at once. [`crate::rerank`] ranks files with them. This is the only module that opens a
//! connection, and `wire.rs` is its only file that knows a field name. No key is ever part of an
//! output, a log or an error: see [`secret::Secret`].

pub mod batch;
pub mod client;
pub mod error;
pub mod pool;
pub mod resolver;
pub mod retry;
pub(crate) mod run;
pub mod secret;
pub mod settings;
pub mod transport;
pub mod wire;

pub use self::client::Client;
pub use self::error::ModelError;
pub use self::run::{Deadline, Run};
pub use self::settings::Settings;
