//! The command line: `argv` in, one [`Command`] of plain data out.
//!
//! Flags are a table per subcommand; the parser, the checks and the help text all read that table.
//! Nothing here reads a file or the environment, and nothing below `cmd` sees a flag.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result, anyhow, bail};

/// What the person asked for.
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
    /// Say whether and why the hook would speak.
    Doctor(DoctorArgs),
    /// Look at, make or remove the index of a project.
    Index(IndexArgs),
}

/// `context-packer mcp`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct McpArgs {
    /// The project, whatever the client says; found from the client's roots or the working directory when absent.
    pub root: Option<PathBuf>,
}

/// `context-packer doctor`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct DoctorArgs {
    /// The prompt to judge; an ordinary one when absent.
    pub prompt: Option<String>,
    /// As in [`PackArgs`].
    pub root: Option<PathBuf>,
}

/// `context-packer compact`. What is not given the configuration decides.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CompactArgs {
    /// A file, or `-` for standard input; for `bench` what is to be measured.
    pub input: Vec<String>,
    /// Print the ruler's table.
    pub bench: bool,
    /// Standard input is the object of Claude Code's function hook, and the answer goes to standard output.
    pub host: bool,
    /// Where the result goes; standard output when absent.
    pub output: Option<PathBuf>,
    /// Print the table of decisions in place of the transcript.
    pub dry_run: bool,
    /// The decisions as JSON in place of the transcript.
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
    /// Say nothing.
    pub quiet: bool,
}

/// What to do with an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexAction {
    /// Say what there is.
    Status,
    /// Make or renew it.
    Build,
    /// Remove it.
    Clear,
}

/// `context-packer pack`. `None` means: not given, the configuration decides.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PackArgs {
    /// What is to be done, in the person's words; not empty.
    pub task: String,
    /// Where the project is; the working directory when absent.
    pub root: Option<PathBuf>,
    /// `keywords`, `jev` or `laya`.
    pub provider: Option<String>,
    /// Files to pick, 1 to 50.
    pub limit: Option<usize>,
    /// Files to show the most relevant lines of, 0 to 10.
    pub code: Option<usize>,
    /// One line per pick that says why.
    pub explain: bool,
    /// What would be sent and cost, in place of the answer.
    pub estimate: bool,
    /// JSON in place of text.
    pub json: bool,
}

/// One flag of a subcommand. `value` is the placeholder of its argument; `None` is a switch.
struct Flag {
    short: Option<char>,
    long: &'static str,
    value: Option<&'static str>,
    help: &'static str,
}

/// One subcommand: its name, what stands after its flags, what it is for.
struct Subcommand {
    name: &'static str,
    positional: &'static str,
    about: &'static str,
    flags: &'static [Flag],
}

const fn flag(long: &'static str, help: &'static str) -> Flag {
    Flag { short: None, long, value: None, help }
}

const fn option(long: &'static str, value: &'static str, help: &'static str) -> Flag {
    Flag { short: None, long, value: Some(value), help }
}

impl Flag {
    const fn short(mut self, short: char) -> Flag {
        self.short = Some(short);
        self
    }
}

const ROOT: Flag = option("root", "DIR", "the project (default: found from the working directory)");

const PACK: Subcommand = Subcommand {
    name: "pack",
    positional: "\"<task>\"",
    about: "rank the project's files for a task",
    flags: &[
        ROOT,
        option("provider", "NAME", "keywords (local, default), jev or laya").short('p'),
        option("limit", "N", "files to pick, 1 to 50 (default 10)").short('n'),
        option("code", "N", "show the most relevant lines of the top N files, 0 to 10").short('c'),
        flag("explain", "say why each file was picked").short('e'),
        flag("estimate", "print what would be sent and cost; send nothing"),
        flag("json", "print JSON"),
    ],
};

const HOOK: Subcommand = Subcommand {
    name: "hook",
    positional: "[pre-compact]",
    about: "answer a Claude Code hook: JSON on standard input, JSON or nothing on standard output",
    flags: &[],
};

const COMPACT: Subcommand = Subcommand {
    name: "compact",
    positional: "FILE|- | bench DIR...",
    about: "make a transcript smaller without rewording it",
    flags: &[
        option("host", "NAME", "answer a host's hook; claude-code"),
        option("output", "FILE", "write the transcript there (default: standard output)")
            .short('o'),
        flag("dry-run", "print what would become of each call"),
        flag("json", "print the decisions as JSON"),
        option("policy", "NAME", "local (default), jev or jev-seed"),
        option("target", "SHARE", "share of the size to remove (default 0.5)"),
        option("min-reduction", "SHARE", "refuse to remove less (default 0.25)"),
        option("preserve-recent-messages", "N", "newest messages that stay (default 6)"),
        option("preserve-recent-calls", "N", "newest calls that stay (default 12)"),
        option("keep-threshold", "SCORE", "jev-seed: scores from here up stay (default 0.5)"),
        option("keep-result-threshold", "SCORE", "jev: results below may go (default 0.15)"),
        option("keep-call-threshold", "SCORE", "jev: calls below may go (default 0.05)"),
        option("max-state-tokens", "N", "ceiling of the state for a model (default 25000)"),
        option("max-request-tokens", "N", "ceiling of a request to a model (default 30000)"),
        option("truncate-head-chars", "N", "what stays of a result given up (default 300)"),
        option("goal", "TEXT", "what the work is about, for a model (default: last prompts)"),
        option("archive", "BOOL", "keep what goes, for restore (default true)"),
    ],
};

const RESTORE: Subcommand = Subcommand {
    name: "restore",
    positional: "ID",
    about: "print a tool result that a compaction removed",
    flags: &[],
};

const MCP: Subcommand = Subcommand {
    name: "mcp",
    positional: "",
    about: "serve agents over the Model Context Protocol on standard input and output",
    flags: &[option(
        "root",
        "DIR",
        "the project (default: the client's roots, else found from the working directory)",
    )],
};

const DOCTOR: Subcommand = Subcommand {
    name: "doctor",
    positional: "[\"<prompt>\"]",
    about: "say whether and why the hook would speak here",
    flags: &[ROOT],
};

const INDEX: Subcommand = Subcommand {
    name: "index",
    positional: "status|build|clear",
    about: "look at, make or remove the index of a project",
    flags: &[ROOT, flag("quiet", "say nothing")],
};

const SUBCOMMANDS: &[&Subcommand] = &[&PACK, &COMPACT, &RESTORE, &HOOK, &MCP, &DOCTOR, &INDEX];

/// Reads the command line, program name first.
///
/// # Errors
/// Unknown subcommands and flags (with the closest known one), missing or surplus arguments, values that
/// are not numbers or are out of range. All of them are usage errors.
pub fn parse(argv: impl IntoIterator<Item = OsString>) -> Result<Command> {
    let mut argv = argv.into_iter().skip(1);
    let Some(first) = argv.next() else { return Ok(Command::Help(overview())) };
    let name = first.to_string_lossy();
    match name.as_ref() {
        "-h" | "--help" | "help" => return Ok(Command::Help(overview())),
        "-v" | "-V" | "--version" | "version" => return Ok(Command::Version),
        _ => {}
    }
    let Some(subcommand) = SUBCOMMANDS.iter().find(|s| s.name == name) else {
        let known = SUBCOMMANDS.iter().map(|s| s.name);
        bail!("unknown command {name:?}{}; try --help", suggestion(&name, known));
    };
    let given = Given::read(subcommand, argv)?;
    if given.help {
        return Ok(Command::Help(help(subcommand)));
    }
    match subcommand.name {
        "pack" => pack(&given).map(Command::Pack),
        "compact" => compact(&given).map(Command::Compact),
        "restore" => given.rest().map(Command::Restore).context("restore needs the id of a note"),
        "hook" => Ok(Command::Hook),
        "mcp" => Ok(Command::Mcp(McpArgs { root: given.path("root") })),
        "doctor" => {
            Ok(Command::Doctor(DoctorArgs { prompt: given.rest(), root: given.path("root") }))
        }
        "index" => index(&given).map(Command::Index),
        other => unreachable!("subcommand {other} has no reader"),
    }
}

fn pack(given: &Given) -> Result<PackArgs> {
    let Some(task) = given.rest() else {
        bail!("pack needs a task: context-packer pack \"fix the retry backoff\"");
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

fn compact(given: &Given) -> Result<CompactArgs> {
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
    if !args.host && args.input.is_empty() {
        bail!("compact needs a transcript: context-packer compact FILE, or - for standard input");
    }
    if !bench && args.input.len() > 1 {
        bail!("compact takes one transcript, but got {}", args.input.len());
    }
    Ok(args)
}

fn index(given: &Given) -> Result<IndexArgs> {
    let action = match given.rest().as_deref() {
        None | Some("status") => IndexAction::Status,
        Some("build") => IndexAction::Build,
        Some("clear") => IndexAction::Clear,
        Some(other) => bail!("index has no action {other:?}: use status, build or clear"),
    };
    Ok(IndexArgs { action, root: given.path("root"), quiet: given.has("quiet") })
}

/// The flags and arguments of one subcommand as given, names checked, values still text.
struct Given {
    flags: Vec<(&'static str, OsString)>,
    positionals: Vec<String>,
    help: bool,
}

impl Given {
    fn read(subcommand: &Subcommand, argv: impl Iterator<Item = OsString>) -> Result<Given> {
        let mut given = Given { flags: Vec::new(), positionals: Vec::new(), help: false };
        let mut parser = lexopt::Parser::from_args(argv);
        while let Some(arg) = parser.next()? {
            let flag = match &arg {
                lexopt::Arg::Short('h') | lexopt::Arg::Long("help") => {
                    given.help = true;
                    continue;
                }
                lexopt::Arg::Short(short) => {
                    subcommand.flags.iter().find(|f| f.short == Some(*short))
                }
                lexopt::Arg::Long(long) => subcommand.flags.iter().find(|f| f.long == *long),
                lexopt::Arg::Value(value) => {
                    given.positionals.push(utf8(value, "argument")?);
                    continue;
                }
            };
            let Some(flag) = flag else { return Err(unknown_flag(subcommand, &arg)) };
            let value = if flag.value.is_some() { parser.value()? } else { OsString::new() };
            given.flags.push((flag.long, value));
        }
        if subcommand.positional.is_empty()
            && !given.help
            && let Some(surplus) = given.positionals.first()
        {
            bail!("{} takes no argument, but got {surplus:?}", subcommand.name);
        }
        Ok(given)
    }

    /// What stands after the flags, as one text; `None` when it is blank.
    fn rest(&self) -> Option<String> {
        Some(self.positionals.join(" ")).filter(|text| !text.trim().is_empty())
    }

    /// The last value given wins, as in most tools.
    fn raw(&self, long: &str) -> Option<&OsString> {
        self.flags.iter().rev().find(|(name, _)| *name == long).map(|(_, value)| value)
    }

    fn has(&self, long: &str) -> bool {
        self.raw(long).is_some()
    }

    fn path(&self, long: &str) -> Option<PathBuf> {
        self.raw(long).map(PathBuf::from)
    }

    fn text(&self, long: &str) -> Result<Option<String>> {
        self.raw(long).map(|value| utf8(value, long)).transpose()
    }

    fn number(&self, long: &str, min: usize, max: usize) -> Result<Option<usize>> {
        let Some(text) = self.text(long)? else { return Ok(None) };
        let number: usize = text
            .parse()
            .with_context(|| format!("--{long} takes a whole number, but got {text:?}"))?;
        if !(min..=max).contains(&number) {
            bail!("--{long} must be from {min} to {max}, but got {number}");
        }
        Ok(Some(number))
    }
}

fn utf8(value: &OsString, what: &str) -> Result<String> {
    value.clone().into_string().map_err(|bad| anyhow!("{what} is not UTF-8: {}", bad.display()))
}

fn unknown_flag(subcommand: &Subcommand, arg: &lexopt::Arg<'_>) -> anyhow::Error {
    let (given, hint) = match arg {
        lexopt::Arg::Long(long) => {
            (format!("--{long}"), suggestion(long, subcommand.flags.iter().map(|f| f.long)))
        }
        lexopt::Arg::Short(short) => (format!("-{short}"), String::new()),
        lexopt::Arg::Value(value) => (value.display().to_string(), String::new()),
    };
    let name = subcommand.name;
    anyhow!("{name} has no flag {given}{hint}; try context-packer {name} --help")
}

/// `; did you mean "pack"?` when a known name is at most two edits away.
fn suggestion<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> String {
    known
        .map(|name| (edit_distance(given.as_bytes(), name.as_bytes()), name))
        .filter(|&(distance, _)| distance <= 2)
        .min()
        .map(|(_, name)| format!("; did you mean {name:?}?"))
        .unwrap_or_default()
}

/// Levenshtein distance, in bytes.
fn edit_distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

fn overview() -> String {
    let mut text = String::from(
        "context-packer: the right files for a task before an agent's first turn\n\n\
         Usage: context-packer <command> [options]\n\nCommands:\n",
    );
    for s in SUBCOMMANDS {
        let _ = writeln!(text, "  {:<9} {}", s.name, s.about);
    }
    text.push_str(
        "\n  -h, --help      this text, or a command's own: context-packer pack --help\n",
    );
    text.push_str("      --version   the version\n");
    text
}

fn help(subcommand: &Subcommand) -> String {
    let Subcommand { name, positional, about, flags } = subcommand;
    let space = if positional.is_empty() { "" } else { " " };
    let mut text = format!(
        "context-packer {name}: {about}\n\n\
         Usage: context-packer {name}{space}{positional} [options]\n\nOptions:\n"
    );
    for flag in *flags {
        let short = flag.short.map_or_else(|| "    ".to_owned(), |c| format!("-{c}, "));
        let long = match flag.value {
            Some(value) => format!("--{} {value}", flag.long),
            None => format!("--{}", flag.long),
        };
        let _ = writeln!(text, "  {short}{long:<20} {}", flag.help);
    }
    let _ = writeln!(text, "  -h, {:<20} this text", "--help");
    text
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
        assert!(refused(&["pack", "x", "--limti", "3"]).contains("did you mean \"limit\""));
        assert!(refused(&["pakc", "x"]).contains("did you mean \"pack\""));
    }

    #[test]
    fn help_lists_every_flag_of_the_table() {
        for subcommand in SUBCOMMANDS {
            let Command::Help(text) = read(&[subcommand.name, "--help"]).unwrap() else {
                panic!("no help for {}", subcommand.name)
            };
            for flag in subcommand.flags {
                assert!(text.contains(&format!("--{}", flag.long)), "{text}");
            }
        }
    }
}
