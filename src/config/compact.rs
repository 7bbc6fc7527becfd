//! Settings of compaction: one table, read from flags, plugin options and the environment, in this
//! order of precedence.
//!
//! The host passes every plugin option with its default filled in, so an option that equals the
//! default counts as not given. Out-of-range values are errors that name their source.

use anyhow::{Context as _, Result, bail};

use super::{Environment, value};
use crate::core::compact::local::LocalOptions;
use crate::core::compact::local::weights::LineWeights;
use crate::core::compact::pin::PinOptions;

/// A numeric setting: its names, its default and its range (inclusive).
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Flag, without the dashes. The variable is `CONTEXT_PACKER_COMPACT_` and this in capitals;
    /// the plugin option is `compact_` and this with underscores.
    pub name: &'static str,
    /// The default.
    pub default: f64,
    /// Smallest value allowed.
    pub min: f64,
    /// Largest value allowed.
    pub max: f64,
    /// Only whole numbers are allowed.
    pub is_whole: bool,
}

const fn share(name: &'static str, default: f64, min: f64, max: f64) -> Setting {
    Setting { name, default, min, max, is_whole: false }
}

const fn count(name: &'static str, default: f64, max: f64) -> Setting {
    Setting { name, default, min: 0.0, max, is_whole: true }
}

/// Share of the size to remove.
pub const TARGET: Setting = share("target", 0.5, 0.05, 0.95);
/// Smallest reduction at which the result is used; the reference implementation's default.
pub const MIN_REDUCTION: Setting = share("min-reduction", 0.25, 0.0, 1.0);
/// Newest messages that stay; the reference implementation's default.
pub const RECENT_MESSAGES: Setting = count("preserve-recent-messages", 6.0, 100_000.0);
/// Newest calls that stay; `LocalOptions::DEFAULT` says why.
pub const RECENT_CALLS: Setting = count("preserve-recent-calls", 12.0, 100_000.0);
/// Policy `jev-seed`: scores at or above it keep a call and its result; the reference
/// implementation's default.
pub const KEEP_THRESHOLD: Setting = share("keep-threshold", 0.5, 0.0, 1.0);
/// Policy `jev`: results scored below it are removed first. Proposed by users of the reference
/// implementation from real answers.
pub const RESULT_THRESHOLD: Setting = share("keep-result-threshold", 0.15, 0.0, 1.0);
/// Policy `jev`: calls scored below it may be removed with their results. Proposed by users of the
/// reference implementation from real answers.
pub const CALL_THRESHOLD: Setting = share("keep-call-threshold", 0.05, 0.0, 1.0);
/// Limit of the state sent to a model, in estimated tokens; the reference implementation's default.
pub const MAX_STATE_TOKENS: Setting = count("max-state-tokens", 25_000.0, 1_000_000.0);
/// Limit of a request, in estimated tokens; the reference implementation's default.
pub const MAX_REQUEST_TOKENS: Setting = count("max-request-tokens", 30_000.0, 1_000_000.0);
/// What stays of a result that a model removed, in characters; the reference implementation's
/// default.
pub const TRUNCATE_HEAD: Setting = count("truncate-head-chars", 300.0, 1_000_000.0);

/// Every numeric setting, for help texts and tests.
pub const SETTINGS: &[&Setting] = &[
    &TARGET,
    &MIN_REDUCTION,
    &RECENT_MESSAGES,
    &RECENT_CALLS,
    &KEEP_THRESHOLD,
    &RESULT_THRESHOLD,
    &CALL_THRESHOLD,
    &MAX_STATE_TOKENS,
    &MAX_REQUEST_TOKENS,
    &TRUNCATE_HEAD,
];

/// Who decides what is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// The line selector; no model, no network.
    Local,
    /// A decision model ranks, a budget cuts.
    Jev,
    /// The reference implementation's wording, thresholds and outcomes.
    JevSeed,
}

impl Policy {
    /// The name as parsed and printed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Policy::Local => "local",
            Policy::Jev => "jev",
            Policy::JevSeed => "jev-seed",
        }
    }

    fn parse(text: &str) -> Result<Policy> {
        let all = [Policy::Local, Policy::Jev, Policy::JevSeed];
        let found = all.into_iter().find(|policy| policy.name() == text.trim());
        found.with_context(|| format!("unknown policy {text:?}: use local, jev or jev-seed"))
    }
}

/// All settings of a compaction.
#[derive(Debug, Clone)]
pub struct CompactSettings {
    /// Who decides.
    pub policy: Policy,
    /// Pins, target and weights.
    pub local: LocalOptions,
    /// Share in [0, 1].
    pub min_reduction: f64,
    /// Score in [0, 1].
    pub keep_threshold: f64,
    /// Score in [0, 1].
    pub keep_result_threshold: f64,
    /// Score in [0, 1].
    pub keep_call_threshold: f64,
    /// Estimated tokens.
    pub max_state_tokens: usize,
    /// Estimated tokens.
    pub max_request_tokens: usize,
    /// Characters.
    pub truncate_head_chars: usize,
    /// The user's goal; by default taken from the transcript.
    pub goal: Option<String>,
    /// Archive what is removed, for `restore`.
    pub archive: bool,
}

/// Flags as given: name without dashes, value.
pub type Flags<'a> = &'a [(&'static str, String)];

/// The effective settings.
///
/// # Errors
/// A value that is not a number, is out of range or names no policy. The message names its source.
pub fn read(flags: Flags<'_>, environment: Environment<'_>) -> Result<CompactSettings> {
    let number = |setting: &Setting| setting.read(flags, environment);
    let policy = match lookup("policy", "local", flags, environment) {
        Some((name, value)) => Policy::parse(&value).with_context(|| format!("in {name}"))?,
        None => Policy::Local,
    };
    let pin = PinOptions {
        recent_messages: number(&RECENT_MESSAGES)? as usize,
        recent_calls: if policy == Policy::JevSeed { 0 } else { number(&RECENT_CALLS)? as usize },
        protect: policy != Policy::JevSeed,
    };
    Ok(CompactSettings {
        policy,
        local: LocalOptions { pin, target: number(&TARGET)?, weights: LineWeights::DEFAULT },
        min_reduction: number(&MIN_REDUCTION)?,
        keep_threshold: number(&KEEP_THRESHOLD)?,
        keep_result_threshold: number(&RESULT_THRESHOLD)?,
        keep_call_threshold: number(&CALL_THRESHOLD)?,
        max_state_tokens: number(&MAX_STATE_TOKENS)? as usize,
        max_request_tokens: number(&MAX_REQUEST_TOKENS)? as usize,
        truncate_head_chars: number(&TRUNCATE_HEAD)? as usize,
        goal: lookup("goal", "", flags, environment).map(|(_, value)| value),
        archive: match lookup("archive", "true", flags, environment) {
            Some((name, value)) => value::setting_switch(&name, &value)?,
            None => true,
        },
    })
}

impl Setting {
    fn read(&self, flags: Flags<'_>, environment: Environment<'_>) -> Result<f64> {
        let default = self.default.to_string();
        let Some((name, text)) = lookup(self.name, &default, flags, environment) else {
            return Ok(self.default);
        };
        let value = value::number(&name, &text, "a number", &(self.min..=self.max))?;
        if self.is_whole && value.fract() != 0.0 {
            bail!("{name} takes a whole number, but is {value}");
        }
        Ok(value)
    }
}

/// The value of a setting and where it came from.
fn lookup(
    name: &'static str,
    default: &str,
    flags: Flags<'_>,
    environment: Environment<'_>,
) -> Option<(String, String)> {
    if let Some((_, value)) = flags.iter().rev().find(|(flag, _)| *flag == name) {
        return Some((format!("--{name}"), value.clone()));
    }
    let capitals = name.replace('-', "_").to_ascii_uppercase();
    let option = format!("CLAUDE_PLUGIN_OPTION_COMPACT_{capitals}");
    let variable = format!("CONTEXT_PACKER_COMPACT_{capitals}");
    let given = |name: String| environment(&name).map(|value| (name, value));
    let option = given(option).filter(|(_, value)| value.trim() != default && !value.is_empty());
    option.or_else(|| given(variable))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(environment: &[(&str, &str)], flags: Flags<'_>) -> Result<CompactSettings> {
        read(flags, &|name| {
            environment.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn flags_before_options_before_the_environment() {
        const VARIABLE: (&str, &str) = ("CONTEXT_PACKER_COMPACT_TARGET", "0.6");
        let target = |environment: &[(&str, &str)], flags: Flags<'_>| {
            (settings(environment, flags).unwrap().local.target * 100.0) as i64
        };
        assert_eq!(target(&[], &[]), 50);
        assert_eq!(target(&[VARIABLE], &[]), 60);
        let option = ("CLAUDE_PLUGIN_OPTION_COMPACT_TARGET", "0.7");
        assert_eq!(target(&[VARIABLE, option], &[]), 70);
        let filled_in = ("CLAUDE_PLUGIN_OPTION_COMPACT_TARGET", "0.5");
        assert_eq!(target(&[VARIABLE, filled_in], &[]), 60);
        assert_eq!(target(&[VARIABLE, option], &[("target", "0.8".into())]), 80);
    }

    #[test]
    fn out_of_range_values_are_errors_that_name_their_source() {
        let refused = |environment: &[(&str, &str)], flags: Flags<'_>| {
            format!("{:#}", settings(environment, flags).unwrap_err())
        };
        let threshold = [("CONTEXT_PACKER_COMPACT_KEEP_THRESHOLD", "1.01")];
        assert!(refused(&threshold, &[]).contains("KEEP_THRESHOLD must be from 0 to 1"));
        assert!(refused(&[], &[("target", "NaN".into())]).contains("--target must be"));
        assert!(refused(&[], &[("target", "half".into())]).contains("--target takes a number"));
        assert!(!refused(&[], &[("target", "half".into())]).contains("invalid float"));
        let policy = [("CLAUDE_PLUGIN_OPTION_COMPACT_POLICY", "best")];
        assert!(refused(&policy, &[]).contains("unknown policy"));
        let calls = [("CONTEXT_PACKER_COMPACT_PRESERVE_RECENT_CALLS", "1.5")];
        assert!(refused(&calls, &[]).contains("whole number"));
    }
}
