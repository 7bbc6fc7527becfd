//! A task on the first line, a text behind it: the two ways of counting, for one task and for an index that must answer any
//! task, find the same lengths and the same stems.

#![no_main]

use std::collections::BTreeMap;

use context_packer::core::search::corpus::DocumentKind;
use context_packer::core::search::matcher::{Matcher, Scratch};
use context_packer::core::search::query::query;
use context_packer::core::search::terms::{self, Field, TermExtractor};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let end = input.iter().position(|&b| b == b'\n').unwrap_or(input.len());
    let (task, text) = (String::from_utf8_lossy(&input[..end]), &input[end..]);
    let query = query(&task);
    let counts = Matcher::new(&query).count(text, &mut Scratch::default());
    if counts.kind == DocumentKind::Binary {
        return;
    }
    let mut stems: BTreeMap<u64, u32> = BTreeMap::new();
    let length = TermExtractor::default().for_each_term(text, |field, term, count| {
        if field == Field::Body {
            *stems.entry(term).or_default() += count;
        }
    });
    assert_eq!(length, counts.length);
    let found: BTreeMap<u32, u32> = counts.body.into_iter().collect();
    for (k, term) in (0..).zip(&query.terms) {
        assert_eq!(stems.get(&terms::hash(&term.stem)), found.get(&k), "{term:?}");
    }
});
