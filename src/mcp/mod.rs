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

pub use server::serve;

use std::path::PathBuf;

use crate::config::Provider;
use crate::pack::decide::Models;
use crate::project::files::Extensions;

/// What the server is told by its surroundings.
#[derive(Debug)]
pub struct Settings {
    /// The project, when the person has named one: then what the client says does not matter.
    pub fixed_root: Option<PathBuf>,
    /// Where to look for the project when neither the person nor the client names one.
    pub start: PathBuf,
    /// Who ranks when a call does not say so; or what is wrong with that setting, which every such call is told.
    pub provider: Result<Provider, String>,
    /// Who may be asked to rank.
    pub models: Models,
    /// Which files count as source.
    pub extensions: Extensions,
    /// The folder of indexes; without one every file is read.
    pub index: Option<PathBuf>,
}
