//! The harness: [`Repo`], a project in a fresh folder, and [`Packer`], one run of the program in it.
//!
//! The environment of every run is cleared, so that no key, cache or configuration of the person who
//! runs the tests is ever used; `HOME` and the caches point into the fresh folder.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The key of every test that has one. Whatever a run prints, and whatever it leaves behind in its folders, is looked
/// through for it.
pub const KEY: &str = "k3y-that-must-never-be-seen";

/// Fails when the text holds the key.
#[track_caller]
pub fn assert_no_key(what: &str, text: &[u8]) {
    let holds = text.windows(KEY.len()).any(|part| part == KEY.as_bytes());
    assert!(!holds, "the key is in {what}: {}", lossy(text));
}

/// A folder of its own for one test, removed at the end. The project is in `root`, `HOME` beside it.
pub struct Repo {
    scratch: PathBuf,
    pub root: PathBuf,
}

impl Repo {
    /// An empty folder that is no git repository.
    pub fn plain() -> Repo {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("context-packer-test-{}-{number}", std::process::id());
        let scratch = std::env::temp_dir().canonicalize().unwrap().join(name);
        let _ = fs::remove_dir_all(&scratch);
        let root = scratch.join("project");
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(scratch.join("home")).unwrap();
        Repo { scratch, root }
    }

    /// An empty git repository.
    pub fn new() -> Repo {
        let repo = Repo::plain();
        repo.git(&["init", "--quiet", "--initial-branch=main"]);
        repo
    }

    /// Writes a file, with its folders.
    pub fn file(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> &Repo {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    /// Commits everything that is there, with a clock that advances by an hour a commit.
    pub fn commit(&self, subject: &str) -> &Repo {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", subject]);
        self
    }

    /// Runs git in the project; its output.
    pub fn git(&self, args: &[&str]) -> String {
        static HOUR: AtomicU32 = AtomicU32::new(0);
        let date = format!("{} +0000", 1_700_000_000 + 3600 * HOUR.fetch_add(1, Ordering::Relaxed));
        let mut git = Command::new("git");
        git.args(args).current_dir(&self.root).env("HOME", self.home());
        git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_AUTHOR_DATE", &date);
        git.env("GIT_COMMITTER_DATE", &date);
        for who in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{who}_NAME"), "t").env(format!("GIT_{who}_EMAIL"), "t@example");
        }
        let output = git.output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", lossy(&output.stderr));
        lossy(&output.stdout)
    }

    /// [`Repo::git`] for what may fail. True if it did not.
    pub fn try_git(&self, args: &[&str]) -> bool {
        let mut git = Command::new("git");
        git.args(args).current_dir(&self.root).env("HOME", self.home());
        git.env("GIT_AUTHOR_NAME", "t").env("GIT_AUTHOR_EMAIL", "t@example");
        git.env("GIT_COMMITTER_NAME", "t").env("GIT_COMMITTER_EMAIL", "t@example");
        git.output().unwrap().status.success()
    }

    /// The same folder, seen as a project of its own; `self` still owns it.
    pub fn part(&self, folder: &str) -> Repo {
        Repo { scratch: self.scratch.join("project"), root: self.root.join(folder) }
    }

    /// The `HOME` of every run in this repository.
    pub fn home(&self) -> PathBuf {
        self.scratch.join("home")
    }

    /// A folder beside the project, outside of it.
    pub fn outside(&self) -> &Path {
        &self.scratch
    }

    /// A run of the program in the project, to be completed and started.
    pub fn packer(&self) -> Packer {
        let mut command = Command::new(env!("CARGO_BIN_EXE_context-packer"));
        command.current_dir(&self.root).env_clear().env("HOME", self.home());
        command.env("PATH", std::env::var_os("PATH").unwrap());
        // Tests of the index switch it on; for the others nothing runs on in the background.
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("CONTEXT_PACKER_INDEX", "0");
        Packer::of(command)
    }

    /// `context-packer pack TASK ARGS…`
    pub fn pack(&self, task: &str, args: &[&str]) -> Output {
        self.packer().args(&["pack", task]).args(args).run()
    }
}

impl Drop for Repo {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            look_through(&self.scratch);
        }
        let _ = fs::remove_dir_all(&self.scratch);
    }
}

/// Logs, indexes, archives: no file of the folder holds the key. A file that is gone by now held nothing.
fn look_through(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => look_through(&entry.path()),
            Ok(kind) if kind.is_file() => {
                let content = fs::read(entry.path()).unwrap_or_default();
                assert_no_key(&entry.path().display().to_string(), &content);
            }
            _ => {}
        }
    }
}

/// A run of the program that has not started yet.
pub struct Packer {
    pub command: Command,
    stdin: Vec<u8>,
}

impl Packer {
    /// A run of another program, to be completed and started in the same way.
    pub fn of(command: Command) -> Packer {
        Packer { command, stdin: Vec::new() }
    }

    pub fn args(mut self, args: &[&str]) -> Packer {
        self.command.args(args);
        self
    }

    pub fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Packer {
        self.command.env(name, value);
        self
    }

    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Packer {
        self.stdin = bytes.into();
        self
    }

    /// Runs to the end. A program that closes its input early is not a failure of the test.
    pub fn run(mut self) -> Output {
        let line = format!("{:?}", self.command);
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = Instant::now();
        let mut child = self.command.spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        let writer = std::thread::spawn(move || {
            let _ = pipe.write_all(&self.stdin);
        });
        let output = child.wait_with_output().unwrap();
        let elapsed = started.elapsed();
        writer.join().unwrap();
        assert_no_key("standard output", &output.stdout);
        assert_no_key("standard error", &output.stderr);
        let (stdout, stderr) = (lossy(&output.stdout), lossy(&output.stderr));
        Output { line, code: output.status.code(), stdout, stderr, elapsed }
    }
}

/// What a run left behind. `code` is `None` when a signal ended it.
#[derive(Debug)]
pub struct Output {
    /// For the report of a failed test.
    #[expect(dead_code, reason = "read by Debug alone")]
    pub line: String,
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub elapsed: Duration,
}

impl Output {
    /// Holds the exit code; returns standard output.
    #[track_caller]
    pub fn expect_code(&self, code: i32) -> &str {
        assert_eq!(self.code, Some(code), "{self:#?}");
        &self.stdout
    }
}

pub fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
