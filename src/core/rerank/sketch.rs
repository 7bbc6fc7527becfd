//! A sketch of a file in about 300 tokens: its path and its declarations, each with the first line
//! of its comment.
//!
//! In: path and bytes of a file. Out: a text without credentials (see
//! [`crate::core::text::redact`]) and how many were redacted. Works line by line on leading words;
//! nothing is parsed, and any bytes are accepted.

use std::borrow::Cow;

use bstr::ByteSlice as _;

use super::request::cut;
use crate::core::text::lines::ranges;
use crate::core::text::redact::{is_secret_file, redact};

/// Longest sketch: 300 tokens at four characters each, as in the reference implementation.
pub const SKETCH_CHARS: usize = 1_200;
/// Bytes of a file that are scanned: declarations after them never fit anyway.
const READ_BYTES: usize = 200_000;
/// Longest declaration and longest comment shown.
const LINE_CHARS: usize = 160;
/// Deepest declaration in columns, as in the reference implementation: members of a type, and
/// members of a type in a namespace.
const MAX_INDENT: usize = 8;
/// Replaces the text of a file whose name says that it holds credentials.
const WITHHELD: &str = "(not sent: a file of credentials by its name)";

/// A text for the model and the number of credentials redacted in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// What may be sent.
    pub text: String,
    /// Number of credentials replaced.
    pub redacted: usize,
}

/// The shape of declarations in a family of languages.
struct Language {
    extensions: &'static str,
    /// First word of a declaration, after modifiers.
    keywords: &'static str,
    /// Whether a line starts a comment.
    comments: fn(&[u8]) -> bool,
    /// Whether `name(…) {` without a keyword declares a function or method.
    braces: bool,
}

const SLASHES: fn(&[u8]) -> bool = |line| matches!(line, [b'/', b'/' | b'*', ..] | [b'*', ..]);
const HASH: fn(&[u8]) -> bool = |line| line.starts_with(b"#");
const DASHES: fn(&[u8]) -> bool = |line| matches!(line, [b'-' | b'{', b'-', ..]);
const OTHERS: fn(&[u8]) -> bool =
    |line| matches!(line, [b'/', b'/', ..] | [b'(', b'*', ..] | [b';' | b'%' | b'\'', ..]);

const LANGUAGES: &[Language] = &[
    Language {
        extensions: "kt kts",
        keywords: "class interface object fun typealias val var enum",
        comments: SLASHES,
        braces: false,
    },
    Language {
        extensions: "rs",
        keywords: "fn struct enum trait impl type mod const static union macro_rules!",
        comments: SLASHES,
        braces: false,
    },
    Language {
        extensions: "go",
        keywords: "func type var const",
        comments: SLASHES,
        braces: false,
    },
    Language { extensions: "py", keywords: "def class", comments: HASH, braces: false },
    Language {
        extensions: "rb ex exs cr jl",
        keywords: "def class module defmodule defp defmacro function struct",
        comments: HASH,
        braces: false,
    },
    Language {
        extensions: "sh bash zsh ps1 pl r",
        keywords: "function sub package",
        comments: HASH,
        braces: true,
    },
    Language {
        extensions: "ts tsx js jsx mjs cjs mts cts vue svelte astro",
        keywords: "class interface function function* type enum namespace const module",
        comments: SLASHES,
        braces: true,
    },
    Language {
        extensions: "java scala groovy cs dart",
        keywords: "class interface enum record object trait def namespace",
        comments: SLASHES,
        braces: true,
    },
    Language {
        extensions: "c h cc cpp cxx hpp hh m mm zig",
        keywords: "struct class enum union typedef namespace template #define @interface @implementation fn",
        comments: SLASHES,
        braces: true,
    },
    Language {
        extensions: "php",
        keywords: "class interface trait function enum namespace",
        comments: SLASHES,
        braces: false,
    },
    Language {
        extensions: "swift",
        keywords: "class struct enum protocol extension func actor var let",
        comments: SLASHES,
        braces: false,
    },
    Language {
        extensions: "proto graphql tf sol",
        keywords: "message service rpc enum type input interface query mutation resource module variable contract function event struct",
        comments: SLASHES,
        braces: false,
    },
    Language {
        extensions: "lua sql hs elm",
        keywords: "function create alter class data type newtype instance module",
        comments: DASHES,
        braces: false,
    },
    Language {
        extensions: "fs ml mli clj cljs erl vb",
        keywords: "let module type class (defn (defn- (def (ns (defmacro -module -export sub function",
        comments: OTHERS,
        braces: false,
    },
];

/// For all other files: words that start declarations in most languages.
const OTHER: Language = Language {
    extensions: "",
    keywords: "class interface function def fn func struct enum trait type",
    comments: SLASHES,
    braces: false,
};

/// Modifiers, which do not tell the kind of a declaration.
fn is_modifier(word: &[u8]) -> bool {
    matches!(
        word,
        b"pub"
            | b"pub(crate)"
            | b"pub(super)"
            | b"export"
            | b"default"
            | b"public"
            | b"protected"
            | b"static"
            | b"abstract"
            | b"final"
            | b"open"
            | b"override"
            | b"async"
            | b"unsafe"
            | b"extern"
            | b"internal"
            | b"sealed"
            | b"data"
            | b"suspend"
            | b"inline"
            | b"virtual"
            | b"declare"
            | b"partial"
            | b"readonly"
            | b"local"
            | b"external"
            | b"CREATE"
    )
}

/// First words of statements that look like `name(…) {`.
fn is_control(word: &[u8]) -> bool {
    matches!(
        word,
        b"if"
            | b"for"
            | b"while"
            | b"switch"
            | b"catch"
            | b"else"
            | b"return"
            | b"do"
            | b"try"
            | b"with"
            | b"when"
            | b"synchronized"
            | b"throw"
            | b"new"
            | b"await"
            | b"case"
            | b"using"
            | b"lock"
            | b"foreach"
            | b"}"
            | b"elif"
            | b"until"
    )
}

/// The sketch of a file. Linear in the first 200 kB.
#[must_use]
pub fn sketch(path: &str, source: &[u8]) -> Shown {
    let heading = format!("path: {path}\n");
    if is_secret_file(path) {
        return Shown { text: heading + WITHHELD, redacted: 0 };
    }
    let room = SKETCH_CHARS.saturating_sub(heading.chars().count());
    let head = &source[..source.len().min(READ_BYTES)];
    // Redacts before truncating, so that no half of a credential remains.
    let outline = outline(language_of(path), head, room);
    let (clean, hidden) = redact(&outline.text);
    Shown { text: heading + cut(&clean, room), redacted: outline.redacted + hidden }
}

/// The package and the declarations, one line each, up to the first that ends after `chars`.
/// Redacts only what it truncates.
fn outline(language: &Language, source: &[u8], chars: usize) -> Shown {
    let keywords: Vec<&[u8]> = language.keywords.split(' ').map(str::as_bytes).collect();
    // The last line may start just before the limit.
    let mut outline = String::with_capacity(chars + 4 * LINE_CHARS);
    let (mut counted, mut length, mut hidden) = (0, 0, 0);
    let mut comment: Option<&[u8]> = None;
    let mut lines = ranges(source).map(|line| source[line].trim_ascii_end()).peekable();
    while let Some(line) = lines.next() {
        let text = line.trim_ascii_start();
        let indent = indent(&line[..line.len() - text.len()]);
        let is_comment = starts_comment(language, text);
        let declared = || declaration(language, &keywords, indent, text);
        if text.starts_with(b"package ") {
            outline.push_str(&text.to_str_lossy());
            outline.push('\n');
        } else if let Some(declared) = (!is_comment).then(declared).flatten() {
            let next = || lines.peek().and_then(|next| docstring(next));
            let comment = comment.take().map(words_of);
            hidden += describe(&mut outline, indent, declared, comment.or_else(next));
        } else {
            comment = carried_comment(text, is_comment, comment);
            continue;
        }
        length += outline[counted..].chars().count();
        counted = outline.len();
        if length >= chars {
            break;
        }
    }
    Shown { text: outline, redacted: hidden }
}

/// The start of a file's source under its path, at most `chars` characters of it.
#[must_use]
pub fn excerpt(path: &str, source: &[u8], chars: usize) -> Shown {
    let heading = format!("path: {path}\n");
    let body = body(path, source, chars);
    Shown { text: heading + &body.text, redacted: body.redacted }
}

/// The start of a file's source, redacted before it is truncated so that no half of a credential
/// remains.
#[must_use]
pub fn body(path: &str, source: &[u8], chars: usize) -> Shown {
    if is_secret_file(path) {
        return Shown { text: WITHHELD.to_owned(), redacted: 0 };
    }
    // A character has at most four bytes. A little more is read so that a credential at the limit
    // is seen whole.
    let head = source[..source.len().min(4 * chars + 4_096)].to_str_lossy();
    let (clean, redacted) = redact(cut(&head, chars + 1_024));
    Shown { text: cut(&clean, chars).to_owned(), redacted }
}

fn language_of(path: &str) -> &'static Language {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    let knows = |language: &&Language| language.extensions.split(' ').any(|e| e == extension);
    LANGUAGES.iter().find(knows).unwrap_or(&OTHER)
}

/// `  - fn name(…)  // first line of its comment`, two spaces per four columns of indent. Returns
/// how many credentials it redacted.
fn describe(outline: &mut String, indent: usize, declared: &[u8], doc: Option<&[u8]>) -> usize {
    (0..indent / 4).for_each(|_| outline.push_str("  "));
    outline.push_str("- ");
    let mut hidden = push_cut(outline, declared);
    if let Some(doc) = doc {
        outline.push_str("  // ");
        hidden += push_cut(outline, doc);
    }
    outline.push('\n');
    hidden
}

/// Appends the start of a piece and returns how many credentials were redacted before it was
/// truncated. If nothing is truncated, redaction is left for later.
fn push_cut(outline: &mut String, piece: &[u8]) -> usize {
    let piece = piece.to_str_lossy();
    let (clean, hidden) = match piece.len() > LINE_CHARS {
        true => redact(&piece),
        false => (Cow::Borrowed(&*piece), 0),
    };
    outline.push_str(cut(&clean, LINE_CHARS));
    hidden
}

/// Columns of the white space before a line.
fn indent(space: &[u8]) -> usize {
    space.len() + 3 * space.iter().filter(|&&b| b == b'\t').count()
}

/// The signature, if the line declares something that others may use.
fn declaration<'a>(
    language: &Language,
    keywords: &[&[u8]],
    indent: usize,
    text: &'a [u8],
) -> Option<&'a [u8]> {
    if indent > MAX_INDENT {
        return None;
    }
    let word = words(text).find(|word| !is_modifier(word))?;
    let name = word.iter().take_while(|b| !matches!(b, b'(' | b'<' | b':')).count();
    let word = if name == 0 { word } else { &word[..name] };
    let is_declared = keywords.iter().any(|k| k.eq_ignore_ascii_case(word));
    if is_declared && !is_local(language, indent, text) {
        return Some(signature(text));
    }
    (language.braces && is_function(word, text)).then(|| signature(text))
}

fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// `const` and `let` inside a function are not listed.
fn is_local(language: &Language, indent: usize, text: &[u8]) -> bool {
    let is_variable = || matches!(words(text).next(), Some(b"const" | b"var" | b"val" | b"let"));
    indent > 0 && is_variable() && !language.extensions.starts_with("kt")
}

/// `name(…) {` or `type name(…) {` that is not a statement.
fn is_function(word: &[u8], text: &[u8]) -> bool {
    let is_plain = |before: &[u8]| !before.iter().any(|b| matches!(b, b'=' | b'.' | b'"' | b'\''));
    let before = || text.iter().position(|&b| b == b'(').map(|at| &text[..at]);
    text.ends_with(b"{")
        && !text.starts_with(b"}")
        && !is_control(word)
        && before().is_some_and(is_plain)
}

/// The declaration up to its body or its value.
fn signature(text: &[u8]) -> &[u8] {
    let ends = |at: &usize| {
        let after = &text[*at..];
        let is_mark = matches!(after, [b'{', ..] | [b'=', b' ', ..] | [b'=', b'>', b' ', ..]);
        is_mark && text[..*at].ends_with(b" ")
    };
    let end = memchr::memchr2_iter(b'{', b'=', text).find(ends).map(|at| at - 1);
    let text = &text[..end.unwrap_or(text.len())];
    text.trim_end_with(|c| matches!(c, '{' | ':' | ';' | ' '))
}

fn starts_comment(language: &Language, text: &[u8]) -> bool {
    (language.comments)(text) && !text.starts_with(b"#define ")
}

/// The first line with words of the comment before a declaration.
fn carried_comment<'a>(
    text: &'a [u8],
    is_comment: bool,
    carried: Option<&'a [u8]>,
) -> Option<&'a [u8]> {
    // Attributes and decorators stand between a comment and what it describes.
    if text.starts_with(b"#[") || text.starts_with(b"@") {
        return carried;
    }
    if !is_comment {
        return None;
    }
    carried.or_else(|| text.iter().any(|&b| !is_mark(b)).then_some(text))
}

/// A line of a comment without its comment marks.
fn words_of(comment: &[u8]) -> &[u8] {
    let start = comment.iter().position(|&b| !is_mark(b)).unwrap_or(comment.len());
    let end = comment.iter().rposition(|&b| !is_mark(b)).map_or(start, |last| last + 1);
    &comment[start..end]
}

fn is_mark(byte: u8) -> bool {
    matches!(byte, b'/' | b'*' | b'#' | b'-' | b';' | b'!' | b'(' | b'{' | b'%' | b'\'')
        || byte.is_ascii_whitespace()
}

/// The first line of a Python docstring.
fn docstring(line: &[u8]) -> Option<&[u8]> {
    let text = line.trim_ascii_start();
    let inside = text.strip_prefix(b"\"\"\"").or_else(|| text.strip_prefix(b"'''"))?;
    let inside = inside.trim_end_with(|c| matches!(c, '"' | '\'')).trim_ascii();
    (!inside.is_empty()).then_some(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, source: &str, expected: &[&str]) {
        let sketch = sketch(path, source.as_bytes());
        let lines: Vec<&str> = sketch.text.lines().skip(1).collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn kotlin_as_the_seed() {
        let source = "package a.b\n\nimport x.Y\n\n/** Keeps it. */\nclass Store(val db: Db) {\n    private val x = 1\n    fun get(id: Int): Row = db.get(id)\n}\n";
        check(
            "A.kt",
            source,
            &[
                "package a.b",
                "- class Store(val db: Db)  // Keeps it.",
                "  - fun get(id: Int): Row",
            ],
        );
    }

    #[test]
    fn each_family_shows_its_declarations_with_the_first_comment_line() {
        check(
            "a.rs",
            "//! File.\n\n/// Waits.\n/// Longer.\n#[must_use]\npub fn wait(n: u32) -> u32 {\n    let x = 1;\n    n\n}\nimpl A {\n    pub fn b(&self) {}\n}\n",
            &["- pub fn wait(n: u32) -> u32  // Waits.", "- impl A", "  - pub fn b(&self)"],
        );
        check(
            "a.py",
            "class A(B):\n    \"\"\"Does it.\"\"\"\n\n    async def go(self):\n        x = 1\n",
            &["- class A(B)  // Does it.", "  - async def go(self)"],
        );
        check(
            "a.go",
            "package a\n\n// Run runs.\nfunc Run(x int) error {\n\tif x > 0 {\n\t}\n}\n",
            &["package a", "- func Run(x int) error  // Run runs."],
        );
        check(
            "a.ts",
            "export const limit = 5\nexport class A {\n  get(id: string): string {\n    if (id) {\n    }\n    const y = f(1)\n  }\n}\n",
            &["- export const limit", "- export class A", "- get(id: string): string"],
        );
        check(
            "a.c",
            "#define MAX 5\nint main(int argc) {\n  for (;;) {\n  }\n}\n",
            &["- #define MAX 5", "- int main(int argc)"],
        );
    }

    #[test]
    fn a_sketch_is_capped_and_holds_no_credentials() {
        let source = "fn a() {}\n".repeat(1_000);
        assert!(sketch("a.rs", source.as_bytes()).text.chars().count() <= SKETCH_CHARS);
        let shown = sketch("a.rs", b"/// ghp_1234567890abcdefghijABCDEFGHIJ123456\nfn a() {}\n");
        assert_eq!(
            (shown.text.as_str(), shown.redacted),
            ("path: a.rs\n- fn a()  // [redacted]\n", 1)
        );
        assert!(sketch(".env", b"A=secretvalue1").text.ends_with(WITHHELD));
    }

    #[test]
    fn a_long_line_is_cut_after_hiding() {
        for secret in
            ["ghp_1234567890abcdefghijABCDEFGHIJ123456", "password = \"hunter22hunter22\""]
        {
            for before in LINE_CHARS - 40..LINE_CHARS {
                let source = format!("/// {}{secret}\nfn a() {{}}\n", "x ".repeat(before / 2));
                let shown = sketch("a.rs", source.as_bytes());
                assert_eq!(shown.redacted, 1, "{before}");
                assert!(
                    !shown.text.contains("ghp_") && !shown.text.contains("hunter"),
                    "{shown:?}"
                );
            }
        }
    }

    #[test]
    fn an_excerpt_is_cut_after_hiding() {
        let source = format!("{} ghp_1234567890abcdefghijABCDEFGHIJ123456", "x".repeat(5));
        let shown = excerpt("a.rs", source.as_bytes(), 12);
        assert_eq!(shown.text, "path: a.rs\nxxxxx [redac");
        assert_eq!(excerpt("a.rs", &[0xff, b'a'], 10).text, "path: a.rs\n\u{fffd}a");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_survived_within_the_cap(bytes in proptest::collection::vec(0u8.., 0..400)) {
            for path in ["a.py", "a.c", "a.kt", "a"] {
                proptest::prop_assert!(sketch(path, &bytes).text.chars().count() <= SKETCH_CHARS);
            }
        }
    }
}
