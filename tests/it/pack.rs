//! `context-packer pack` on small projects: what is listed, what is said, what is survived.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::Repo;

/// The paths picked, best first.
fn picked(repo: &Repo, task: &str, args: &[&str]) -> Vec<String> {
    let json = json(repo, task, args);
    let files = json["result"]["files"].as_array().unwrap();
    files.iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect()
}

fn json(repo: &Repo, task: &str, args: &[&str]) -> Value {
    let output = repo.packer().args(&["pack", task, "--json"]).args(args).run();
    serde_json::from_str(output.expect_code(0)).unwrap()
}

fn warnings(repo: &Repo, task: &str) -> String {
    json(repo, task, &[])["warnings"].to_string()
}

fn client_and_server() -> Repo {
    let repo = Repo::new();
    repo.file("src/client.py", "def call(send, tries=3):\n    retry(send, backoff=1)\n");
    repo.file("src/server.py", "def serve():\n    accept()\n");
    repo.file("tests/test_client.py", "def test_call():\n    retry\n");
    repo.commit("client with fixed retry");
    repo
}

#[test]
fn text_output() {
    let repo = client_and_server();
    let output = repo.pack("fix the retry backoff", &["--explain", "--limit", "2"]);
    let text = output.expect_code(0);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("Picked 2 of 3 files in "), "{text}");
    assert!(lines[0].ends_with(&format!("Paths are relative to {}.", repo.root.display())));
    assert_eq!(lines[1], "#1   src/client.py");
    assert!(
        lines[2].contains("text #1") && lines[2].contains("words: retry×1 backoff×1"),
        "{text}"
    );
    assert_eq!(lines[3], "#2   tests/test_client.py  (test)");
    assert_eq!(output.stderr, "");
}

#[test]
fn json_output_has_the_documented_shape() {
    let repo = client_and_server();
    let json = json(&repo, "fix the retry backoff", &["--code", "1"]);
    assert_eq!(json["provider"], "keywords");
    assert_eq!(json["model"], Value::Null);
    assert_eq!(json["scored"], 3);
    assert_eq!(json["result"]["task"], "fix the retry backoff");
    assert_eq!(json["result"]["candidates"], 3);
    let first = &json["result"]["files"][0];
    assert_eq!(first["path"], "src/client.py");
    assert_eq!((&first["bm25Rank"], &first["isTest"]), (&1.into(), &false.into()));
    assert_eq!(first["matches"][0], serde_json::json!({"word": "retry", "count": 1}));
    assert_eq!(first["reasons"]["textRank"], 1);
    assert_eq!(json["snippets"][0]["startLine"], 1);
    assert_eq!(json["costUsd"], 0.0);
}

#[test]
fn code_windows_are_numbered_whole_lines() {
    let repo = client_and_server();
    let output = repo.pack("retry backoff", &["--code", "1"]);
    let text = output.expect_code(0);
    assert!(
        text.contains("--- src/client.py lines 1-2\n    1  def call(send, tries=3):\n"),
        "{text}"
    );
}

#[test]
fn history_finds_what_the_text_does_not_say() {
    let repo = Repo::new();
    repo.file("src/a.py", "x = 1\n").file("src/b.py", "y = 2\n").commit("initial import");
    repo.file("src/b.py", "y = 3\n").commit("Raise tenant quota");
    assert_eq!(picked(&repo, "tenant quota too small", &[]), ["src/b.py"]);
}

#[test]
fn the_project_is_the_nearest_manifest_up_to_the_git_top() {
    let repo = Repo::new();
    repo.file("Cargo.toml", "")
        .file("web/package.json", "{}")
        .file("web/src/ui/button.ts", "retry");
    repo.file("core/deep/retry.rs", "retry").file("top.rs", "retry").commit("all");
    let root_from = |folder: &str| {
        let mut packer = repo.packer().args(&["pack", "retry", "--json"]);
        packer.command.current_dir(repo.root.join(folder));
        let output = packer.run();
        let json: Value = serde_json::from_str(output.expect_code(0)).unwrap();
        json["root"].as_str().unwrap().to_owned()
    };
    let top = repo.root.display().to_string();
    assert_eq!(root_from("web/src/ui"), format!("{top}/web"));
    assert_eq!(root_from("core/deep"), top);
    let exact = repo.packer().args(&["pack", "retry", "--json", "--root", "core"]).run();
    let exact: Value = serde_json::from_str(exact.expect_code(0)).unwrap();
    assert_eq!(exact["root"], format!("{top}/core"));
    assert_eq!(exact["result"]["files"][0]["path"], "deep/retry.rs");
}

#[test]
fn tracked_and_untracked_but_not_ignored() {
    let repo = Repo::new();
    repo.file(".gitignore", "/ignored/\n*.gen.rs\n").file("tracked.rs", "retry").commit("one");
    repo.file("untracked.rs", "retry").file("ignored/a.rs", "retry").file("b.gen.rs", "retry");
    repo.file("gone.rs", "retry").commit("two");
    fs::remove_file(repo.root.join("gone.rs")).unwrap();
    let mut found = picked(&repo, "retry", &[]);
    found.sort();
    assert_eq!(found, ["tracked.rs", "untracked.rs"]);
}

#[test]
fn without_git_the_tree_is_walked() {
    let repo = Repo::plain();
    repo.file(".gitignore", "secret.rs\n").file("secret.rs", "retry").file("src/a.rs", "retry");
    repo.file("node_modules/x/b.js", "retry")
        .file("clone/.git/HEAD", "")
        .file("clone/c.rs", "retry");
    assert_eq!(picked(&repo, "retry", &[]), ["src/a.rs"]);
    assert!(warnings(&repo, "retry").contains("not a git repository"));
}

#[test]
fn without_a_git_program_the_tree_is_walked() {
    let repo = client_and_server();
    let output = repo.packer().env("PATH", "").args(&["pack", "retry backoff"]).run();
    let text = output.expect_code(0);
    assert!(text.contains("#1   src/client.py") && text.contains("git is not installed"), "{text}");
}

#[test]
fn symlinks_never_lead_out_of_the_root() {
    let repo = Repo::new();
    fs::write(repo.outside().join("secret.rs"), "retry").unwrap();
    repo.file("lib/inner.rs", "retry").file("a.rs", "retry").commit("one");
    symlink(repo.outside().join("secret.rs"), repo.root.join("link.rs")).unwrap();
    symlink("loop.rs", repo.root.join("loop.rs")).unwrap();
    symlink(".", repo.root.join("cycle")).unwrap();
    // A tracked folder replaced by a link to the outside: git still lists lib/inner.rs.
    fs::remove_dir_all(repo.root.join("lib")).unwrap();
    fs::create_dir(repo.outside().join("lib")).unwrap();
    fs::write(repo.outside().join("lib/inner.rs"), "retry").unwrap();
    symlink(repo.outside().join("lib"), repo.root.join("lib")).unwrap();
    assert_eq!(picked(&repo, "retry", &[]), ["a.rs"]);
}

#[test]
fn what_is_no_file_or_no_text_is_passed_over() {
    let repo = Repo::new();
    repo.file("a.rs", "retry").file("nul.rs", b"retry\0retry").file("empty.rs", "");
    repo.file("latin1.rs", b"// caf\xe9 retry\n").commit("one");
    assert!(Command::new("mkfifo").arg(repo.root.join("pipe.rs")).status().unwrap().success());
    fs::create_dir(repo.root.join("folder.rs")).unwrap();
    let started = Instant::now();
    let mut found = picked(&repo, "retry", &[]);
    found.sort();
    assert_eq!(found, ["a.rs", "latin1.rs"]);
    assert!(started.elapsed() < Duration::from_secs(5), "a pipe must not block");
}

#[test]
fn large_files_are_ranked_and_huge_ones_reported() {
    let repo = Repo::new();
    repo.file("large.go", "// filler\n".repeat(60_000) + "// retry\n");
    repo.file("a.go", "package a\n");
    let huge = fs::File::create(repo.root.join("huge.go")).unwrap();
    huge.set_len(500_000_000).unwrap();
    let started = Instant::now();
    assert_eq!(picked(&repo, "retry", &[]), ["large.go"]);
    assert!(warnings(&repo, "retry").contains("1 file over 1000 kB not ranked: huge.go"));
    assert!(started.elapsed() < Duration::from_secs(10), "a huge file must not be read");
}

#[test]
fn a_file_that_changes_while_it_is_read() {
    let repo = client_and_server();
    let path = repo.root.join("src/changing.py");
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut size = 1;
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                size = size * 7 % 1_500_007;
                fs::write(&path, "retry ".repeat(size / 6)).unwrap();
            }
        });
        for _ in 0..20 {
            let text = repo.pack("retry backoff", &[]).expect_code(0).to_owned();
            assert!(text.contains("src/client.py"), "{text}");
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn unreadable_files_and_folders_are_reported_not_fatal() {
    let repo = Repo::new();
    repo.file("a.rs", "retry")
        .file("locked.rs", "retry")
        .file("locked/b.rs", "retry")
        .commit("one");
    for name in ["locked.rs", "locked"] {
        fs::set_permissions(repo.root.join(name), fs::Permissions::from_mode(0o000)).unwrap();
    }
    let output = repo.packer().args(&["pack", "retry"]).run();
    fs::set_permissions(repo.root.join("locked"), fs::Permissions::from_mode(0o755)).unwrap();
    let text = output.expect_code(0);
    // A superuser reads everything; then nothing is to be reported.
    let is_superuser = fs::read(repo.root.join("locked.rs")).is_ok();
    assert!(
        text.contains("a.rs") && (is_superuser || text.contains("could not be read")),
        "{text}"
    );
}

#[test]
fn odd_names_stay_on_their_line() {
    let repo = Repo::new();
    repo.file("new\nline \"quoted\".rs", "retry");
    let latin1 = std::ffi::OsStr::from_bytes(b"caf\xe9.rs");
    repo.file(latin1, "retry retry").commit("retry");
    let output = repo.pack("retry", &[]);
    let text = output.expect_code(0);
    assert!(text.contains("caf\u{fffd}.rs") && text.contains("new\\nline \"quoted\".rs"), "{text}");
    assert_eq!(json(&repo, "retry", &[])["result"]["files"].as_array().unwrap().len(), 2);
}

#[test]
fn empty_repositories() {
    let repo = Repo::new();
    let output = repo.pack("fix the retry", &[]);
    assert!(output.expect_code(0).contains("Picked 0 of 0 files"), "{output:#?}");
    assert!(output.stdout.contains(&format!("no source file in {}", repo.root.display())));
    assert!(output.stdout.contains("CONTEXT_PACKER_EXTENSIONS"), "{output:#?}");
    repo.file("a.rs", "retry");
    assert_eq!(picked(&repo, "fix the retry", &[]), ["a.rs"]);
    assert!(warnings(&repo, "retry").contains("no commits yet"));
}

#[test]
fn a_shallow_clone_says_so() {
    let repo = client_and_server();
    repo.file("src/server.py", "def serve():\n    accept(now)\n")
        .commit("Tenant quota in the server");
    let source = format!("file://{}", repo.root.display());
    let clone = repo.outside().join("clone");
    repo.git(&["clone", "--quiet", "--depth", "1", &source, clone.to_str().unwrap()]);
    let root = clone.to_str().unwrap();
    let output = repo.packer().args(&["pack", "retry backoff", "--root", root]).run();
    assert!(
        output.expect_code(0).contains("shallow clone: only 0 commits of history"),
        "{output:#?}"
    );
}

#[test]
fn worktrees_and_submodules() {
    let repo = client_and_server();
    let tree = repo.outside().join("tree");
    repo.git(&["worktree", "add", "--quiet", tree.to_str().unwrap()]);
    let output = repo.packer().args(&["pack", "retry", "--root", tree.to_str().unwrap()]).run();
    assert!(output.expect_code(0).contains("src/client.py") && !output.stdout.contains("Note:"));

    let other = Repo::new();
    let url = format!("file://{}", repo.root.display());
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &url, "sub"];
    other.file("a.py", "retry").git(&add);
    assert_eq!(picked(&other, "retry", &[]), ["a.py"]);
    assert!(warnings(&other, "retry").contains("submodules not ranked: sub"));
}

#[test]
fn a_sparse_checkout_ranks_what_is_there() {
    let repo = client_and_server();
    repo.git(&["sparse-checkout", "set", "--no-cone", "/src/"]);
    assert!(!repo.root.join("tests").exists());
    assert_eq!(picked(&repo, "retry backoff", &["-n", "1"]), ["src/client.py"]);
    assert_eq!(json(&repo, "retry", &[])["scored"], 2);
    assert_eq!(json(&repo, "retry", &[])["warnings"], serde_json::json!([]));
}

#[test]
fn errors_name_the_object_and_exit_one() {
    let repo = client_and_server();
    let output = repo.packer().args(&["pack", "retry", "--root", "no/such/folder"]).run();
    assert_eq!(output.expect_code(1), "");
    assert!(output.stderr.contains("no/such/folder") && output.stderr.contains("--root"));
    let output = repo.packer().args(&["pack", "retry", "--root", "src/client.py"]).run();
    assert_eq!(output.expect_code(1), "");
    let output = repo.packer().args(&["pack", "retry", "-p", "oracle"]).run();
    assert!(output.stderr.contains("use keywords, jev or laya"), "{output:#?}");
    fs::write(repo.root.join(".git/HEAD"), "nonsense").unwrap();
    let output = repo.packer().args(&["pack", "retry"]).run();
    assert_eq!(output.expect_code(1), "");
    assert!(output.stderr.contains("git cannot list"), "{output:#?}");
}

#[test]
fn extensions_from_the_environment() {
    let repo = Repo::new();
    repo.file("notes.md", "retry").file("a.rs", "retry").commit("one");
    let run = |setting: &str| {
        let packer = repo.packer().env("CONTEXT_PACKER_EXTENSIONS", setting);
        packer.args(&["pack", "retry"]).run().expect_code(0).to_owned()
    };
    let both = run("+md");
    assert!(both.contains("notes.md") && both.contains("a.rs"));
    assert!(!run("md").contains("a.rs"));
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let repo = client_and_server();
    let mut command = repo.packer().args(&["pack", "retry"]).command;
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn the_same_question_gives_the_same_answer() {
    let repo = Repo::new();
    for n in 0..300 {
        repo.file(format!("src/m{n}.rs"), format!("fn retry{}() {{}}\n", n % 7));
    }
    repo.commit("many");
    let first = picked(&repo, "retry3 retry", &["-n", "50"]);
    assert_eq!(first.len(), 50);
    for _ in 0..3 {
        assert_eq!(picked(&repo, "retry3 retry", &["-n", "50"]), first);
    }
}
