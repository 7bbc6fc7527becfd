//! JSON without a tree: values stay slices of the input, so that whatever is not edited keeps its bytes.
//!
//! Strings are decoded only where somebody reads them; positions come from the slices themselves. The names of
//! the formats' fields are in `*_wire.rs` beside this file.

use std::borrow::Cow;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::core::compact::transcript::{Argument, ArgumentValue, json_chars};

/// A JSON value as it stands in the input.
pub(crate) type Raw<'a> = &'a RawValue;

/// The fields of a line that somebody reads; `None` for a line that is no such object.
pub(crate) fn row<'a, R: Deserialize<'a>>(line: &'a [u8]) -> Option<R> {
    serde_json::from_slice(line).ok()
}

/// A field that is there, `null` included, which serde takes for a field that is not.
pub(crate) fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Raw<'de>>, D::Error> {
    Raw::deserialize(from).map(Some)
}

/// Whether the value is `null`.
pub(crate) fn is_null(raw: Raw<'_>) -> bool {
    raw.get() == "null"
}

/// The value as a string; `None` when it is no string, or one that no text can hold (a lone surrogate).
pub(crate) fn text(raw: Raw<'_>) -> Option<Cow<'_, str>> {
    let json = raw.get();
    let inner = json.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str(json).ok().map(Cow::Owned)
}

/// The value as a list.
pub(crate) fn list(raw: Raw<'_>) -> Option<Vec<Raw<'_>>> {
    raw.get().starts_with('[').then(|| serde_json::from_str(raw.get()).ok())?
}

/// Whether the value is `true`.
pub(crate) fn is_true(raw: Option<Raw<'_>>) -> bool {
    raw.is_some_and(|raw| raw.get() == "true")
}

/// Whether the value is this string.
pub(crate) fn is(raw: Option<Raw<'_>>, expected: &str) -> bool {
    raw.and_then(text).is_some_and(|text| text == expected)
}

/// Where a value is in the input it was read from.
pub(crate) fn range_in(input: &[u8], raw: Raw<'_>) -> Range<usize> {
    let start = raw.get().as_ptr() as usize - input.as_ptr() as usize;
    start..start + raw.get().len()
}

/// The fields of an object, in order; `None` when it is no object.
pub(crate) fn fields(raw: Raw<'_>) -> Option<Vec<(Cow<'_, str>, Raw<'_>)>> {
    struct ObjectFields;
    impl<'de> Visitor<'de> for ObjectFields {
        type Value = Vec<(Cow<'de, str>, Raw<'de>)>;

        fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            out.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut fields = Vec::new();
            while let Some(name) = map.next_key::<Raw<'de>>()? {
                let name = text(name).ok_or_else(|| A::Error::custom("a name is no text"))?;
                fields.push((name, map.next_value()?));
            }
            Ok(fields)
        }
    }
    let mut deserializer = serde_json::Deserializer::from_str(raw.get());
    raw.get().starts_with('{').then(|| deserializer.deserialize_map(ObjectFields).ok())?
}

/// The arguments of a call and their length as JSON with `", "` and `": "` between items, in characters.
/// Arguments that are no object count as none.
pub(crate) fn arguments(raw: Raw<'_>) -> (Vec<Argument<'_>>, usize) {
    let Some(fields) = fields(raw) else { return (Vec::new(), spaced_chars(raw.get())) };
    let separators = fields.len().saturating_sub(1) * 2;
    let mut chars = 2 + separators;
    let mut arguments = Vec::with_capacity(fields.len());
    for (name, raw) in fields {
        let value = argument(raw);
        chars += json_chars(&name) + 2;
        chars += match &value {
            ArgumentValue::Text(text) => json_chars(text),
            ArgumentValue::Number(_) | ArgumentValue::Other(_) => spaced_chars(raw.get()),
        };
        arguments.push(Argument { name, value });
    }
    (arguments, chars)
}

fn argument(raw: Raw<'_>) -> ArgumentValue<'_> {
    match raw.get().as_bytes().first() {
        Some(b'"') => match text(raw) {
            Some(text) => ArgumentValue::Text(text),
            None => ArgumentValue::Other(Cow::Borrowed(raw.get())),
        },
        Some(b'-' | b'0'..=b'9') => match raw.get().parse() {
            Ok(number) => ArgumentValue::Number(number),
            Err(_) => ArgumentValue::Other(Cow::Borrowed(raw.get())),
        },
        _ => ArgumentValue::Other(Cow::Borrowed(raw.get())),
    }
}

/// Length of a JSON text with `", "` and `": "` between items, in characters.
fn spaced_chars(json: &str) -> usize {
    let (mut chars, mut rest) = (0, json);
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => string_end(rest),
            _ => first.len_utf8(),
        };
        chars += match first {
            '"' => serde_json::from_str::<String>(&rest[..length])
                .map_or(length, |text| json_chars(&text)),
            ',' | ':' => 2,
            ' ' | '\t' | '\n' | '\r' => 0,
            _ => 1,
        };
        rest = &rest[length..];
    }
    chars
}

/// The end of the string that the text starts with.
fn string_end(json: &str) -> usize {
    let bytes = json.as_bytes();
    let mut at = 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// An object with new strings in place of the values at these indices; `None` when it is no object.
pub(crate) fn with_strings(object: Raw<'_>, values: &[(usize, String)]) -> Option<Box<RawValue>> {
    let json = object.get();
    let fields = fields(object)?;
    let (mut output, mut at) = (String::with_capacity(json.len()), 0);
    for (index, value) in values {
        let range = range_in(json.as_bytes(), fields.get(*index)?.1);
        output.push_str(json.get(at..range.start)?);
        output.push_str(&quote(value));
        at = range.end;
    }
    output.push_str(json.get(at..)?);
    RawValue::from_string(output).ok()
}

/// A text as a JSON string.
pub(crate) fn quote(text: &str) -> String {
    // A string always serializes; an empty JSON string is what is left of the impossible case.
    serde_json::to_string(text).unwrap_or_else(|_| "\"\"".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    fn check_chars(json: &str, spaced: &str) {
        assert_eq!(arguments(&raw(json)).1, spaced.chars().count(), "{json}");
    }

    #[test]
    fn arguments_are_measured_with_spaces_between_items() {
        check_chars("{}", "{}");
        check_chars(
            r#"{"a":"x\ny","b":[1,{"c":null}]}"#,
            r#"{"a": "x\ny", "b": [1, {"c": null}]}"#,
        );
        check_chars(r#"{ "é" : "é/" }"#, r#"{"é": "é/"}"#);
        check_chars(r#"{"n":-1.5e3,"t":true}"#, r#"{"n": -1.5e3, "t": true}"#);
    }

    #[test]
    fn strings_that_no_text_can_hold_are_none() {
        assert_eq!(text(&raw(r#""a\ud800b""#)), None);
        assert_eq!(text(&raw(r#""a\u00e9b""#)).as_deref(), Some("aéb"));
        assert_eq!(text(&raw("17")), None);
    }

    #[test]
    fn deep_nesting_is_carried_but_not_looked_into() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let object = format!(r#"{{"a":{deep},"b":"x"}}"#);
        let boxed = raw(&object);
        assert_eq!(arguments(&boxed).0.len(), 2);
    }
}
