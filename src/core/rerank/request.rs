//! The questions that a decision model is asked about files, and how files are grouped into
//! requests.
//!
//! In: the task and the texts of files. Out: [`ModelRequest`], a request before it is JSON, and
//! batches of file numbers. Wording follows the vendor's guidance: one atomic, positive statement
//! per question, data in the state under short keys, rules in the instructions. Nothing here knows
//! a field name of the wire.

use std::collections::BTreeMap;

use super::tokens::tokens;

/// Sketches per request: about 17,000 tokens; 100 fit the model's window, 150 do not.
pub const SKETCHES_PER_REQUEST: usize = 60;
/// Sources per request: six times 6,000 characters are about 12,000 tokens.
pub const SOURCES_PER_REQUEST: usize = 6;
/// Characters of a file's source that are sent, from its start.
pub const SOURCE_CHARS: usize = 6_000;
/// Files taken from the best of the sketch pass, and as many from the best of the first stage.
pub const POOL: usize = 60;
/// Files that are compared with each other at the end.
pub const COMPARED: usize = 10;
/// Longest task that is sent; truncation is reported.
pub const TASK_CHARS: usize = 8_000;
/// Input tokens that a request costs in addition to its text, as third parties measured on the
/// hosted model.
const REQUEST_OVERHEAD_TOKENS: u64 = 250;
/// Input tokens of one more question about the same state (same measurements: 26,676 − 24,288 over
/// 200).
const QUESTION_TOKENS: u64 = 12;

/// One request: what the model reads, and what it is asked. Keys of questions are never shown to
/// the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRequest {
    /// What the model reads.
    pub state: RequestState,
    /// Key and question; keys are unique and not empty.
    pub questions: Vec<(String, Question)>,
}

/// The questions of a request.
pub type Questions = [(String, Question)];

/// What the model reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestState {
    /// Named texts, in this order.
    Fields(Vec<(String, String)>),
    /// One text.
    Text(String),
    /// JSON that the caller has encoded.
    Json(String),
}

/// One question about the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// A statement that is true or false; answered with its probability.
    YesNo {
        /// The statement.
        instructions: String,
        /// What "true" means, when the statement alone leaves it open.
        yes: Option<String>,
        /// What "false" means.
        no: Option<String>,
    },
    /// One of 1 to 255 labels; answered with a probability for each.
    Choice {
        /// The question.
        instructions: String,
        /// Label and description; both are read by the model.
        options: Vec<(String, String)>,
    },
}

impl Question {
    /// A statement without further criteria.
    #[must_use]
    pub fn statement(instructions: String) -> Question {
        Question::YesNo { instructions, yes: None, no: None }
    }
}

/// The role of a file in a change. The labels are shown to users and to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileRole {
    /// It is changed.
    Edit,
    /// It contains tests that are run or changed.
    Test,
    /// It shows how such a thing is done here.
    Example,
    /// It is read or called, but not changed.
    Dependency,
    /// It is unrelated; never shown.
    Unrelated,
}

impl FileRole {
    /// All roles, in the order they are offered.
    pub const ALL: [FileRole; 5] = [
        FileRole::Edit,
        FileRole::Test,
        FileRole::Example,
        FileRole::Dependency,
        FileRole::Unrelated,
    ];

    /// The label.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FileRole::Edit => "edit",
            FileRole::Test => "test",
            FileRole::Example => "example",
            FileRole::Dependency => "dependency",
            FileRole::Unrelated => "unrelated",
        }
    }

    fn description(self) -> &'static str {
        match self {
            FileRole::Edit => "the change is made in this file",
            FileRole::Test => "this file holds tests of what is changed",
            FileRole::Example => "this file shows an existing case to follow, and stays as it is",
            FileRole::Dependency => {
                "the changed code uses or is used by this file, which stays as it is"
            }
            FileRole::Unrelated => "this file plays no part in the change",
        }
    }
}

/// The key of the n-th file of a request: `f000`, a label without meaning.
#[must_use]
pub fn file_key(n: usize) -> String {
    format!("f{n:03}")
}

/// The key of the comparison's question.
pub const PICK: &str = "pick";

/// The key of the role question of the n-th file.
#[must_use]
pub fn role_key(n: usize) -> String {
    format!("role_{}", file_key(n))
}

/// One yes/no question per text: is the file needed for the task?
#[must_use]
pub fn relevance(task: &str, texts: Vec<String>) -> ModelRequest {
    let question = |n| {
        let key = file_key(n);
        // "reading or editing" found more than "editing" alone on the reference implementation's
        // benchmark: recall@10 .66 against .59.
        let statement = format!(
            "Implementing the change described in `task` requires reading or editing the file in `{key}`."
        );
        (key, Question::statement(statement))
    };
    let questions = (0..texts.len()).map(question).collect();
    ModelRequest { state: files_state(task, texts), questions }
}

/// One question over all files: which one must be edited?
#[must_use]
pub fn comparison(task: &str, paths: &[&str], texts: Vec<String>) -> ModelRequest {
    let options = paths.iter().enumerate().map(|(n, path)| {
        let key = file_key(n);
        let description = format!("the file in `{key}` ({path})");
        (key, description)
    });
    let question = Question::Choice {
        instructions: "Which file must be edited to implement the change described in `task`?"
            .into(),
        options: options.collect(),
    };
    ModelRequest { state: files_state(task, texts), questions: vec![(PICK.into(), question)] }
}

/// One question per file: what is its role?
#[must_use]
pub fn roles(task: &str, texts: Vec<String>) -> ModelRequest {
    let question = |n| {
        let key = file_key(n);
        let instructions =
            format!("What part does the file in `{key}` play in the change described in `task`?");
        let options =
            FileRole::ALL.iter().map(|r| (r.name().to_owned(), r.description().to_owned()));
        (role_key(n), Question::Choice { instructions, options: options.collect() })
    };
    let questions = (0..texts.len()).map(question).collect();
    ModelRequest { state: files_state(task, texts), questions }
}

fn files_state(task: &str, texts: Vec<String>) -> RequestState {
    let files = texts.into_iter().enumerate().map(|(n, text)| (file_key(n), text));
    RequestState::Fields(
        std::iter::once(("task".to_owned(), task.to_owned())).chain(files).collect(),
    )
}

/// Shuffles the files in an order that depends only on the task: the position inside a request
/// changes a probability by two to three points, and must not favour the files that the first stage
/// or the alphabet puts first.
#[must_use]
pub fn shuffled(mut files: Vec<usize>, task: &str) -> Vec<usize> {
    let mut state = seed(task);
    for last in (1..files.len()).rev() {
        let pick = usize::try_from(split_mix(&mut state) % (last as u64 + 1)).unwrap_or(0);
        files.swap(last, pick);
    }
    files
}

/// FNV-1a, 64 bits: the published offset basis and prime.
fn seed(task: &str) -> u64 {
    task.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// SplitMix64 (Steele, Lea and Flood 2014), its published constants.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The first `chars` characters.
#[must_use]
pub fn cut(text: &str, chars: usize) -> &str {
    // No text has more characters than bytes, and most have as many.
    match text.as_bytes().get(..chars) {
        None => return text,
        Some(head) if head.is_ascii() => return &text[..chars],
        Some(_) => {}
    }
    text.char_indices().nth(chars).map_or(text, |(at, _)| &text[..at])
}

/// Input tokens of a request, roughly.
#[must_use]
pub fn ask_tokens(ask: &ModelRequest) -> u64 {
    let state = match &ask.state {
        RequestState::Fields(fields) => {
            fields.iter().map(|(_, text)| tokens(text) as u64 + 2).sum()
        }
        RequestState::Text(text) | RequestState::Json(text) => tokens(text) as u64,
    };
    let questions: u64 = ask.questions.iter().map(|(_, question)| question_tokens(question)).sum();
    REQUEST_OVERHEAD_TOKENS + state + questions
}

fn question_tokens(question: &Question) -> u64 {
    let options: u64 = match question {
        Question::YesNo { .. } => 0,
        Question::Choice { options, .. } => {
            options.iter().map(|(label, text)| (tokens(label) + tokens(text)) as u64).sum()
        }
    };
    QUESTION_TOKENS + options
}

/// An estimate of what a run would send. Requests and tokens are an upper bound, because the
/// overlap of the two halves of the pool is known only afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Estimate {
    /// Files of which some text is sent.
    pub files: usize,
    /// Requests, retries not counted.
    pub requests: usize,
    /// Input tokens.
    pub input_tokens: u64,
    /// Price in dollars; 0 for a model on this machine.
    pub dollars: f64,
}

/// Probabilities by key.
pub type Probabilities = BTreeMap<String, f64>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_asks_one_question_per_file_about_named_texts() {
        let ask = relevance("fix it", vec!["path: a".into(), "path: b".into()]);
        let RequestState::Fields(fields) = &ask.state else { panic!("{:?}", ask.state) };
        let keys: Vec<&str> = fields.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["task", "f000", "f001"]);
        assert_eq!(ask.questions[1].0, "f001");
        let Question::YesNo { instructions, .. } = &ask.questions[1].1 else { panic!() };
        assert!(instructions.contains("`task`") && instructions.contains("`f001`"));
    }

    #[test]
    fn comparison_and_roles_offer_labels_with_descriptions() {
        let ask = comparison("fix it", &["src/a.rs"], vec!["path: src/a.rs".into()]);
        let Question::Choice { options, .. } = &ask.questions[0].1 else { panic!() };
        assert_eq!(options[0], ("f000".into(), "the file in `f000` (src/a.rs)".into()));
        let ask = roles("fix it", vec!["path: src/a.rs".into()]);
        let Question::Choice { options, .. } = &ask.questions[0].1 else { panic!() };
        assert_eq!(options.len(), FileRole::ALL.len());
    }

    #[test]
    fn the_shuffle_is_a_permutation_that_depends_on_the_task_alone() {
        let order = shuffled((0..100).collect(), "a task");
        assert_eq!(order, shuffled((0..100).collect(), "a task"));
        assert_ne!(order, shuffled((0..100).collect(), "another task"));
        let mut sorted = order;
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn a_cut_counts_characters() {
        assert_eq!(cut("größe", 3), "grö");
        assert_eq!(cut("ab", 3), "ab");
    }
}
