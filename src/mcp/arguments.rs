//! The arguments of a tool call, checked against the tool's table of parameters.
//!
//! Models and clients write numbers and booleans as strings and leave optional text empty; both are
//! accepted. Any other mistake returns a sentence from which the model learns how to call again.

use serde_json::{Map, Value};

use crate::config::value;

/// One parameter of a tool. The same table makes the schema that clients see and checks what they
/// send.
#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) kind: ParameterKind,
    pub(super) is_required: bool,
    pub(super) description: &'static str,
}

/// The values of a parameter.
#[derive(Debug, Clone, Copy)]
pub(super) enum ParameterKind {
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A whole number, the range inclusive.
    Number {
        min: usize,
        max: usize,
        default: usize,
    },
    /// Off when not given.
    Switch,
}

/// The arguments of one call: every parameter that was given or has a default, in the order of the
/// table.
#[derive(Debug)]
pub(super) struct Arguments(Vec<(&'static str, ParsedArgument)>);

#[derive(Debug)]
enum ParsedArgument {
    Text(String),
    Number(usize),
    Switch(bool),
}

impl Arguments {
    /// Parses what a client sent.
    ///
    /// # Errors
    /// An unknown name, a missing text, a value of another kind or out of range.
    pub(super) fn read(
        parameters: &'static [Parameter],
        given: &Map<String, Value>,
    ) -> Result<Arguments, String> {
        if let Some(name) = given.keys().find(|name| parameters.iter().all(|p| p.name != *name)) {
            let known: Vec<&str> = parameters.iter().map(|p| p.name).collect();
            return Err(format!("unknown argument {name:?}: there are {}", known.join(", ")));
        }
        let mut arguments = Vec::new();
        for parameter in parameters {
            if let Some(argument) = read(parameter, given.get(parameter.name))? {
                arguments.push((parameter.name, argument));
            }
        }
        Ok(Arguments(arguments))
    }

    fn get(&self, name: &str) -> Option<&ParsedArgument> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, argument)| argument)
    }

    /// The text of a parameter; never blank.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        match self.get(name) {
            Some(ParsedArgument::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The number of a parameter; zero if it has none.
    pub(super) fn number(&self, name: &str) -> usize {
        match self.get(name) {
            Some(ParsedArgument::Number(number)) => *number,
            _ => 0,
        }
    }

    /// Whether a switch is on.
    pub(super) fn is_on(&self, name: &str) -> bool {
        matches!(self.get(name), Some(ParsedArgument::Switch(true)))
    }
}

fn read(parameter: &Parameter, given: Option<&Value>) -> Result<Option<ParsedArgument>, String> {
    let name = parameter.name;
    let given = given.filter(|value| !is_blank(value));
    match parameter.kind {
        ParameterKind::Number { min, max, default } => {
            let number = given.map_or(Ok(default), |value| number(name, value, min, max))?;
            Ok(Some(ParsedArgument::Number(number)))
        }
        ParameterKind::Switch => {
            given.map(|value| switch(name, value).map(ParsedArgument::Switch)).transpose()
        }
        ParameterKind::Text | ParameterKind::Choice(_)
            if given.is_none() && parameter.is_required =>
        {
            Err(format!("{name} is missing: {}", parameter.description))
        }
        ParameterKind::Text => {
            given.map(|value| text(name, value).map(ParsedArgument::Text)).transpose()
        }
        ParameterKind::Choice(names) => {
            given.map(|value| choice(name, value, names).map(ParsedArgument::Text)).transpose()
        }
    }
}

fn is_blank(value: &Value) -> bool {
    value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty())
}

fn text(name: &str, value: &Value) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| format!("{name} must be a string"))
}

fn choice(name: &str, value: &Value, names: &[&str]) -> Result<String, String> {
    match value.as_str().map(str::trim) {
        Some(word) if names.contains(&word) => Ok(word.to_owned()),
        _ => Err(format!("{name} must be one of {}, but is {value}", names.join(", "))),
    }
}

fn number(name: &str, value: &Value, min: usize, max: usize) -> Result<usize, String> {
    let number = match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_f64(),
    };
    match number {
        Some(n) if n.fract() == 0.0 && n >= min as f64 && n <= max as f64 => Ok(n as usize),
        _ => Err(format!("{name} must be a whole number from {min} to {max}, but is {value}")),
    }
}

fn switch(name: &str, given: &Value) -> Result<bool, String> {
    let word = match given {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    value::switch(&word).ok_or_else(|| format!("{name} must be true or false, but is {given}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const TABLE: &[Parameter] = &[
        Parameter {
            name: "task",
            kind: ParameterKind::Text,
            is_required: true,
            description: "what to do",
        },
        Parameter {
            name: "limit",
            kind: ParameterKind::Number { min: 1, max: 20, default: 10 },
            is_required: false,
            description: "",
        },
        Parameter {
            name: "explain",
            kind: ParameterKind::Switch,
            is_required: false,
            description: "",
        },
        Parameter {
            name: "provider",
            kind: ParameterKind::Choice(&["keywords", "jev"]),
            is_required: false,
            description: "",
        },
    ];

    fn read(given: &Value) -> Result<Arguments, String> {
        let mut given = given.as_object().unwrap().clone();
        given.entry("task").or_insert_with(|| json!("fix it"));
        Arguments::read(TABLE, &given)
    }

    #[test]
    fn numbers_in_every_spelling() {
        let check = |given: Value, expected: usize| {
            assert_eq!(read(&json!({ "limit": given })).unwrap().number("limit"), expected);
        };
        check(json!(3), 3);
        check(json!(3.0), 3);
        check(json!("3"), 3);
        check(json!(" 20 "), 20);
        check(Value::Null, 10);
        check(json!(""), 10);
        for bad in [json!(0), json!(21), json!(-1), json!(2.5), json!("many"), json!([3])] {
            let message = read(&json!({ "limit": bad })).unwrap_err();
            assert!(message.starts_with("limit must be a whole number from 1 to 20"), "{message}");
        }
        for bad in [json!("NaN"), json!("inf"), json!(1e300)] {
            assert!(read(&json!({ "limit": bad })).is_err());
        }
    }

    #[test]
    fn switches_in_every_spelling() {
        let check = |given: Value, expected: bool| {
            assert_eq!(read(&json!({ "explain": given })).unwrap().is_on("explain"), expected);
        };
        for on in [json!(true), json!("true"), json!("True"), json!(1), json!("1")] {
            check(on, true);
        }
        for off in [json!(false), json!("false"), json!(0), Value::Null, json!("")] {
            check(off, false);
        }
        assert!(read(&json!({ "explain": "maybe" })).is_err());
    }

    #[test]
    fn refusals_say_what_would_be_right() {
        let check = |given: Value, part: &str| {
            let message = read(&given).unwrap_err();
            assert!(message.contains(part), "{message}");
        };
        check(json!({ "task": "  " }), "task is missing: what to do");
        check(json!({ "task": 7 }), "task must be a string");
        check(json!({ "path": "src" }), "unknown argument \"path\": there are task, limit");
        check(
            json!({ "provider": "gpt" }),
            "provider must be one of keywords, jev, but is \"gpt\"",
        );
    }
}
