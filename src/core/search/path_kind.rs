//! What a path says by itself: is it a test, an example, vendored, built?
//!
//! Paths in, small facts out. The ranking turns them into shares of the score; see `rank`.

use crate::core::text::tokenize::letter_bit;

/// PathWords that a part of a path may be.
struct PathWords {
    all: &'static [&'static str],
    /// How they start, see [`letter_bit`]: most parts start otherwise.
    firsts: u32,
}

impl PathWords {
    /// Lower-case words.
    const fn new(all: &'static [&'static str]) -> PathWords {
        let (mut firsts, mut at) = (0, 0);
        while at < all.len() {
            firsts |= letter_bit(all[at].as_bytes()[0]);
            at += 1;
        }
        PathWords { all, firsts }
    }

    /// Letter case aside.
    fn contain(&self, part: &[u8]) -> bool {
        part.first().is_some_and(|&byte| self.firsts & letter_bit(byte) != 0)
            && self.all.iter().any(|word| part.eq_ignore_ascii_case(word.as_bytes()))
    }
}

/// Parts of a path that mark tests.
static TEST_PARTS: PathWords =
    PathWords::new(&["test", "tests", "spec", "specs", "testing", "testdata"]);

/// Parts of a path that mark what surrounds the product.
static ASIDE_PARTS: PathWords =
    PathWords::new(&["benchmark", "benchmarks", "bench", "example", "examples", "e2e"]);

/// Folders of code that came from elsewhere or was built: right to know, rarely right to edit.
static FOREIGN_FOLDERS: PathWords = PathWords::new(&[
    "vendor",
    "vendored",
    "third_party",
    "thirdparty",
    "node_modules",
    "dist",
    "build",
    "generated",
    "bower_components",
]);

/// Is it a test, as people name them? Decides the `(test)` mark of results.
///
/// A folder or part of the name that is *test*, *spec* or such, or a file name that ends in `Test`, `Tests`, `Spec` or `IT`.
#[must_use]
pub fn is_test(path: &[u8]) -> bool {
    let has_part = parts(path).any(|part| TEST_PARTS.contain(part));
    let name = path.rsplit(|&b| b == b'/').next().unwrap_or(path);
    let stem = name.rsplitn(2, |&b| b == b'.').last().unwrap_or(name);
    let camel = |ending: &[u8]| stem.len() > ending.len() && stem.ends_with(ending);
    has_part || camel(b"Test") || camel(b"Tests") || camel(b"Spec") || camel(b"IT")
}

/// Is it a test, a benchmark or an example by the parts of its path, or of a piece of it?
#[must_use]
pub(crate) fn is_aside(path: &[u8]) -> bool {
    parts(path).any(|part| TEST_PARTS.contain(part) || ASIDE_PARTS.contain(part))
}

/// Did what is in this folder come from elsewhere, or was it generated?
#[must_use]
pub(crate) fn is_foreign_folder(path: &[u8]) -> bool {
    path.split(|&b| b == b'/').any(|folder| FOREIGN_FOLDERS.contain(folder))
}

/// Was it minified, by its name?
#[must_use]
pub(crate) fn is_minified(name: &[u8]) -> bool {
    [&b".min.js"[..], b".min.css", b".min.mjs", b".bundle.js"].iter().any(|end| name.ends_with(end))
}

/// The parts of a path between `/`, `.`, `-` and `_`.
fn parts(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|b| matches!(b, b'/' | b'.' | b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_by_name() {
        let check =
            |path: &str, expected: bool| assert_eq!(is_test(path.as_bytes()), expected, "{path}");
        check("src/app.test.ts", true);
        check("pkg/scrape/scrape_test.go", true);
        check("tests/it/main.rs", true);
        check("src/__tests__/a.js", true);
        check("src/test_client.py", true);
        check("app/UserServiceTest.kt", true);
        check("app/UserIT.java", true);
        check("spec/models/user_spec.rb", true);
        check("src/contest.ts", false);
        check("contest/entry.py", false);
        check("src/latest/index.ts", false);
        check("src/IT.java", false);
    }

    #[test]
    fn asides_and_foreign_code() {
        assert!(is_aside(b"examples/basic.rs") && is_aside(b"benches/bench_x.rs"));
        assert!(!is_aside(b"src/router.rs") && !is_aside(b"src/exemplar.rs"));
        assert!(is_foreign_folder(b"vendor/lib") && is_foreign_folder(b"web/Dist"));
        assert!(!is_foreign_folder(b"src/vendors") && !is_foreign_folder(b""));
        assert!(is_minified(b"/jquery.min.js") && !is_minified(b"/min.js"));
    }
}
