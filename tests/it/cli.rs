//! The command line as a person meets it: help, version, usage errors and their exit codes.

use crate::harness::Repo;

#[test]
fn help_and_version_exit_zero() {
    let repo = Repo::plain();
    let help = repo.packer().args(&["--help"]).run();
    assert!(help.expect_code(0).contains("context-packer pack --help"));
    let version = repo.packer().args(&["--version"]).run();
    assert_eq!(version.expect_code(0), concat!("context-packer ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn the_task_may_come_from_standard_input() {
    let repo = Repo::plain();
    repo.file("src/client.py", "def retry(): backoff()\n");
    let output = repo.packer().args(&["pack", "-"]).stdin("fix the retry backoff\n").run();
    assert!(output.expect_code(0).contains("#1   src/client.py"), "{output:#?}");
    let json = repo.packer().args(&["pack", "-", "--json"]).stdin("retry\n").run();
    assert!(json.expect_code(0).contains("\"task\": \"retry\""), "{json:#?}");
    let empty = repo.packer().args(&["pack", "-"]).stdin(" \n").run();
    assert_eq!(empty.expect_code(1), "");
    assert!(empty.stderr.contains("no task on standard input"), "{empty:#?}");
}

#[test]
fn wrong_usage_exits_two_and_prints_nothing_on_stdout() {
    let repo = Repo::plain();
    for line in [
        &["pakc"][..],
        &["pack"],
        &["pack", "fix the client", "--limit", "0"],
        &["pack", "fix the client", "--limit", "51"],
        &["pack", "fix the client", "--no-such-flag"],
        &["pack", "fix the client", "--code"],
    ] {
        let output = repo.packer().args(line).run();
        assert_eq!(output.expect_code(2), "");
        assert!(output.stderr.starts_with("context-packer: "), "{output:#?}");
    }
}
