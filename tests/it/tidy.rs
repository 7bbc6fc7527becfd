//! The house rules that a compiler does not know.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every Rust file below a folder, relative to the root.
fn rust_files(folder: &str) -> Vec<PathBuf> {
    let mut folders = vec![root().join(folder)];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                files.push(path.strip_prefix(root()).unwrap().to_path_buf());
            }
        }
    }
    files.sort();
    assert!(!files.is_empty(), "{folder}");
    files
}

/// A file's text without its tests, comments and strings' prose aside: what the rules are about.
fn code(path: &Path) -> String {
    let text = read(path);
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn is_test_module(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "tests.rs")
}

#[track_caller]
fn assert_absent(files: impl Iterator<Item = PathBuf>, words: &[&str]) {
    for path in files.filter(|path| !is_test_module(path)) {
        let code = code(&path);
        for word in words {
            assert!(!code.contains(word), "{} mentions {word}", path.display());
        }
    }
}

/// Invariant 1.
#[test]
fn the_core_does_no_io() {
    let words = [
        "std::fs",
        "std::env",
        "std::io",
        "std::net",
        "std::process",
        "std::thread",
        "std::time",
        "serde",
        "println!",
        "crate::project",
        "crate::model",
        "crate::hook",
        "crate::render",
        "crate::cmd",
        "crate::config",
    ];
    assert_absent(rust_files("src/core").into_iter(), &words);
}

/// Invariant 2.
#[test]
fn json_names_live_in_wire_files() {
    let knows_json = |path: &Path| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.ends_with("wire.rs") || path.ends_with("render/json.rs")
    };
    let others = rust_files("src").into_iter().filter(|path| !knows_json(path));
    assert_absent(others, &["Deserialize", "Serialize", "#[serde"]);
}

/// Invariant 3.
#[test]
fn only_the_model_speaks_http() {
    let others = rust_files("src").into_iter().filter(|path| !path.starts_with("src/model"));
    assert_absent(others, &["ureq"]);
}

/// Invariant 4.
#[test]
fn only_main_exits_and_complains() {
    let others = rust_files("src").into_iter().filter(|path| !path.ends_with("main.rs"));
    assert_absent(others, &["process::exit", "stderr()", "eprintln!", "eprint!"]);
}

/// Invariant 5: no handler of a hook returns a `Result`; the ones that can fail are private to their file.
#[test]
fn hook_handlers_cannot_fail() {
    for path in rust_files("src/hook") {
        for line in code(&path).lines().filter(|line| line.starts_with("pub fn")) {
            let handles = line.contains("fn handle");
            assert!(!handles || line.contains("-> Reply"), "{}: {line}", path.display());
        }
    }
}

#[test]
fn anyhow_stays_at_the_top() {
    let top = ["src/cmd", "src/args", "src/args.rs", "src/config", "src/config.rs", "src/main.rs"];
    let others =
        rust_files("src").into_iter().filter(|path| !top.iter().any(|t| path.starts_with(t)));
    assert_absent(others, &["anyhow"]);
}

#[test]
fn every_file_says_what_it_is_for() {
    for folder in ["src", "tests"] {
        for path in rust_files(folder) {
            assert!(read(&path).starts_with("//! "), "{}", path.display());
        }
    }
}

#[test]
fn commands_only_wire() {
    for path in rust_files("src/cmd").into_iter().filter(|path| !path.ends_with("doctor.rs")) {
        let lines = code(&path).lines().count();
        assert!(lines <= 100, "{} has {lines} lines", path.display());
    }
}

#[test]
fn files_and_functions_stay_small() {
    for path in rust_files("src") {
        let lines = code(&path).lines().count();
        assert!(lines <= 500, "{} has {lines} lines of code", path.display());
    }
}

#[test]
fn few_packages_and_none_of_the_slow_ones() {
    let lock = read("Cargo.lock");
    let names: Vec<&str> = lock.lines().filter_map(|line| line.strip_prefix("name = ")).collect();
    // ripgrep's lock file has 63 entries; ours holds the test dependencies as well.
    assert!(names.len() <= 100, "{} packages", names.len());
    for banned in ["tokio", "openssl-sys", "aws-lc-sys", "native-tls"] {
        assert!(!names.contains(&format!("\"{banned}\"").as_str()), "{banned}");
    }
}

/// The binary is described by one version, wherever a version stands.
#[test]
fn the_change_log_knows_this_version() {
    let version = env!("CARGO_PKG_VERSION");
    assert!(read("CHANGELOG.md").contains(&format!("## {version}")), "{version}");
}

/// Every dependency has its sentence.
#[test]
fn every_dependency_is_explained() {
    let manifest = read("Cargo.toml");
    let architecture = read("ARCHITECTURE.md");
    let section = manifest.split("[dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
    for line in section.lines().filter(|line| line.contains(" = ")) {
        let name = line.split_whitespace().next().unwrap();
        assert!(
            architecture.contains(&format!("| `{name}` |")),
            "{name} has no row in ARCHITECTURE.md"
        );
    }
}

/// Every Markdown file of ours: those at the top, and those of the folders that hold some.
fn documents() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        ["docs", "hooks", "plugin", "bench", "tests/e2e"].map(PathBuf::from).to_vec();
    let mut found = Vec::new();
    let top = fs::read_dir(root()).unwrap().map(|entry| PathBuf::from(entry.unwrap().file_name()));
    found.extend(top.filter(|path| path.extension().is_some_and(|e| e == "md")));
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).unwrap() {
            let path = folder.join(entry.unwrap().file_name());
            if root().join(&path).is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "md") {
                found.push(path);
            }
        }
    }
    assert!(found.len() > 30, "{}", found.len());
    found
}

/// The README's promises can be checked: every link into the repository leads somewhere.
#[test]
fn links_of_the_documents_lead_somewhere() {
    for document in documents() {
        let folder = root().join(document.parent().unwrap());
        for link in read(&document).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = link.split('#').next().unwrap();
            let is_local = !path.is_empty() && !path.contains("://");
            assert!(!is_local || folder.join(path).exists(), "{}: {link}", document.display());
        }
    }
}

/// Prose is wrapped at 100 columns. Tables, code and the runs on record are not prose.
#[test]
fn prose_is_wrapped() {
    for document in documents().iter().filter(|path| !path.starts_with("bench/runs")) {
        let mut is_code = false;
        for (at, line) in (1..).zip(read(document).lines()) {
            is_code ^= line.trim_start().starts_with("```");
            let is_prose = !is_code && !line.trim_start().starts_with('|');
            let is_key = line.starts_with("description: ");
            let columns = line.chars().count();
            assert!(!is_prose || is_key || columns <= 100, "{}:{at}", document.display());
        }
    }
}

#[test]
fn the_readme_is_short() {
    let lines = read("README.md").lines().count();
    assert!(lines <= 120, "{lines} lines");
}
