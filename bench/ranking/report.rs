//! Places into tables, as Markdown.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::cases::Case;
use crate::measure::{CUTS, Column, Place, interval, mean, recall};

/// A system's name and the places of the right files, per case.
pub struct Row {
    pub name: String,
    pub places: Vec<Vec<Place>>,
}

impl Row {
    fn recalls(&self, cut: usize, column: Column) -> Vec<f64> {
        self.places.iter().filter_map(|places| recall(places, cut, column)).collect()
    }
}

/// Recall of every system, in both columns.
pub fn summary(rows: &[Row]) -> String {
    let mut text = String::from(
        "| System | @5 | @10 | @20 | non-test @5 | @10 | @20 |\n| --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for row in rows {
        let _ = write!(text, "| {} |", row.name);
        for column in [Column::All, Column::Sources] {
            for cut in CUTS {
                let _ = write!(text, " {:.3} |", mean(&row.recalls(cut, column)));
            }
        }
        text.push('\n');
    }
    text
}

/// Every system against the first one: paired differences with 95 % intervals.
pub fn differences(rows: &[Row]) -> String {
    let Some((base, others)) = rows.split_first() else { return String::new() };
    let mut text = format!(
        "| Against {} | @5 | @10 | @20 | non-test @10 |\n| --- | --- | --- | --- | --- |\n",
        base.name
    );
    let columns = CUTS.map(|cut| (cut, Column::All)).into_iter().chain([(10, Column::Sources)]);
    let columns: Vec<(usize, Column)> = columns.collect();
    for row in others {
        let _ = write!(text, "| {} |", row.name);
        for &(cut, column) in &columns {
            let pairs = row.recalls(cut, column).into_iter().zip(base.recalls(cut, column));
            let (mean, low, high) = interval(&pairs.map(|(a, b)| a - b).collect::<Vec<_>>());
            let _ = write!(text, " {mean:+.3} [{low:+.3}, {high:+.3}] |");
        }
        text.push('\n');
    }
    text
}

/// Recall @5 and @10 by repository.
pub fn by_repository(cases: &[Case], rows: &[Row]) -> String {
    let mut repositories: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, case) in cases.iter().enumerate() {
        repositories.entry(&case.repo).or_default().push(at);
    }
    let mut text = String::from("| Repository | tasks | files |");
    rows.iter().for_each(|row| text += &format!(" {} @5 | @10 |", row.name));
    text += "\n| --- | --- | --- |";
    text += &" --- | --- |".repeat(rows.len());
    text.push('\n');
    for (repo, at) in repositories {
        let files = at.iter().map(|&k| cases[k].corpus.documents.len()).sum::<usize>() / at.len();
        let _ = write!(text, "| {repo} | {} | {files} |", at.len());
        for row in rows {
            for cut in [5, 10] {
                let of = |&k: &usize| recall(&row.places[k], cut, Column::All);
                let _ =
                    write!(text, " {:.2} |", mean(&at.iter().filter_map(of).collect::<Vec<_>>()));
            }
        }
        text.push('\n');
    }
    text
}

/// The right files a system does not have among its first ten, with their places.
pub fn misses(cases: &[Case], row: &Row) -> String {
    let mut text = String::new();
    for (case, places) in cases.iter().zip(&row.places) {
        let missed: Vec<&Place> =
            places.iter().filter(|p| p.among_all.is_none_or(|at| at > 10)).collect();
        if missed.is_empty() {
            continue;
        }
        let task = case.text.replace('\n', " ");
        let _ = writeln!(text, "{} {} {task}", case.repo, &case.commit[..10]);
        for place in missed {
            let at = place.among_all.map_or("-".to_owned(), |at| at.to_string());
            let _ = writeln!(text, "    {at:>5}  {}", String::from_utf8_lossy(&place.path));
        }
    }
    text
}
