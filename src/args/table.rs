//! The subcommands and their flags as one table, and the help texts made from it.

use std::fmt::Write as _;

/// One flag of a subcommand. `value` is the placeholder of its argument; `None` marks a switch.
pub(super) struct Flag {
    pub(super) short: Option<char>,
    pub(super) long: &'static str,
    pub(super) value: Option<&'static str>,
    pub(super) help: &'static str,
}

/// One subcommand: its name, its positional arguments, what it does.
pub(super) struct Subcommand {
    pub(super) name: &'static str,
    pub(super) positional: &'static str,
    about: &'static str,
    pub(super) flags: &'static [Flag],
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
    positional: "\"<task>\"|-",
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

pub(super) const COMPACT: Subcommand = Subcommand {
    name: "compact",
    positional: "FILE|- | bench DIR...",
    about: "make a transcript smaller without rewording it",
    flags: &[
        option("host", "NAME", "answer a host's hook; claude-code"),
        option("output", "FILE", "write there, over what is there (default: standard output)")
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
    positional: "[status|build|clear]",
    about: "look at (status, the default), make or remove the index of a project",
    flags: &[ROOT, flag("quiet", "say nothing")],
};

pub(super) const SUBCOMMANDS: &[&Subcommand] =
    &[&PACK, &COMPACT, &RESTORE, &HOOK, &MCP, &DOCTOR, &INDEX];

pub(super) fn overview() -> String {
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

pub(super) fn help(subcommand: &Subcommand) -> String {
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
