//! The query language of the inventory (I-08) as a syntax tree. [`parser`] parses the text, and the store translates
//! the tree to SQL.
//!
//! A condition is true or false, never unknown. A value that is absent, or that has another JSON type than the value it
//! is compared with, compares as false; `not` and `ne` are the exact negations. When a path contains an array or ends
//! at one, any matching element suffices. Texts are compared by code points, case-sensitively.
//!
//! The same conditions select the members of a dynamic group (`plat_DeviceQueryString`, I-11) and, in memory, the
//! notifications of a subscription (B-35) and those of a group (B-39).

mod parser;
mod paths;
#[cfg(test)]
mod tests;
mod words;

use crate::error::{Error, Result};
use crate::id::ManagedObjectId;
use crate::timestamp::Timestamp;

/// The maximum number of bytes of a query.
const MAX_LENGTH: usize = 8 << 10;
/// The maximum number of bytes of a filter of notifications.
const MAX_FILTER_LENGTH: usize = 2 << 10;
/// The maximum depth of nested parentheses and `not`.
const MAX_DEPTH: usize = 32;
/// The maximum number of comparisons and functions in one query.
const MAX_TERMS: usize = 200;
/// The maximum number of names in one path.
const MAX_SEGMENTS: usize = 16;
/// The maximum number of wildcards in one text; adjacent ones count as one.
const MAX_WILDCARDS: usize = 16;
/// The maximum number of sort keys.
const MAX_ORDER: usize = 8;

/// A query: a condition and a sort order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InventoryQuery {
    /// The condition; `None` matches every object.
    pub condition: Option<Condition>,
    /// The sort keys, the most important first; ties are sorted by ascending id.
    pub order: Vec<SortKey>,
}

impl Condition {
    /// Parses `<expr>` or `$filter=<expr>`.
    ///
    /// # Errors
    /// `Invalid` names the position, the expected syntax and the text at that position.
    pub(crate) fn parse(text: &str, subject: Subject) -> Result<Self> {
        parser::parse_condition(text, subject)
    }

    /// Returns whether it depends on links between objects, which only the database knows.
    pub fn has_groups(&self) -> bool {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().any(Self::has_groups),
            Self::Not(inner) => inner.has_groups(),
            Self::InGroup(_) => true,
            Self::Compare(..) | Self::Has(_) => false,
        }
    }
}

impl InventoryQuery {
    /// Parses `<expr>`, or `$filter=<expr> $orderby=<path>[ asc|desc],…` in either order, or one of these parts alone.
    ///
    /// # Errors
    /// `Invalid` names the position, the expected syntax and the text at that position.
    pub fn parse(text: &str) -> Result<Self> {
        parser::parse(text)
    }

    /// Parses the query of a dynamic group and returns its condition (I-11). The group has no order.
    ///
    /// # Errors
    /// `Invalid` for a query without a condition, which would select all devices (I-08a), and those of
    /// [`parse`](Self::parse).
    pub fn parse_members(text: &str) -> Result<Condition> {
        if text.trim().is_empty() {
            return Err(Error::Invalid("a query is missing".into()));
        }
        let no_condition = || Error::Invalid("the query has an order, but no condition".into());
        Self::parse(text)?.condition.ok_or_else(no_condition)
    }

    /// Restricts the query to objects with this fragment.
    #[must_use]
    pub fn with_fragment(self, name: String) -> Self {
        let wanted = Condition::Has(FragmentPath(vec![name]));
        let condition = Some(match self.condition {
            Some(condition) => Condition::All(vec![wanted, condition]),
            None => wanted,
        });
        Self { condition, ..self }
    }
}

/// The subject of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// Managed objects, in PostgreSQL.
    ManagedObjects,
    /// Notifications, in memory (B-35). Their standard members are those of all resources, and there is no condition
    /// that needs the database.
    Notifications,
}

impl Subject {
    /// Returns the name of the member with the condition, for errors.
    fn member(self) -> &'static str {
        match self {
            Self::ManagedObjects => "query",
            Self::Notifications => "filter",
        }
    }

    fn max_length(self) -> usize {
        match self {
            Self::ManagedObjects => MAX_LENGTH,
            Self::Notifications => MAX_FILTER_LENGTH,
        }
    }

    fn has_groups(self) -> bool {
        self == Self::ManagedObjects
    }

    /// Returns the tokens that can start a condition.
    fn terms(self) -> &'static str {
        match self {
            Self::ManagedObjects => "a path, has(, bygroupid(, not or (",
            Self::Notifications => "a path, has(, not or (",
        }
    }
}

/// A condition on an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// `… and …`
    All(Vec<Condition>),
    /// `… or …`
    Any(Vec<Condition>),
    /// `not …`
    Not(Box<Condition>),
    /// `<path> <operator> <value>`
    Compare(Path, Operator, Value),
    /// `has(<path>)`: the fragment, or the member inside a fragment, exists. For a standard member, `has` is a
    /// comparison with `null`.
    Has(FragmentPath),
    /// `bygroupid(<id>)`: the object is a direct child asset of this object; `None`, for an invalid id, matches
    /// nothing.
    InGroup(Option<ManagedObjectId>),
}

/// `eq`, `ne`, `gt`, `ge`, `lt`, `le`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// Equal; with wildcards, matching. `eq null` means absent or null.
    Equal,
    /// The negation of [`Operator::Equal`].
    NotEqual,
    /// Greater. Only numbers, texts and instants have an order.
    Greater,
    /// See [`Operator::Greater`].
    GreaterOrEqual,
    /// See [`Operator::Greater`].
    Less,
    /// See [`Operator::Greater`].
    LessOrEqual,
}

/// The left side of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Path {
    /// `id`: compared for equality with a text or a number of its digits; ordered as a number.
    Id,
    /// `type`, `name` or `owner`.
    Text(TextMember),
    /// `creationTime` or `lastUpdated`, with or without `.date`: an instant.
    Time(TimeMember),
    /// A fragment or a member inside one.
    Fragment(FragmentPath),
    /// `<path>.date`: a timestamp in a fragment, as an instant.
    Instant(FragmentPath),
}

/// The standard members with a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextMember {
    /// `type`
    Type,
    /// `name`
    Name,
    /// `owner`
    Owner,
}

impl TextMember {
    /// Returns the name of the member.
    pub fn name(self) -> &'static str {
        match self {
            Self::Type => "type",
            Self::Name => "name",
            Self::Owner => "owner",
        }
    }
}

/// The standard members with a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeMember {
    /// `creationTime`
    CreationTime,
    /// `lastUpdated`
    LastUpdated,
}

impl TimeMember {
    /// Returns the name of the member.
    pub fn name(self) -> &'static str {
        match self {
            Self::CreationTime => "creationTime",
            Self::LastUpdated => "lastUpdated",
        }
    }
}

/// The name of a fragment and of members inside it; it has at least one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FragmentPath(Vec<String>);

impl FragmentPath {
    /// Returns the name of the fragment.
    pub fn fragment(&self) -> &str {
        &self.0[0]
    }

    /// Returns all names in order, the fragment's first.
    pub fn segments(&self) -> &[String] {
        &self.0
    }
}

/// The right side of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A text without wildcards.
    Text(String),
    /// A text with wildcards, split at them: it has at least two pieces, each of which may be empty.
    Pattern(Vec<String>),
    /// A JSON number as it was written.
    Number(String),
    /// `true` or `false`
    Boolean(bool),
    /// `null`
    Null,
    /// A timestamp, if the path is an instant.
    Instant(Timestamp),
}

/// A sort key. In a fragment, numbers come before texts, and both before other values; absent values come last. The
/// descending order is the exact reverse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortKey {
    /// The path whose values are compared.
    pub path: Path,
    /// The direction.
    pub direction: Direction,
}

/// The direction of a sort key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// `asc`, the default.
    Ascending,
    /// `desc`
    Descending,
}
