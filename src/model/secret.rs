//! A key that cannot be printed by mistake: no `Debug` and no `Display` shows its content.

use std::fmt;

/// A key. It goes into a request header and nowhere else.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a key without surrounding spaces; a blank one is no key.
    #[must_use]
    pub fn new(key: &str) -> Option<Secret> {
        let key = key.trim();
        (!key.is_empty()).then(|| Secret(key.to_owned()))
    }

    /// The value of the header that sends it.
    pub(super) fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// The text without the key, in case a server echoed it.
    #[must_use]
    pub fn hide_in(&self, text: &str) -> String {
        text.replace(&self.0, crate::core::text::redact::MARK)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_way_of_printing_shows_the_key() {
        let secret = Secret::new(" abc123 \n").unwrap();
        assert_eq!(format!("{secret:?}{secret:#?}"), "Secret(…)Secret(…)");
        assert_eq!(secret.hide_in("bad key abc123."), "bad key [redacted].");
        assert_eq!(secret.bearer(), "Bearer abc123");
        assert_eq!(Secret::new("  "), None);
    }
}
