//! The flags and arguments of one subcommand: names checked against the table, values parsed on
//! demand.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};

use super::table::Subcommand;
use crate::config::value;

/// The flags and arguments of one subcommand. Names are checked; values are still text.
pub(super) struct ParsedArgs {
    flags: Vec<(&'static str, OsString)>,
    pub(super) positionals: Vec<String>,
    pub(super) help: bool,
}

impl ParsedArgs {
    pub(super) fn read(
        subcommand: &Subcommand,
        argv: impl Iterator<Item = OsString>,
    ) -> Result<ParsedArgs> {
        let mut given = ParsedArgs { flags: Vec::new(), positionals: Vec::new(), help: false };
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
            let value = match flag.value {
                Some(kind) => parser.value().map_err(|_| {
                    anyhow!("--{0} needs a value: --{0} {kind}: {1}", flag.long, flag.help)
                })?,
                None => OsString::new(),
            };
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

    /// The positional arguments as one text; `None` if it is blank.
    pub(super) fn rest(&self) -> Option<String> {
        Some(self.positionals.join(" ")).filter(|text| !text.trim().is_empty())
    }

    /// The last value given wins, as in most tools.
    fn raw(&self, long: &str) -> Option<&OsString> {
        self.flags.iter().rev().find(|(name, _)| *name == long).map(|(_, value)| value)
    }

    pub(super) fn has(&self, long: &str) -> bool {
        self.raw(long).is_some()
    }

    pub(super) fn path(&self, long: &str) -> Option<PathBuf> {
        self.raw(long).map(PathBuf::from)
    }

    pub(super) fn text(&self, long: &str) -> Result<Option<String>> {
        self.raw(long).map(|value| utf8(value, long)).transpose()
    }

    pub(super) fn number(&self, long: &str, min: usize, max: usize) -> Result<Option<usize>> {
        let Some(text) = self.text(long)? else { return Ok(None) };
        let number = value::number(&format!("--{long}"), &text, "a whole number", &(min..=max))?;
        Ok(Some(number))
    }
}

fn utf8(value: &OsString, what: &str) -> Result<String> {
    value.clone().into_string().map_err(|bad| anyhow!("{what} is not UTF-8: {}", bad.display()))
}

fn unknown_flag(subcommand: &Subcommand, arg: &lexopt::Arg<'_>) -> anyhow::Error {
    let (given, hint) = match arg {
        lexopt::Arg::Long(long) => {
            (format!("--{long}"), suggestion("--", long, subcommand.flags.iter().map(|f| f.long)))
        }
        lexopt::Arg::Short(short) => (format!("-{short}"), String::new()),
        lexopt::Arg::Value(value) => (value.display().to_string(), String::new()),
    };
    let name = subcommand.name;
    anyhow!("{name} has no flag {given}{hint}; try context-packer {name} --help")
}

/// `; did you mean "pack"?` if a known name is at most two edits away. The prefix goes before every
/// name.
pub(super) fn suggestion<'a>(
    prefix: &str,
    given: &str,
    known: impl Iterator<Item = &'a str>,
) -> String {
    known
        .map(|name| (edit_distance(given.as_bytes(), name.as_bytes()), name))
        .filter(|&(distance, _)| distance <= 2)
        .min()
        .map(|(_, name)| format!("; did you mean \"{prefix}{name}\"?"))
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
