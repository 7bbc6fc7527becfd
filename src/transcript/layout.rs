//! Where the parts of a transcript are in the bytes it was read from, and the bytes with edits applied.
//!
//! Everything that no edit names is copied byte for byte. Removing an item takes its separator along; a list
//! that loses all its items takes the item that holds it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use super::wire::{self, Raw, quote};
use crate::core::compact::apply::{Change, Edit};
use crate::core::compact::transcript::Place;

/// Where everything is.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    /// For each message, for each part.
    pub(crate) parts: Vec<Vec<PartSpan>>,
    /// The lists that items are removed from.
    pub(crate) lists: Vec<ListSpan>,
    /// How the lines of list 0 refer to each other.
    pub(crate) links: Vec<RowLink>,
}

/// A line that names the line before it.
#[derive(Debug, Clone)]
pub(crate) struct RowLink {
    /// Index of the line.
    line: usize,
    /// Its id, a JSON value.
    id: Range<usize>,
    /// The id it names, a JSON value.
    parent: Range<usize>,
}

impl RowLink {
    pub(crate) fn new(
        input: &[u8],
        line: usize,
        id: Option<Raw<'_>>,
        parent: Option<Raw<'_>>,
    ) -> Option<RowLink> {
        let (id, parent) = (wire::range_in(input, id?), wire::range_in(input, parent?));
        Some(RowLink { line, id, parent })
    }
}

/// A list of JSON items, or of lines.
#[derive(Debug)]
pub(crate) struct ListSpan {
    /// Where its items are, in order.
    pub(crate) items: Vec<Range<usize>>,
    /// The item of another list that goes when this list is left empty.
    pub(crate) owner: Option<ItemAt>,
    /// What goes when this list is left empty, where that is more than its items (the field that holds it).
    pub(crate) whole: Option<Range<usize>>,
    /// Items are lines: each goes with its line feed.
    pub(crate) is_lines: bool,
}

/// An item of a list: index of the list, index of the item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ItemAt {
    pub(crate) list: usize,
    pub(crate) item: usize,
}

/// Where a part is.
#[derive(Debug)]
pub(crate) struct PartSpan {
    /// What goes when the part goes.
    pub(crate) item: ItemAt,
    /// Where the text of a result is; `None` when it has none that could be replaced.
    pub(crate) text: Option<Slot>,
    /// What a call becomes when only a note stays of it.
    pub(crate) note: Option<NoteSlot>,
    /// Where the values of a call's arguments are.
    pub(crate) arguments: Vec<Range<usize>>,
}

/// A JSON value that holds a text.
#[derive(Debug, Clone)]
pub(crate) struct Slot {
    /// The value.
    pub(crate) range: Range<usize>,
    /// How it holds a text.
    pub(crate) form: Form,
}

/// How a JSON value holds a text: `before`, the text as a JSON string, `after`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    pub(crate) before: &'static str,
    pub(crate) after: &'static str,
}

impl ListSpan {
    /// The items of a JSON list that is held by an item of another.
    pub(crate) fn of(input: &[u8], items: &[Raw<'_>], owner: ItemAt) -> ListSpan {
        let items = items.iter().map(|item| wire::range_in(input, item)).collect();
        ListSpan { items, owner: Some(owner), whole: None, is_lines: false }
    }
}

impl Form {
    /// A plain string.
    pub(crate) const STRING: Form = Form { before: "", after: "" };
}

/// What takes the place of a call of which only a note stays.
#[derive(Debug, Clone)]
pub(crate) enum NoteSlot {
    /// The note as a value in place of this one.
    Instead(Slot),
    /// The call's item goes, the note is appended to the message's text, which is this value or comes there.
    Appended { slot: Slot, text: String },
}

/// A replacement of some bytes.
type Splice = (Range<usize>, String);

/// The input with the edits applied, in pieces: most of it is the input's own bytes. O(bytes + edits × log edits).
pub(crate) fn write<'i>(input: &'i [u8], layout: &Layout, edits: &[Edit]) -> Vec<Cow<'i, [u8]>> {
    let mut gone: Vec<Vec<bool>> =
        layout.lists.iter().map(|list| vec![false; list.items.len()]).collect();
    let mut splices: Vec<Splice> = Vec::new();
    let mut appended: Vec<(Slot, String)> = Vec::new();
    for edit in edits {
        let Some(span) = span(layout, edit.at) else { continue };
        match &edit.change {
            Change::Drop => gone[span.item.list][span.item.item] = true,
            Change::Text(text) => splices.extend(span.text.iter().map(|slot| slot.splice(text))),
            Change::Arguments(values) => splices.extend(
                values
                    .iter()
                    .filter_map(|(i, value)| Some((span.arguments.get(*i)?.clone(), quote(value)))),
            ),
            Change::Note(note) => match &span.note {
                Some(NoteSlot::Instead(slot)) => splices.push(slot.splice(note)),
                Some(NoteSlot::Appended { slot, text }) => {
                    gone[span.item.list][span.item.item] = true;
                    append(&mut appended, slot, text, note);
                }
                None => gone[span.item.list][span.item.item] = true,
            },
        }
    }
    splices.extend(appended.iter().map(|(slot, text)| slot.splice(text)));
    empty_lists(layout, &mut gone);
    splices.extend(removals(input, layout, &gone));
    splices.extend(relinked(input, layout, &gone));
    splice(input, splices)
}

fn span(layout: &Layout, at: Place) -> Option<&PartSpan> {
    layout.parts.get(at.message)?.get(at.part)
}

impl Slot {
    fn splice(&self, text: &str) -> Splice {
        let Form { before, after } = self.form;
        (self.range.clone(), format!("{before}{}{after}", quote(text)))
    }
}

/// Adds a note to the text of a message; several notes of a message end up one below the other.
fn append(appended: &mut Vec<(Slot, String)>, slot: &Slot, text: &str, note: &str) {
    match appended.iter_mut().find(|(other, _)| other.range == slot.range) {
        Some((_, text)) => {
            text.push('\n');
            text.push_str(note);
        }
        None if text.is_empty() => appended.push((slot.clone(), note.to_owned())),
        None => appended.push((slot.clone(), format!("{text}\n\n{note}"))),
    }
}

/// A list that lost everything takes its owner along. Owners come before the lists they own.
fn empty_lists(layout: &Layout, gone: &mut [Vec<bool>]) {
    for (index, list) in layout.lists.iter().enumerate().rev() {
        if let Some(owner) = list.owner
            && !gone[index].is_empty()
            && gone[index].iter().all(|&gone| gone)
        {
            gone[owner.list][owner.item] = true;
        }
    }
}

/// A line whose parent went names the nearest ancestor that stays. O(lines).
fn relinked(input: &[u8], layout: &Layout, gone: &[Vec<bool>]) -> Vec<Splice> {
    let is_gone = |line: usize| gone.first().is_some_and(|lines| lines[line]);
    let mut lost: HashMap<&[u8], Range<usize>> = layout
        .links
        .iter()
        .filter(|link| is_gone(link.line))
        .map(|link| (&input[link.id.clone()], link.parent.clone()))
        .collect();
    let mut splices = Vec::new();
    for link in layout.links.iter().filter(|link| !is_gone(link.line)) {
        let parent = kept_ancestor(input, &mut lost, link.parent.clone());
        if parent != link.parent {
            let id = String::from_utf8_lossy(&input[parent]).into_owned();
            splices.push((link.parent.clone(), id));
        }
    }
    splices
}

/// The id that is left when the links of lost lines are followed. They are taken out on the way, so that a circle
/// ends, and put back as short cuts, so that no later look-up goes the same way.
fn kept_ancestor<'i>(
    input: &'i [u8],
    lost: &mut HashMap<&'i [u8], Range<usize>>,
    mut parent: Range<usize>,
) -> Range<usize> {
    let mut passed = Vec::new();
    while let Some((id, next)) = lost.remove_entry(&input[parent.clone()]) {
        passed.push(id);
        parent = next;
    }
    lost.extend(passed.into_iter().map(|id| (id, parent.clone())));
    parent
}

fn removals(input: &[u8], layout: &Layout, gone: &[Vec<bool>]) -> Vec<Splice> {
    let mut ranges = Vec::new();
    // One without items has lost nothing.
    for (list, gone) in layout.lists.iter().zip(gone).filter(|(_, gone)| !gone.is_empty()) {
        let Some(last_kept) = gone.iter().rposition(|gone| !gone) else {
            ranges.extend(list.whole.clone().or_else(|| all(input, list)));
            continue;
        };
        for (item, _) in gone.iter().enumerate().filter(|(_, gone)| **gone) {
            let range = &list.items[item];
            ranges.push(match () {
                () if list.is_lines => range.start..line_end(input, range.end),
                () if item < last_kept => range.start..list.items[item + 1].start,
                () => list.items[item - 1].end..range.end,
            });
        }
    }
    ranges.into_iter().map(|range| (range, String::new())).collect()
}

/// From the first item of a list to its last.
fn all(input: &[u8], list: &ListSpan) -> Option<Range<usize>> {
    let (first, last) = (list.items.first()?, list.items.last()?);
    let end = if list.is_lines { line_end(input, last.end) } else { last.end };
    Some(first.start..end)
}

fn line_end(input: &[u8], end: usize) -> usize {
    if input.get(end) == Some(&b'\n') { end + 1 } else { end }
}

/// Applies replacements; one inside another is lost with it. An insertion where a removal starts is not inside it.
fn splice(input: &[u8], mut splices: Vec<Splice>) -> Vec<Cow<'_, [u8]>> {
    splices
        .sort_by_key(|(range, _)| (range.start, !range.is_empty(), std::cmp::Reverse(range.end)));
    let mut pieces = Vec::with_capacity(2 * splices.len() + 1);
    let mut at = 0;
    for (range, text) in splices.into_iter().filter(|(range, _)| range.end <= input.len()) {
        if range.start < at {
            continue;
        }
        pieces.push(Cow::Borrowed(&input[at..range.start]));
        pieces.push(Cow::Owned(text.into_bytes()));
        at = range.end;
    }
    pieces.push(Cow::Borrowed(&input[at..]));
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_go_with_their_separator() {
        let input = br#"[ 1, 22 ,333 ]"#;
        let items = vec![2..3, 5..7, 9..12];
        let check = |gone: [bool; 3], expected: &str| {
            let list = ListSpan { items: items.clone(), owner: None, whole: None, is_lines: false };
            let layout = Layout { lists: vec![list], ..Layout::default() };
            let output = splice(input, removals(input, &layout, &[gone.to_vec()])).concat();
            assert_eq!(String::from_utf8(output).unwrap(), expected);
        };
        check([false; 3], "[ 1, 22 ,333 ]");
        check([true, false, false], "[ 22 ,333 ]");
        check([false, true, false], "[ 1, 333 ]");
        check([false, true, true], "[ 1 ]");
        check([true, false, true], "[ 22 ]");
        check([true; 3], "[  ]");
    }

    #[test]
    fn a_splice_inside_another_is_lost_with_it() {
        let splices = vec![(3..4, "x".to_owned()), (1..5, String::new()), (6..7, "y".to_owned())];
        assert_eq!(splice(b"01234567", splices).concat(), b"05y7");
    }

    #[test]
    fn an_insertion_where_a_removal_starts_goes_before_it() {
        let splices = vec![(1..5, String::new()), (1..1, "x".to_owned()), (5..5, "y".to_owned())];
        assert_eq!(splice(b"01234567", splices).concat(), b"0xy567");
    }
}
