//! The transcript as the model saw it: messages of texts, tool calls and tool results, in order.
//!
//! The edges (`transcript`, `hook`) build these values from their formats and write the edits back. Sizes are
//! counted in characters (Unicode scalar values). Nothing here knows a file format.

use std::borrow::Cow;

/// A conversation, oldest message first.
#[derive(Debug, Default, Clone)]
pub struct Transcript<'a> {
    /// The messages, in the order in which the model saw them.
    pub messages: Vec<Message<'a>>,
}

/// Who a message is from. Tool results are the user's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The person, or the host on the person's behalf.
    User,
    /// The model.
    Assistant,
}

/// One message, or one row of a host that stores a row for each block.
#[derive(Debug, Clone)]
pub struct Message<'a> {
    /// Who it is from.
    pub role: Role,
    /// Written by the host (reminders, hook contexts): never a sign of what anybody used.
    pub is_meta: bool,
    /// Tokens of everything before it, as the API counted them for this answer of the model.
    pub context_tokens: Option<u64>,
    /// Its parts, in order.
    pub parts: Vec<Part<'a>>,
}

impl<'a> Message<'a> {
    /// Of which no more is known than this.
    #[must_use]
    pub fn new(role: Role, parts: Vec<Part<'a>>) -> Message<'a> {
        Message { role, is_meta: false, context_tokens: None, parts }
    }
}

/// A part of a message.
#[derive(Debug, Clone)]
pub enum Part<'a> {
    /// Prose. Never touched.
    Text(Cow<'a, str>),
    /// A tool call.
    Call(Call<'a>),
    /// What a tool answered.
    Result(ToolResult<'a>),
    /// The model's thinking. A signature binds it to everything before it.
    Thinking,
    /// Images, server tools and whatever else is carried along whole.
    Opaque,
}

/// A tool call.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    /// The id by which its result refers to it.
    pub id: Cow<'a, str>,
    /// The tool's name, as the host spells it.
    pub tool: Cow<'a, str>,
    /// Top-level arguments, in their order.
    pub arguments: Vec<Argument<'a>>,
    /// Length of the arguments as JSON with `", "` and `": "` between items, in characters.
    pub json_chars: usize,
    /// Its format can take a changed argument back.
    pub is_editable: bool,
}

/// One named argument of a call.
#[derive(Debug, Clone)]
pub struct Argument<'a> {
    /// Its name.
    pub name: Cow<'a, str>,
    /// Its value.
    pub value: ArgumentValue<'a>,
}

/// The value of an argument, as far as anybody here looks into it.
#[derive(Debug, Clone, PartialEq)]
pub enum ArgumentValue<'a> {
    /// A string.
    Text(Cow<'a, str>),
    /// A number.
    Number(f64),
    /// Anything else, in the host's notation.
    Other(Cow<'a, str>),
}

/// What a tool answered.
#[derive(Debug, Clone)]
pub struct ToolResult<'a> {
    /// The id of the call.
    pub id: Cow<'a, str>,
    /// The answer's text; several text blocks are joined by a line feed.
    pub text: Cow<'a, str>,
    /// Its length in characters; `new` and `replace_text` keep it in step.
    pub chars: usize,
    /// The tool failed.
    pub is_error: bool,
    /// Holds what text cannot carry (an image, a document): kept whole, whatever a policy says.
    pub is_opaque: bool,
}

/// Where a part is: index of the message, index of the part in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Index into [`Transcript::messages`].
    pub message: usize,
    /// Index into [`Message::parts`].
    pub part: usize,
}

impl<'a> Transcript<'a> {
    /// Every part with its place, in order.
    pub fn parts(&self) -> impl Iterator<Item = (Place, &Message<'a>, &Part<'a>)> {
        self.messages.iter().enumerate().flat_map(|(message, m)| {
            m.parts.iter().enumerate().map(move |(part, p)| (Place { message, part }, m, p))
        })
    }

    /// Characters of all texts, calls and results. O(bytes).
    #[must_use]
    pub fn chars(&self) -> usize {
        self.parts().map(|(_, _, part)| part.chars()).sum()
    }
}

impl Part<'_> {
    /// The same part, its texts borrowed from this one.
    #[must_use]
    pub fn borrowed(&self) -> Part<'_> {
        match self {
            Part::Text(text) => Part::Text(Cow::Borrowed(text)),
            Part::Call(call) => Part::Call(call.borrowed()),
            Part::Result(result) => Part::Result(ToolResult {
                id: Cow::Borrowed(&result.id),
                text: Cow::Borrowed(&result.text),
                chars: result.chars,
                is_error: result.is_error,
                is_opaque: result.is_opaque,
            }),
            Part::Thinking => Part::Thinking,
            Part::Opaque => Part::Opaque,
        }
    }

    /// Characters of a text or a result; of a call, its name, a space and its arguments; of others 0.
    #[must_use]
    pub fn chars(&self) -> usize {
        match self {
            Part::Text(text) => char_count(text),
            Part::Call(call) => call.chars(),
            Part::Result(result) => result.chars,
            Part::Thinking | Part::Opaque => 0,
        }
    }
}

impl<'a> ToolResult<'a> {
    /// A result with its length. O(bytes).
    #[must_use]
    pub fn new(
        id: Cow<'a, str>,
        text: Cow<'a, str>,
        is_error: bool,
        is_opaque: bool,
    ) -> ToolResult<'a> {
        let chars = char_count(&text);
        ToolResult { id, text, chars, is_error, is_opaque }
    }

    /// Replaces the text.
    pub fn replace_text(&mut self, text: &'a str) {
        self.chars = char_count(text);
        self.text = Cow::Borrowed(text);
    }
}

impl<'a> Call<'a> {
    /// The same call, its texts borrowed from this one.
    #[must_use]
    pub fn borrowed(&self) -> Call<'_> {
        Call {
            id: Cow::Borrowed(&self.id),
            tool: Cow::Borrowed(&self.tool),
            arguments: self.arguments.iter().map(Argument::borrowed).collect(),
            json_chars: self.json_chars,
            is_editable: self.is_editable,
        }
    }

    /// Replaces the value of a string argument.
    pub fn replace_argument(&mut self, index: usize, text: &'a str) {
        if let Some(Argument { value: ArgumentValue::Text(old), .. }) =
            self.arguments.get_mut(index)
        {
            self.json_chars = self.json_chars + json_chars(text) - json_chars(old);
            *old = Cow::Borrowed(text);
        }
    }

    /// Characters of the name, a space and the arguments.
    #[must_use]
    pub fn chars(&self) -> usize {
        char_count(&self.tool) + 1 + self.json_chars
    }

    /// The value of an argument.
    #[must_use]
    pub fn argument(&self, name: &str) -> Option<&ArgumentValue<'_>> {
        self.arguments.iter().find(|a| a.name == name).map(|a| &a.value)
    }

    /// The value of an argument that is a string and not empty.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.argument(name) {
            Some(ArgumentValue::Text(text)) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// The file that the call is about.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        ["file_path", "path", "notebook_path"].into_iter().find_map(|name| self.text(name))
    }

    /// The string arguments, in order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.arguments.iter().filter_map(|argument| match &argument.value {
            ArgumentValue::Text(text) => Some(text.as_ref()),
            ArgumentValue::Number(_) | ArgumentValue::Other(_) => None,
        })
    }
}

impl Argument<'_> {
    /// The same argument with texts of its own.
    #[must_use]
    pub fn into_owned<'o>(self) -> Argument<'o> {
        let value = match self.value {
            ArgumentValue::Text(text) => ArgumentValue::Text(Cow::Owned(text.into_owned())),
            ArgumentValue::Number(number) => ArgumentValue::Number(number),
            ArgumentValue::Other(json) => ArgumentValue::Other(Cow::Owned(json.into_owned())),
        };
        Argument { name: Cow::Owned(self.name.into_owned()), value }
    }

    fn borrowed(&self) -> Argument<'_> {
        let value = match &self.value {
            ArgumentValue::Text(text) => ArgumentValue::Text(Cow::Borrowed(text)),
            ArgumentValue::Number(number) => ArgumentValue::Number(*number),
            ArgumentValue::Other(json) => ArgumentValue::Other(Cow::Borrowed(json)),
        };
        Argument { name: Cow::Borrowed(&self.name), value }
    }
}

/// Length of a text as a JSON string, in characters: quotes, and escapes for what must be escaped.
#[must_use]
pub fn json_chars(text: &str) -> usize {
    let escapes = text.bytes().map(|byte| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0C => 1,
        0..=0x1F => 5,
        _ => 0,
    });
    2 + char_count(text) + escapes.sum::<usize>()
}

/// Characters of a text. O(bytes), without decoding.
#[must_use]
pub fn char_count(text: &str) -> usize {
    text.chars().count()
}
