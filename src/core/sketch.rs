//! What a file is about in about 300 tokens: its path and its declarations, each with the first line of its comment.
//!
//! In: path and bytes of a file. Out: a text that holds no credentials (see [`crate::core::redact`]) and how many
//! were hidden. Line by line, by leading words; nothing is parsed, and any bytes are survived.

use bstr::ByteSlice as _;

use crate::core::question::cut;
use crate::core::redact::{is_secret_file, lines, redact};

/// Longest sketch: 300 tokens at four characters each, as the seed.
pub const SKETCH_CHARS: usize = 1_200;
/// Bytes of a file that are looked at: declarations past them never fit anyway.
const READ_BYTES: usize = 200_000;
/// Longest declaration and longest comment shown.
const LINE_CHARS: usize = 160;
/// Deepest declaration, in columns: members of a type, and members of a type in a namespace. As the seed.
const MAX_INDENT: usize = 8;
/// Stands in for the text of a file that holds credentials by its name.
const WITHHELD: &str = "(not sent: a file of credentials by its name)";

/// A text for the model and the number of credentials hidden in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// What may be sent.
    pub text: String,
    /// Credentials that were replaced.
    pub redacted: usize,
}

/// How declarations look in a family of languages.
struct Language {
    extensions: &'static str,
    /// First word of a declaration, after modifiers.
    keywords: &'static str,
    /// Whether a line starts as comments do.
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

/// For files of any other kind: the words that declare in most languages.
const OTHER: Language = Language {
    extensions: "",
    keywords: "class interface function def fn func struct enum trait type",
    comments: SLASHES,
    braces: false,
};

/// Words before a declaration that say nothing about which kind it is.
fn is_modifier(word: &str) -> bool {
    matches!(
        word,
        "pub"
            | "pub(crate)"
            | "pub(super)"
            | "export"
            | "default"
            | "public"
            | "protected"
            | "static"
            | "abstract"
            | "final"
            | "open"
            | "override"
            | "async"
            | "unsafe"
            | "extern"
            | "internal"
            | "sealed"
            | "data"
            | "suspend"
            | "inline"
            | "virtual"
            | "declare"
            | "partial"
            | "readonly"
            | "local"
            | "external"
            | "CREATE"
    )
}

/// First words of statements that look like `name(…) {`.
fn is_control(word: &str) -> bool {
    matches!(
        word,
        "if" | "for"
            | "while"
            | "switch"
            | "catch"
            | "else"
            | "return"
            | "do"
            | "try"
            | "with"
            | "when"
            | "synchronized"
            | "throw"
            | "new"
            | "await"
            | "case"
            | "using"
            | "lock"
            | "foreach"
            | "}"
            | "elif"
            | "until"
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
    let head = source[..source.len().min(READ_BYTES)].to_str_lossy();
    // Before the cut, so that no half of a credential is left.
    let outline = outline(language_of(path), &head, room);
    let (clean, redacted) = redact(&outline);
    Shown { text: heading + cut(&clean, room), redacted }
}

/// The package and the declarations, a line each, up to the first that ends past `chars`.
fn outline(language: &Language, source: &str, chars: usize) -> String {
    let keywords: Vec<&str> = language.keywords.split(' ').collect();
    // The last line may start just before the end.
    let mut outline = String::with_capacity(chars + 4 * LINE_CHARS);
    let (mut counted, mut length) = (0, 0);
    let mut comment: Option<&str> = None;
    let mut lines = lines(source).peekable();
    while let Some(line) = lines.next() {
        let line = &source[line];
        let text = line.trim_ascii_start();
        let indent = indent(&line[..line.len() - text.len()]);
        let is_comment = starts_comment(language, text);
        let declared = || declaration(language, &keywords, indent, text);
        if text.starts_with("package ") {
            outline.push_str(text);
            outline.push('\n');
        } else if let Some(declared) = (!is_comment).then(declared).flatten() {
            let next = || lines.peek().and_then(|next| docstring(&source[next.clone()]));
            describe(&mut outline, indent, declared, comment.take().or_else(next));
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
    outline
}

/// The start of a file's source under its path, at most `chars` characters of it.
#[must_use]
pub fn excerpt(path: &str, source: &[u8], chars: usize) -> Shown {
    let heading = format!("path: {path}\n");
    let body = body(path, source, chars);
    Shown { text: heading + &body.text, redacted: body.redacted }
}

/// The start of a file's source, credentials hidden before the cut so that no half of one is left.
#[must_use]
pub fn body(path: &str, source: &[u8], chars: usize) -> Shown {
    if is_secret_file(path) {
        return Shown { text: WITHHELD.to_owned(), redacted: 0 };
    }
    // A character has at most four bytes; a little more is read so that a credential at the cut is seen whole.
    let head = source[..source.len().min(4 * chars + 4_096)].to_str_lossy();
    let (clean, redacted) = redact(cut(&head, chars + 1_024));
    Shown { text: cut(&clean, chars).to_owned(), redacted }
}

fn language_of(path: &str) -> &'static Language {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    let knows = |language: &&Language| language.extensions.split(' ').any(|e| e == extension);
    LANGUAGES.iter().find(knows).unwrap_or(&OTHER)
}

/// `  - fn name(…)  // first line of its comment`, two spaces per four columns of indent.
fn describe(outline: &mut String, indent: usize, declared: &str, doc: Option<&str>) {
    (0..indent / 4).for_each(|_| outline.push_str("  "));
    outline.push_str("- ");
    outline.push_str(cut(declared, LINE_CHARS));
    if let Some(doc) = doc {
        outline.push_str("  // ");
        outline.push_str(cut(doc, LINE_CHARS));
    }
    outline.push('\n');
}

/// Columns of the white space before a line.
fn indent(space: &str) -> usize {
    space.len() + 3 * space.bytes().filter(|&b| b == b'\t').count()
}

/// The signature, if the line declares something that others may use.
fn declaration<'a>(
    language: &Language,
    keywords: &[&str],
    indent: usize,
    text: &'a str,
) -> Option<&'a str> {
    if indent > MAX_INDENT {
        return None;
    }
    let mut words = text.split_ascii_whitespace();
    let word = words.find(|word| !is_modifier(word))?;
    let name = word.bytes().take_while(|b| !matches!(b, b'(' | b'<' | b':')).count();
    let word = if name == 0 { word } else { &word[..name] };
    let is_declared = keywords.iter().any(|k| k.eq_ignore_ascii_case(word));
    if is_declared && !is_local(language, indent, text) {
        return Some(signature(text));
    }
    (language.braces && is_function(word, text)).then(|| signature(text))
}

/// `const` and `let` inside a function are no declarations worth a line.
fn is_local(language: &Language, indent: usize, text: &str) -> bool {
    let first = text.split_ascii_whitespace().next().unwrap_or_default();
    let is_variable = ["const", "var", "val", "let"].contains(&first);
    is_variable && indent > 0 && !language.extensions.starts_with("kt")
}

/// `name(…) {` or `type name(…) {`, and not a statement.
fn is_function(word: &str, text: &str) -> bool {
    let opens = text.ends_with('{') && text.contains('(');
    let before = text.split('(').next().unwrap_or_default();
    opens && !is_control(word) && !before.contains(['=', '.', '"', '\'']) && !text.starts_with('}')
}

/// The declaration up to its body or its value.
fn signature(text: &str) -> &str {
    let bytes = text.as_bytes();
    let ends = |at: &usize| {
        let after = &bytes[*at..];
        let is_mark = matches!(after, [b'{', ..] | [b'=', b' ', ..] | [b'=', b'>', b' ', ..]);
        is_mark && bytes[..*at].ends_with(b" ")
    };
    let end = memchr::memchr2_iter(b'{', b'=', bytes).find(ends).map(|at| at - 1);
    let text = &text[..end.unwrap_or(text.len())];
    text.trim_end_matches(['{', ':', ';', ' '])
}

fn starts_comment(language: &Language, text: &str) -> bool {
    (language.comments)(text.as_bytes()) && !text.starts_with("#define ")
}

/// The first line of the comment that a following declaration would own.
fn carried_comment<'a>(
    text: &'a str,
    is_comment: bool,
    carried: Option<&'a str>,
) -> Option<&'a str> {
    // Attributes and decorators stand between a comment and what it describes.
    if text.starts_with("#[") || text.starts_with('@') {
        return carried;
    }
    if !is_comment {
        return None;
    }
    let is_mark = |c: char| {
        matches!(c, '/' | '*' | '#' | '-' | ';' | '!' | '(' | '{' | '%' | '\'') || c.is_whitespace()
    };
    let words = text.trim_matches(is_mark);
    carried.or((!words.is_empty()).then_some(words))
}

/// The first line of a Python docstring.
fn docstring(line: &str) -> Option<&str> {
    let text = line.trim();
    let inside = text.strip_prefix("\"\"\"").or_else(|| text.strip_prefix("'''"))?;
    let inside = inside.trim_end_matches(['"', '\'']).trim();
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
