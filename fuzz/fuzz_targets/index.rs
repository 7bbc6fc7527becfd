//! An index with some bytes changed: the answer is the one without it. Four bytes of the input say where (three) and how (one).

#![no_main]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use context_packer::first_stage;
use context_packer::project::files::Extensions;
use context_packer::project::root::{self, Root};
use context_packer::index;
use context_packer::project::{Project, scan};
use libfuzzer_sys::fuzz_target;

/// A project of a few files, its index, and what is answered without one.
struct Setup {
    root: Root,
    folder: PathBuf,
    index: PathBuf,
    bytes: Vec<u8>,
    expected: String,
}

static SETUP: LazyLock<Setup> = LazyLock::new(|| {
    let top =
        std::env::temp_dir().join(format!("context-packer-fuzz-index-{}", std::process::id()));
    let (project, folder) = (top.join("project"), top.join("index"));
    fs::create_dir_all(project.join("src")).expect("a folder for temporary files");
    for (name, text) in [
        ("src/retry.rs", "fn retry_upload(backoff: Backoff) { upload(); upload(); }"),
        ("src/client.py", "class HTTPClient:\n    def parse_config(self): größe = 1"),
        ("main.go", "func main() { NewHTTPClient().Retry() } // 修复"),
    ] {
        fs::write(project.join(name), text).expect("room for temporary files");
    }
    let root = root::exactly(&project).expect("the folder just made");
    std::thread::sleep(index::FINE_DOUBT * 2);
    let extensions = Extensions::default();
    let of = index::IndexScope { extensions: &extensions, max_file_bytes: scan::MAX_FILE_BYTES };
    index::build(&folder, &root, &of).expect("an index");
    let index = find(&folder).expect("the index just made");
    let bytes = fs::read(&index).expect("the index just made");
    let expected = answer(&root, None);
    Setup { root, folder, index, bytes, expected }
});

/// The largest file below a folder.
fn find(folder: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    files.filter(|path| path.is_file()).max_by_key(|path| path.metadata().map_or(0, |m| m.len()))
}

fn answer(root: &Root, index: Option<PathBuf>) -> String {
    let (extensions, max_file_bytes) = (Extensions::default(), scan::MAX_FILE_BYTES);
    let project = Project { root: root.clone(), extensions, max_file_bytes, index };
    let text = "fix the retry of uploads in HTTPClient and parse_config, größe 修复";
    let survey = first_stage::survey(&project, text).expect("a project with files");
    format!("{:?}{:?}{:?}", survey.corpus, survey.history, survey.warnings)
}

fuzz_target!(|input: &[u8]| {
    let setup = &*SETUP;
    let mut bytes = setup.bytes.clone();
    let (changes, _) = input.as_chunks::<4>();
    for &[high, middle, low, how] in changes {
        let at = u32::from_be_bytes([0, high, middle, low]) as usize % bytes.len();
        bytes[at] ^= how;
    }
    fs::write(&setup.index, &bytes).expect("room for temporary files");
    assert_eq!(answer(&setup.root, Some(setup.folder.clone())), setup.expected);
});
