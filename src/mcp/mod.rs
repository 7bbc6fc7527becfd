//! The edge to agents: a server of the Model Context Protocol on standard input and output.
//!
//! One thread reads lines, one answers, and each tool call has its own, so that a ping, a
//! cancellation or another call never waits for a ranking. [`server`] keeps all state and writes
//! every line; [`calls`] and [`roots`] are parts of it.

mod arguments;
mod calls;
mod roots;
pub mod server;
mod tools;
mod wire;

pub use self::server::serve;

use std::path::PathBuf;
use std::sync::Arc;

use crate::rerank::Models;

/// The server's settings.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// The project that the user named, if any. It overrides the client's roots.
    pub fixed_root: Option<PathBuf>,
    /// Where to look for the project if neither the user nor the client names one.
    pub start: PathBuf,
    /// Where a call reads its settings. Errors in them are reported by the call, because somebody
    /// reads its answer.
    pub environment: fn(&str) -> Option<String>,
    /// The models that may be asked to rank; opened once, so that a token budget covers all calls.
    pub models: Arc<Models>,
}
