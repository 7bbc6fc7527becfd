//! The command line: `argv` in, one [`Command`] of plain data out.
//!
//! Flags are a table per subcommand; the parser, the checks and the help text all read that table.
//! Nothing here reads a file or the environment, and nothing below `cmd` sees a flag.

mod given;
mod table;

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use self::given::{ParsedArgs, suggestion};
use self::table::{COMPACT, SUBCOMMANDS, Subcommand, help, overview};

/// What the user asked for.
#[derive(Debug)]
pub enum Command {
    /// Print this text.
    Help(String),
    /// Print the version.
    Version,
    /// Rank the project's files for a task.
    Pack(PackArgs),
    /// Answer a hook of Claude Code; settings come from the environment.
    Hook,
    /// Compact a transcript, or answer the function hook.
    Compact(CompactArgs),
    /// Print what a compaction removed.
    Restore(String),
    /// Serve agents over the Model Context Protocol.
    Mcp(McpArgs),
    /// Explain whether the hook would add context, and why.
    Doctor(DoctorArgs),
    /// Show, build or remove the index of a project.
    Index(IndexArgs),
}

/// `context-packer mcp`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct McpArgs {
    /// The project, whatever the client says. By default found from the client's roots or the
    /// working directory.
    pub root: Option<PathBuf>,
}

/// `context-packer doctor`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct DoctorArgs {
    /// The prompt to examine; by default an ordinary one.
    pub prompt: Option<String>,
    /// As in [`PackArgs`].
    pub root: Option<PathBuf>,
}

/// `context-packer compact`. The configuration decides what is not given.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CompactArgs {
    /// A file, or `-` for standard input; for `bench` the files and folders to measure.
    pub input: Vec<String>,
    /// Print the table of retention.
    pub bench: bool,
    /// Read the object of Claude Code's function hook from standard input, write the answer to
    /// standard output.
    pub host: bool,
    /// Where the result goes; by default standard output.
    pub output: Option<PathBuf>,
    /// Print the table of decisions instead of the transcript.
    pub dry_run: bool,
    /// Print the decisions as JSON instead of the transcript.
    pub json: bool,
    /// Settings given as flags, without the dashes.
    pub settings: Vec<(&'static str, String)>,
}

/// `context-packer index`.
#[derive(Debug, PartialEq, Eq)]
pub struct IndexArgs {
    /// What to do.
    pub action: IndexAction,
    /// As in [`PackArgs`].
    pub root: Option<PathBuf>,
    /// Print nothing.
    pub quiet: bool,
}

/// What to do with an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexAction {
    /// Show the index.
    Status,
    /// Make or reindex it.
    Build,
    /// Remove it.
    Clear,
}

/// `context-packer pack`. `None` means not given: the configuration decides.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PackArgs {
    /// The task in the user's words, not empty; `-` for standard input.
    pub task: String,
    /// Where the project is; by default the working directory.
    pub root: Option<PathBuf>,
    /// `keywords`, `jev` or `laya`.
    pub provider: Option<String>,
    /// Files to pick, 1 to 50.
    pub limit: Option<usize>,
    /// Files whose most relevant lines are shown, 0 to 10.
    pub code: Option<usize>,
    /// Add a line per file that says why it was picked.
    pub explain: bool,
    /// Print what would be sent and what it would cost, instead of the answer.
    pub estimate: bool,
    /// Print JSON instead of text.
    pub json: bool,
}

/// Reads the command line, program name first.
///
/// # Errors
/// Unknown subcommands and flags (with the closest known one), missing or surplus arguments, values
/// that are not numbers or are out of range. All of them are usage errors.
pub fn parse(argv: impl IntoIterator<Item = OsString>) -> Result<Command> {
    let mut argv = argv.into_iter().skip(1);
    let Some(first) = argv.next() else { return Ok(Command::Help(overview())) };
    let name = first.to_string_lossy();
    match name.as_ref() {
        "-h" | "--help" => return Ok(Command::Help(overview())),
        "help" => {
            let of = argv.next().map(|name| known(&name.to_string_lossy())).transpose()?;
            return Ok(Command::Help(of.map_or_else(overview, help)));
        }
        "-v" | "-V" | "--version" | "version" => return Ok(Command::Version),
        _ => {}
    }
    let subcommand = known(&name)?;
    let given = ParsedArgs::read(subcommand, argv)?;
    if given.help {
        return Ok(Command::Help(help(subcommand)));
    }
    match subcommand.name {
        "pack" => pack(&given).map(Command::Pack),
        "compact" => compact(&given).map(Command::Compact),
        "restore" => {
            let id = given.rest().map(Command::Restore);
            id.context("restore needs the id of a note: context-packer restore 576f4ec784ab")
        }
        "hook" => Ok(Command::Hook),
        "mcp" => Ok(Command::Mcp(McpArgs { root: given.path("root") })),
        "doctor" => {
            Ok(Command::Doctor(DoctorArgs { prompt: given.rest(), root: given.path("root") }))
        }
        "index" => index(&given).map(Command::Index),
        other => unreachable!("subcommand {other} has no reader"),
    }
}

fn known(name: &str) -> Result<&'static Subcommand> {
    let found = SUBCOMMANDS.iter().copied().find(|subcommand| subcommand.name == name);
    found.with_context(|| {
        let names = SUBCOMMANDS.iter().map(|subcommand| subcommand.name);
        format!("unknown command {name:?}{}; try --help", suggestion("", name, names))
    })
}

fn pack(given: &ParsedArgs) -> Result<PackArgs> {
    let Some(task) = given.rest() else {
        bail!(
            "pack needs a task: context-packer pack \"fix the retry backoff\", or - for standard input"
        );
    };
    Ok(PackArgs {
        task,
        root: given.path("root"),
        provider: given.text("provider")?,
        limit: given.number("limit", 1, 50)?,
        code: given.number("code", 0, 10)?,
        explain: given.has("explain"),
        estimate: given.has("estimate"),
        json: given.has("json"),
    })
}

fn compact(given: &ParsedArgs) -> Result<CompactArgs> {
    let host = given.text("host")?;
    if let Some(other) = host.as_deref().filter(|host| *host != "claude-code") {
        bail!("--host is claude-code, but got {other:?}");
    }
    let settings = COMPACT.flags.iter().map(|flag| flag.long);
    let settings = settings.filter(|name| !matches!(*name, "host" | "output" | "dry-run" | "json"));
    let settings = settings.filter_map(|name| Some((name, given.text(name).transpose()?)));
    let bench = given.positionals.first().is_some_and(|first| first == "bench");
    let args = CompactArgs {
        input: given.positionals[usize::from(bench)..].to_vec(),
        bench,
        host: host.is_some(),
        output: given.path("output"),
        dry_run: given.has("dry-run"),
        json: given.has("json"),
        settings: settings.map(|(name, value)| Ok((name, value?))).collect::<Result<_>>()?,
    };
    if bench && args.input.is_empty() {
        bail!(
            "compact bench needs a folder of transcripts: context-packer compact bench ~/.claude/projects/*/"
        );
    }
    if !args.host && args.input.is_empty() {
        bail!("compact needs a transcript: context-packer compact FILE, or - for standard input");
    }
    if !bench && args.input.len() > 1 {
        bail!("compact takes one transcript, but got {}", args.input.len());
    }
    Ok(args)
}

fn index(given: &ParsedArgs) -> Result<IndexArgs> {
    let action = match given.rest().as_deref() {
        None | Some("status") => IndexAction::Status,
        Some("build") => IndexAction::Build,
        Some("clear") => IndexAction::Clear,
        Some(other) => bail!("index has no action {other:?}: use status, build or clear"),
    };
    Ok(IndexArgs { action, root: given.path("root"), quiet: given.has("quiet") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &[&str]) -> Result<Command> {
        parse(std::iter::once("context-packer").chain(line.iter().copied()).map(OsString::from))
    }

    fn refused(line: &[&str]) -> String {
        match read(line) {
            Ok(command) => panic!("{line:?} was taken as {command:?}"),
            Err(error) => format!("{error:#}"),
        }
    }

    #[test]
    fn pack_reads_every_flag() {
        let line =
            ["pack", "fix", "it", "-n", "3", "--code=2", "-ep", "jev", "--root", "/r", "--json"];
        let Command::Pack(args) = read(&line).unwrap() else { panic!("not a pack") };
        let expected = PackArgs {
            task: "fix it".into(),
            root: Some("/r".into()),
            provider: Some("jev".into()),
            limit: Some(3),
            code: Some(2),
            explain: true,
            estimate: false,
            json: true,
        };
        assert_eq!(args, expected);
    }

    #[test]
    fn usage_errors_name_the_object_and_the_remedy() {
        assert!(refused(&["pack"]).contains("needs a task"));
        assert!(refused(&["pack", "x", "--limit", "0"]).contains("--limit must be from 1 to 50"));
        assert!(refused(&["pack", "x", "-n", "many"]).contains("whole number"));
        assert!(refused(&["pack", "x", "--limti", "3"]).contains("did you mean \"--limit\""));
        assert!(refused(&["pack", "x", "--limt", "3"]).contains("did you mean \"--limit\""));
        assert!(refused(&["pack", "x", "-n"]).contains("--limit needs a value: --limit N: files"));
        assert!(!refused(&["pack", "x", "-n", "many"]).contains("invalid digit"));
        assert!(refused(&["compact", "bench"]).contains("compact bench needs a folder"));
        assert!(refused(&["restore"]).contains("context-packer restore 5"));
        assert!(refused(&["compact", "--host"]).contains("--host needs a value"));
        assert!(refused(&["help", "pakc"]).contains("did you mean \"pack\""));
        assert!(refused(&["pakc", "x"]).contains("did you mean \"pack\""));
    }

    #[test]
    fn help_lists_every_flag_of_the_table() {
        for subcommand in SUBCOMMANDS {
            let Command::Help(text) = read(&[subcommand.name, "--help"]).unwrap() else {
                panic!("no help for {}", subcommand.name)
            };
            let Command::Help(same) = read(&["help", subcommand.name]).unwrap() else {
                panic!("no help on {}", subcommand.name)
            };
            assert_eq!(text, same);
            for flag in subcommand.flags {
                assert!(text.contains(&format!("--{}", flag.long)), "{text}");
            }
        }
    }
}
