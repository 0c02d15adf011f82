//! The query language of the inventory (I-08): what a query means. [`parser`] reads its text, the store makes SQL of it.
//!
//! A condition is true or false, never unknown: what is absent, or of another JSON type than the value it is compared
//! with, compares false, and `not` and `ne` are the exact opposite of what they negate. Where a path leads through an
//! array, or to one, any element will do. Texts compare by their characters' numbers, case-sensitive.
//!
//! The same conditions select the members of a dynamic group (`plat_DeviceQueryString`, I-11).

mod parser;
#[cfg(test)]
mod tests;

use crate::error::Result;
use crate::model::id::ManagedObjectId;
use crate::model::timestamp::Timestamp;

/// Bytes of a query.
const MAX_LENGTH: usize = 8 << 10;
/// How deep parentheses and `not` may nest.
const MAX_DEPTH: usize = 32;
/// Comparisons and functions in one query.
const MAX_TERMS: usize = 200;
/// Names in one path.
const MAX_SEGMENTS: usize = 16;
/// Wildcards in one text; runs of them count as one.
const MAX_WILDCARDS: usize = 16;
/// Paths a result is sorted by.
const MAX_ORDER: usize = 8;

/// A query: which objects, and in which order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InventoryQuery {
    /// `None` matches every object.
    pub condition: Option<Condition>,
    /// What the result is sorted by, the most important first; ties and everything else by ascending id.
    pub order: Vec<SortKey>,
}

impl InventoryQuery {
    /// Reads `<expr>`, or `$filter=<expr> $orderby=<path>[ asc|desc],…` in either order, either part alone.
    ///
    /// # Errors
    /// `Invalid` names the place, what was expected there and what was found.
    pub fn parse(text: &str) -> Result<Self> {
        parser::parse(text)
    }

    /// The same query, of objects that have this fragment.
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

/// What an object must fulfil.
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
    /// `has(<path>)`: the fragment, or what is inside one, exists.
    Has(FragmentPath),
    /// `bygroupid(<id>)`: is a direct child asset of this object; a number that is no id has none.
    InGroup(Option<ManagedObjectId>),
}

/// `eq`, `ne`, `gt`, `ge`, `lt`, `le`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// Equal; with wildcards: matches. `eq null`: absent or null.
    Equal,
    /// The opposite of [`Operator::Equal`].
    NotEqual,
    /// Only numbers, texts and instants have an order.
    Greater,
    /// See [`Operator::Greater`].
    GreaterOrEqual,
    /// See [`Operator::Greater`].
    Less,
    /// See [`Operator::Greater`].
    LessOrEqual,
}

/// What is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Path {
    /// `id`: equal to a text or a number of its digits; ordered as a number.
    Id,
    /// `type`, `name` or `owner`.
    Text(TextMember),
    /// `creationTime` or `lastUpdated`, with or without `.date`: an instant.
    Time(TimeMember),
    /// A fragment, or something inside one.
    Fragment(FragmentPath),
    /// `<path>.date`: a timestamp in a fragment, as an instant.
    Instant(FragmentPath),
}

/// The standard members that are texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextMember {
    /// `type`
    Type,
    /// `name`
    Name,
    /// `owner`
    Owner,
}

/// The standard members that are times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeMember {
    /// `creationTime`
    CreationTime,
    /// `lastUpdated`
    LastUpdated,
}

/// Name of a fragment and of members inside it; at least one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FragmentPath(Vec<String>);

impl FragmentPath {
    /// The name of the fragment.
    pub fn fragment(&self) -> &str {
        &self.0[0]
    }

    /// All names in order, the fragment's first.
    pub fn segments(&self) -> &[String] {
        &self.0
    }
}

/// What is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A text without wildcards.
    Text(String),
    /// A text with wildcards, split at them: at least two pieces, each may be empty.
    Pattern(Vec<String>),
    /// A JSON number, as it was written.
    Number(String),
    /// `true` or `false`
    Boolean(bool),
    /// `null`
    Null,
    /// A timestamp, where the path means an instant.
    Instant(Timestamp),
}

/// One path a result is sorted by. Of a fragment numbers come before texts, and both before everything else; what is
/// absent comes last. Descending is the exact reverse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortKey {
    /// What is looked at.
    pub path: Path,
    /// In which direction.
    pub direction: Direction,
}

/// Direction of a sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// `asc`, the default.
    Ascending,
    /// `desc`
    Descending,
}
