//! The value tree of a file: what YAML says, and where.

/// One value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) value: Value,
    /// Line, from 1.
    pub(super) line: usize,
}

/// What stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// Nothing: `key:`, `~` or `null`.
    Null,
    Scalar {
        text: String,
        /// Written without quotes.
        plain: bool,
    },
    List(Vec<Node>),
    /// In the order of the file; no key twice.
    Map(Vec<(Key, Node)>),
    /// Something that the reader has already reported. Whoever meets it says no more about it.
    Broken,
}

/// A key of a mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) text: String,
    /// Line, from 1.
    pub(super) line: usize,
}

impl Node {
    pub(super) fn broken(line: usize) -> Self {
        Self { value: Value::Broken, line }
    }

    /// What it is, for a problem.
    pub(super) fn describe(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Scalar { .. } => "a single value",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
            Value::Broken => "an unreadable value",
        }
    }
}
