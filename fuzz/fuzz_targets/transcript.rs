//! Any bytes as a transcript: what is read can be compacted and written, never grows, and compacting it again changes nothing.

#![no_main]

use context_packer::compact::compact;
use context_packer::core::compact::run::Refusal;
use context_packer::config::compact as settings;
use context_packer::transcript::read;
use libfuzzer_sys::fuzz_target;

/// The input compacted, however little goes; `None` when nothing does or it is no transcript.
fn compacted(input: &[u8]) -> Option<Vec<u8>> {
    let document = read(input).ok()?;
    let settings =
        settings::read(&[("min-reduction", "0".to_owned())], &|_| None).expect("settings");
    match compact(&document.transcript, &settings, None, None) {
        Ok(compacted) => Some(document.write(&compacted.compaction.edits).concat()),
        Err(Refusal::Invalid(violation)) => panic!("{violation}"),
        Err(_) => None,
    }
}

fuzz_target!(|input: &[u8]| {
    let Some(once) = compacted(input) else { return };
    let before = read(input).expect("was read before").transcript;
    let after = read(&once).expect("a compacted transcript is one").transcript;
    assert!(after.chars() <= before.chars());
    assert_eq!(compacted(&once), None, "compacting twice is compacting once");
});
