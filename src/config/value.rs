//! Values as people and models write them: numbers in a range, and switches.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use anyhow::{Context as _, Result, bail};

/// A number in a range. `name` is where it came from; `kind` says what it should be, for the error.
///
/// # Errors
/// Text that is not a number, or one out of range.
pub(crate) fn number<T: FromStr + PartialOrd + Display>(
    name: &str,
    text: &str,
    kind: &str,
    range: &RangeInclusive<T>,
) -> Result<T> {
    let value: T = text
        .trim()
        .parse()
        .ok()
        .with_context(|| format!("{name} takes {kind}, but is {text:?}"))?;
    if !range.contains(&value) {
        bail!("{name} must be from {} to {}, but is {value}", range.start(), range.end());
    }
    Ok(value)
}

/// `1`, `true`, `yes`, `on` and their opposites, in any case; `None` for any other word.
pub(crate) fn switch(word: &str) -> Option<bool> {
    const ON: [&str; 4] = ["1", "true", "yes", "on"];
    const OFF: [&str; 4] = ["0", "false", "no", "off"];
    let is_one_of = |words: [&str; 4]| words.iter().any(|w| w.eq_ignore_ascii_case(word.trim()));
    match () {
        () if is_one_of(ON) => Some(true),
        () if is_one_of(OFF) => Some(false),
        () => None,
    }
}

/// [`switch`] for a setting.
///
/// # Errors
/// Any other word; the message names where it came from.
pub(crate) fn setting_switch(name: &str, text: &str) -> Result<bool> {
    switch(text).with_context(|| format!("{name} must be true or false, but is {text:?}"))
}
