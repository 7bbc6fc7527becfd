//! Pairing: which result answers which call. Input: a transcript. Output: pairs in the order of their results, and a
//! list of what does not pair. Irregular calls and results are reported and never touched by anything later.

use std::collections::HashMap;

use super::transcript::{Call, Message, Part, Place, ToolResult, Transcript};

/// A call and its result.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'t, 'a> {
    /// The call.
    pub call: &'t Call<'a>,
    /// Its result.
    pub result: &'t ToolResult<'a>,
    /// Where the call is.
    pub call_at: Place,
    /// Where the result is.
    pub result_at: Place,
    /// 1, 2, … over the pairs in the order of their calls: the `t1`, `t2`, … of tables and questions.
    pub number: usize,
}

/// A call or a result that does not pair up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Irregular {
    /// Where it is.
    pub at: Place,
    /// What is wrong with it.
    pub flaw: Flaw,
}

/// What is wrong with a call or a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flaw {
    /// A call without a result: interrupted, or still running.
    Unanswered,
    /// A result without a call.
    Orphan,
    /// A call whose id an earlier call has.
    RepeatedCall,
    /// A second result of the same call.
    RepeatedResult,
    /// A result before its call.
    Early,
}

/// What pairs up in a transcript and what does not.
#[derive(Debug, Default)]
pub struct Pairing<'t, 'a> {
    /// Pairs, in the order of their results.
    pub pairs: Vec<Pair<'t, 'a>>,
    /// Everything else, in the order of the transcript.
    pub irregular: Vec<Irregular>,
}

/// Pairs calls with results by id. An id that is used twice, in calls or in results, pairs nothing. O(parts).
#[must_use]
pub fn pair<'t, 'a>(transcript: &'t Transcript<'a>) -> Pairing<'t, 'a> {
    let mut calls: HashMap<&str, Vec<(Place, &Call<'a>)>> = HashMap::new();
    let mut results: HashMap<&str, Vec<Place>> = HashMap::new();
    for (place, _, part) in transcript.parts() {
        match part {
            Part::Call(call) => calls.entry(&call.id).or_default().push((place, call)),
            Part::Result(result) => results.entry(&result.id).or_default().push(place),
            Part::Text(_) | Part::Thinking | Part::Opaque => {}
        }
    }
    let mut pairing = Pairing::default();
    for (at, _, part) in transcript.parts() {
        let flaw = match part {
            Part::Call(call) => flaw_of_call(at, &calls[call.id.as_ref()], results.get(&*call.id)),
            Part::Result(result) => {
                match sole_call(at, calls.get(&*result.id), &results[result.id.as_ref()]) {
                    Ok((call_at, call)) => {
                        let pair = Pair { call, result, call_at, result_at: at, number: 0 };
                        pairing.pairs.push(pair);
                        None
                    }
                    Err(flaw) => Some(flaw),
                }
            }
            Part::Text(_) | Part::Thinking | Part::Opaque => None,
        };
        pairing.irregular.extend(flaw.map(|flaw| Irregular { at, flaw }));
    }
    number_by_call(&mut pairing.pairs);
    pairing
}

fn flaw_of_call(
    at: Place,
    same_id: &[(Place, &Call<'_>)],
    results: Option<&Vec<Place>>,
) -> Option<Flaw> {
    if same_id.len() > 1 && same_id[0].0 != at {
        return Some(Flaw::RepeatedCall);
    }
    results.is_none().then_some(Flaw::Unanswered)
}

/// The call that a result answers, if the two are the only ones of their id and in order.
fn sole_call<'t, 'a>(
    at: Place,
    calls: Option<&Vec<(Place, &'t Call<'a>)>>,
    results: &[Place],
) -> Result<(Place, &'t Call<'a>), Flaw> {
    let Some(&[(call_at, call), ref more @ ..]) = calls.map(Vec::as_slice) else {
        return Err(Flaw::Orphan);
    };
    if !more.is_empty() {
        return Err(Flaw::RepeatedCall);
    }
    if results.len() > 1 {
        return Err(Flaw::RepeatedResult);
    }
    if at < call_at {
        return Err(Flaw::Early);
    }
    Ok((call_at, call))
}

fn number_by_call(pairs: &mut [Pair<'_, '_>]) {
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    order.sort_by_key(|&i| pairs[i].call_at);
    for (rank, i) in order.into_iter().enumerate() {
        pairs[i].number = rank + 1;
    }
}

/// Whether the message only carries tool results: the host's, not the person's.
#[must_use]
pub fn is_results_only(message: &Message<'_>) -> bool {
    let has_result = message.parts.iter().any(|part| matches!(part, Part::Result(_)));
    has_result && !message.parts.iter().any(|part| matches!(part, Part::Text(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::compact::testing::{assistant, call, result, user};

    fn check(messages: Vec<Message<'_>>, numbers: &[usize], flaws: &[Flaw]) {
        let transcript = Transcript { messages };
        let pairing = pair(&transcript);
        assert_eq!(pairing.pairs.iter().map(|p| p.number).collect::<Vec<_>>(), numbers);
        assert_eq!(pairing.irregular.iter().map(|i| i.flaw).collect::<Vec<_>>(), flaws);
    }

    #[test]
    fn parallel_calls_are_numbered_by_call_and_listed_by_result() {
        let calls = assistant(vec![call("a", "Read"), call("b", "Bash")]);
        check(vec![calls, user(vec![result("b", "2"), result("a", "1")])], &[2, 1], &[]);
    }

    #[test]
    fn what_does_not_pair_is_reported() {
        check(vec![assistant(vec![call("a", "Read")])], &[], &[Flaw::Unanswered]);
        check(vec![user(vec![result("a", "1")])], &[], &[Flaw::Orphan]);
        let early = vec![user(vec![result("a", "1")]), assistant(vec![call("a", "Read")])];
        check(early, &[], &[Flaw::Early]);
        let twice = vec![
            assistant(vec![call("a", "Read"), call("a", "Read")]),
            user(vec![result("a", "1")]),
        ];
        check(twice, &[], &[Flaw::RepeatedCall, Flaw::RepeatedCall]);
        let two_results = vec![
            assistant(vec![call("a", "Read")]),
            user(vec![result("a", "1"), result("a", "2")]),
        ];
        check(two_results, &[], &[Flaw::RepeatedResult, Flaw::RepeatedResult]);
    }
}
