//! The program: arguments in, an exit code out.
//!
//! The only place that prints an error and the only one that decides the exit code:
//! 0 success, 1 failure, 2 wrong usage. A hook never fails: see `hook`.

use std::io::{self, IsTerminal as _, Write};
use std::process::ExitCode;

use context_packer::args::{self, Command};
use context_packer::cmd;

/// Wrong usage, as of the seed and of most Unix tools.
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    let command = match args::parse(std::env::args_os()) {
        Ok(command) => command,
        Err(usage) => {
            print_error(&format!("context-packer: {usage:#}\n"));
            return ExitCode::from(EXIT_USAGE);
        }
    };
    match run(command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            print_error(&format!("context-packer: {error:#}\n"));
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Help(text) => print(&text),
        Command::Version => print(&format!("context-packer {}\n", env!("CARGO_PKG_VERSION"))),
        Command::Pack(args) => cmd::pack::run(&args, &progress()),
        Command::Mcp(args) => cmd::mcp::run(args),
        Command::Compact(args) => cmd::compact::run(&args),
        Command::Restore(id) => cmd::restore::run(&id),
        Command::Doctor(args) => cmd::doctor::run(&args),
        Command::Index(args) => cmd::index::run(&args),
        Command::Hook => {
            fail_open();
            cmd::hook::run();
            Ok(())
        }
    }
}

/// From here on a panic is silence, success, and a line in the log: a bug of ours must not break the person's turn.
fn fail_open() {
    #[expect(clippy::exit, reason = "a panic hook has no caller to return an exit code to")]
    std::panic::set_hook(Box::new(|bug| {
        cmd::hook::log_panic(bug.location());
        std::process::exit(0)
    }));
}

/// How far the requests to a decision model are, on a line of its own; only for a person who looks at it.
fn progress() -> impl Fn(usize, usize) + Sync {
    let is_watched = io::stderr().is_terminal();
    move |done, all| {
        if is_watched {
            let end = if done == all { "\x1b[2K\r" } else { "" };
            print_error(&format!("\rasking the model: {done} of {all} requests{end}"));
        }
    }
}

fn print(text: &str) -> anyhow::Result<()> {
    Ok(io::stdout().lock().write_all(text.as_bytes())?)
}

/// A closed standard error is nobody's fault and must not become a panic.
fn print_error(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// `context-packer pack … | head` is not a failure.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
    })
}
