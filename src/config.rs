//! Settings: defaults < environment < plugin options < flags.
//!
//! Every setting is one [`Number`] or one function here, with its unit, range and sources. Nothing
//! below `cmd` reads the environment. Keys (`TYPESAFE_API_KEY` …) are read by name where they are
//! used, and never logged.

pub mod compact;
pub(crate) mod value;

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use crate::cache::private;
use crate::index;
use crate::project::files::Extensions;
use crate::project::root::Root;
use crate::project::{Project, scan};

/// Looks up a variable; tests pass a table instead of the process's environment.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The process's environment. Empty values count as unset, and so do values that are not UTF-8.
#[must_use]
pub fn process_environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// A whole-number setting: its sources, its default and its range (inclusive).
#[derive(Debug, Clone, Copy)]
pub struct Number {
    /// Environment variable.
    pub variable: &'static str,
    /// Key in `plugin.json`'s `userConfig`; arrives as `CLAUDE_PLUGIN_OPTION_<KEY>`, only if the
    /// user set it.
    pub option: Option<&'static str>,
    /// The default. `tests/it/plugin.rs` compares it with `plugin.json`.
    pub default: u64,
    /// Smallest value allowed.
    pub min: u64,
    /// Largest value allowed.
    pub max: u64,
}

impl Number {
    /// The effective value.
    ///
    /// # Errors
    /// A value that is not a whole number or is out of range; the message names the variable it
    /// came from.
    pub fn read(&self, environment: Environment<'_>) -> Result<u64> {
        let Some((name, text)) = lookup(self.variable, self.option, environment) else {
            return Ok(self.default);
        };
        value::number(&name, &text, "a whole number", &(self.min..=self.max))
    }
}

/// An on/off setting: `1`, `true`, `yes`, `on` and their opposites.
#[derive(Debug, Clone, Copy)]
pub struct Switch {
    /// As in [`Number`].
    pub variable: &'static str,
    /// As in [`Number`].
    pub option: Option<&'static str>,
    /// As in [`Number`].
    pub default: bool,
}

impl Switch {
    /// The effective value.
    ///
    /// # Errors
    /// Any other word; the message names the variable it came from.
    pub fn read(&self, environment: Environment<'_>) -> Result<bool> {
        let Some((name, text)) = lookup(self.variable, self.option, environment) else {
            return Ok(self.default);
        };
        value::setting_switch(&name, &text)
    }
}

/// Files that the prompt hook lists. Every list stays in the conversation: eight lines are about
/// 150 tokens.
pub const HOOK_LIMIT: Number = Number {
    variable: "CONTEXT_PACKER_HOOK_LIMIT",
    option: Some("hook_limit"),
    default: 8,
    min: 1,
    max: 20,
};

/// Files whose lines the prompt hook shows.
pub const HOOK_CODE: Number = Number {
    variable: "CONTEXT_PACKER_HOOK_CODE",
    option: Some("hook_code"),
    default: 0,
    min: 0,
    max: 10,
};

/// Milliseconds after which the prompt hook gives up. The host's own limit for it is in
/// `hooks.json`.
pub const HOOK_DEADLINE_MS: Number = Number {
    variable: "CONTEXT_PACKER_HOOK_DEADLINE",
    option: Some("hook_deadline_ms"),
    default: 8_000,
    min: 50,
    max: 25_000,
};

/// Whether the user is told which files were added.
pub const HOOK_NOTICE: Switch =
    Switch { variable: "CONTEXT_PACKER_HOOK_NOTICE", option: Some("hook_notice"), default: true };

/// Whether an index is used, and built where there is none.
pub const INDEX: Switch =
    Switch { variable: "CONTEXT_PACKER_INDEX", option: Some("index"), default: true };

/// The folder of indexes; `None` if indexes are switched off or there is no cache folder.
///
/// # Errors
/// A switch that is neither on nor off.
pub fn index(environment: Environment<'_>) -> Result<Option<PathBuf>> {
    let folder = INDEX.read(environment)?.then(|| private::folder(environment)).flatten();
    Ok(folder.map(|folder| index::folder(&folder)))
}

/// A project with the settings that decide which of its files are ranked.
///
/// # Errors
/// A setting with a wrong value.
pub fn project(root: Root, environment: Environment<'_>) -> Result<Project> {
    Ok(Project {
        root,
        extensions: extensions(environment),
        max_file_bytes: scan::MAX_FILE_BYTES,
        index: index(environment)?,
    })
}

/// Who ranks for the prompt hook.
///
/// # Errors
/// An unknown name.
pub fn hook_provider(environment: Environment<'_>) -> Result<Provider> {
    match lookup("CONTEXT_PACKER_HOOK_PROVIDER", Some("provider"), environment) {
        Some((name, value)) => Provider::parse(&value).with_context(|| format!("in {name}")),
        None => Ok(Provider::default()),
    }
}

/// Who ranks for the command line without a flag.
///
/// # Errors
/// An unknown name.
pub fn provider(environment: Environment<'_>) -> Result<Provider> {
    match lookup("CONTEXT_PACKER_PROVIDER", None, environment) {
        Some((name, value)) => Provider::parse(&value).with_context(|| format!("in {name}")),
        None => Ok(Provider::default()),
    }
}

/// Which files count as source.
#[must_use]
pub fn extensions(environment: Environment<'_>) -> Extensions {
    environment("CONTEXT_PACKER_EXTENSIONS")
        .map_or_else(Extensions::default, |s| Extensions::parse(&s))
}

/// The value of a setting and the variable it came from. The plugin's option takes precedence.
fn lookup(
    variable: &str,
    option: Option<&str>,
    environment: Environment<'_>,
) -> Option<(String, String)> {
    let option = option.map(|key| format!("CLAUDE_PLUGIN_OPTION_{}", key.to_ascii_uppercase()));
    option
        .into_iter()
        .chain(std::iter::once(variable.to_owned()))
        .find_map(|name| environment(&name).map(|value| (name, value)))
}

/// Who ranks: the local ranking alone, or a decision model on top of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Provider {
    /// Local, no model, no network.
    #[default]
    Keywords,
    /// The hosted decision model; sends sketches and excerpts.
    Jev,
    /// A decision model on this machine.
    Laya,
}

impl Provider {
    /// The name as given on the command line and printed in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Provider::Keywords => "keywords",
            Provider::Jev => "jev",
            Provider::Laya => "laya",
        }
    }

    /// # Errors
    /// A name that is none of the three (`bm25` is an older name of `keywords`).
    pub fn parse(name: &str) -> Result<Provider> {
        match name.trim() {
            "keywords" | "bm25" => Ok(Provider::Keywords),
            "jev" => Ok(Provider::Jev),
            "laya" => Ok(Provider::Laya),
            other => bail!("unknown provider {other:?}: use keywords, jev or laya"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Number = Number {
        variable: "CONTEXT_PACKER_HOOK_LIMIT",
        option: Some("hook_limit"),
        default: 8,
        min: 1,
        max: 20,
    };

    fn check(environment: &[(&str, &str)], expected: std::result::Result<u64, &str>) {
        let lookup = |name: &str| {
            environment.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
        };
        match (LIMIT.read(&lookup), expected) {
            (Ok(value), Ok(expected)) => assert_eq!(value, expected),
            (Err(error), Err(part)) => assert!(format!("{error:#}").contains(part), "{error:#}"),
            (got, expected) => panic!("{environment:?}: got {got:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn defaults_environment_options_in_that_order() {
        check(&[], Ok(8));
        check(&[("CONTEXT_PACKER_HOOK_LIMIT", "5")], Ok(5));
        let both =
            [("CONTEXT_PACKER_HOOK_LIMIT", "5"), ("CLAUDE_PLUGIN_OPTION_HOOK_LIMIT", " 12 ")];
        check(&both, Ok(12));
    }

    #[test]
    fn bad_values_are_errors_that_name_their_source() {
        check(&[("CONTEXT_PACKER_HOOK_LIMIT", "0")], Err("CONTEXT_PACKER_HOOK_LIMIT must be from"));
        check(&[("CLAUDE_PLUGIN_OPTION_HOOK_LIMIT", "x")], Err("CLAUDE_PLUGIN_OPTION_HOOK_LIMIT"));
    }
}
