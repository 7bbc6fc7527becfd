//! What a path says by itself: is it a test, an example, vendored, built?
//!
//! Paths in, small facts out. The ranking turns them into shares of the score; see `rank`.

/// Parts of a path that mark tests.
const TEST_PARTS: &[&str] = &["test", "tests", "spec", "specs", "testing", "testdata"];

/// Parts of a path that mark what surrounds the product.
const ASIDE_PARTS: &[&str] = &["benchmark", "benchmarks", "bench", "example", "examples", "e2e"];

/// Folders of code that came from elsewhere or was built: right to know, rarely right to edit.
const FOREIGN_FOLDERS: &[&str] = &[
    "vendor",
    "vendored",
    "third_party",
    "thirdparty",
    "node_modules",
    "dist",
    "build",
    "generated",
    "bower_components",
];

/// Is it a test, as people name them? Decides the `(test)` mark of results.
///
/// A folder or part of the name that is *test*, *spec* or such, or a file name that ends in `Test`, `Tests`, `Spec` or `IT`.
#[must_use]
pub fn is_test(path: &[u8]) -> bool {
    let has_part = parts(path).any(|part| is_one_of(part, TEST_PARTS));
    let name = path.rsplit(|&b| b == b'/').next().unwrap_or(path);
    let stem = name.rsplitn(2, |&b| b == b'.').last().unwrap_or(name);
    let camel = |ending: &[u8]| stem.len() > ending.len() && stem.ends_with(ending);
    has_part || camel(b"Test") || camel(b"Tests") || camel(b"Spec") || camel(b"IT")
}

/// Is it a test, a benchmark or an example by the parts of its path, or of a piece of it?
#[must_use]
pub(crate) fn is_aside(path: &[u8]) -> bool {
    parts(path).any(|part| is_one_of(part, TEST_PARTS) || is_one_of(part, ASIDE_PARTS))
}

/// Did what is in this folder come from elsewhere, or was it generated?
#[must_use]
pub(crate) fn is_foreign_folder(path: &[u8]) -> bool {
    path.split(|&b| b == b'/').any(|folder| is_one_of(folder, FOREIGN_FOLDERS))
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

/// Most parts have another length than any of the words.
fn is_one_of(part: &[u8], list: &[&str]) -> bool {
    let is_word =
        |word: &&str| word.len() == part.len() && word.as_bytes().eq_ignore_ascii_case(part);
    list.iter().any(is_word)
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
