//! The edge to agents: a server of the Model Context Protocol on standard input and output.
//!
//! One thread reads lines, one answers, and each tool call has its own: a ping, a cancellation or another call never
//! waits for a ranking. [`server`] keeps all state and writes every line; [`calls`] and [`roots`] are its parts.

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

/// What the server is told by its surroundings.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// The project, when the person has named one: then what the client says does not matter.
    pub fixed_root: Option<PathBuf>,
    /// Where to look for the project when neither the person nor the client names one.
    pub start: PathBuf,
    /// Where a call reads its settings; what is wrong with them is told to the call, for someone reads that.
    pub environment: fn(&str) -> Option<String>,
    /// Who may be asked to rank; opened once, so that a token budget covers all calls.
    pub models: Arc<Models>,
}
