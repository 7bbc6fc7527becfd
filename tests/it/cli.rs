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
