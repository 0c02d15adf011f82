//! Expressions in which every name is resolved.

use std::sync::Arc;

use crate::language::syntax::{Operator, Quantifier};
use crate::value::{ObjectKind, Value};

/// The position of an event that an expression reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventPlace {
    /// The number of the source: 0 or 1.
    pub source: u8,
    /// The number of the tag, if the source is a pattern match.
    pub tag: Option<u16>,
}

#[derive(Debug, Clone)]
pub(crate) enum Expression {
    Literal(Value),
    /// A whole event.
    Event(EventPlace),
    /// A column of an event that is a row.
    Column(EventPlace, usize),
    /// A property of an input event.
    Property(EventPlace, Property),
    /// A member of the value of an expression. It is null if the value is null or has no such member.
    Member(Box<Expression>, Arc<str>),
    /// An element of a list, counted from 0. It is null if there is no such element.
    Index(Box<Expression>, Box<Expression>),
    Variable(usize),
    /// A key of the context; `context.key1` has the number 0.
    ContextKey(usize),
    /// An index into the aggregates of the statement.
    Aggregate(usize),
    Not(Box<Expression>),
    Negate(Box<Expression>),
    Binary(Operator, Box<Expression>, Box<Expression>),
    IsNull {
        value: Box<Expression>,
        negated: bool,
    },
    In {
        value: Box<Expression>,
        among: Vec<Expression>,
        negated: bool,
    },
    Between {
        value: Box<Expression>,
        low: Box<Expression>,
        high: Box<Expression>,
        negated: bool,
    },
    Like {
        value: Box<Expression>,
        pattern: Box<Expression>,
        escape: Option<char>,
        negated: bool,
    },
    /// Pairs of a condition and a value. If the `case` has an operand, the condition already compares it.
    Case {
        branches: Vec<(Expression, Expression)>,
        otherwise: Option<Box<Expression>>,
    },
    Cast(Box<Expression>, Scalar),
    Call(Function, Vec<Expression>),
    /// A query to the store.
    LookUp(Finder, Vec<Expression>),
    List(Vec<Expression>),
    /// Pairs of a path and a value. The path is evaluated to text, and each dot in it adds a level of nesting
    ///
    Fragments(Vec<(Expression, Expression)>),
}

/// The properties of an event of an input stream. A member of its object is an [`Expression::Member`] of
/// `Object`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Property {
    /// The property `_type`.
    Type,
    /// The property `_mode`.
    Mode,
    /// The property `_origin`.
    Origin,
    /// The object in its client representation, as a map.
    Payload,
    /// The property `managedObject`, `event`, `measurement`, `operation` or `alarm`. For a deletion it is a map
    /// that contains only the id.
    Object,
    /// The status of a `ResponseReceived`.
    Status,
    Body,
    CreationTime,
    Source,
}

/// The target type of a `cast`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scalar {
    Boolean,
    Integer,
    Double,
    Text,
    Time,
    /// A class name that does not constrain the type: the value is unchanged.
    Same,
}

/// Functions that depend only on their arguments and the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    /// `getObject(event, path[, default])` and its variants for other types.
    GetObject,
    GetString,
    GetNumber,
    GetBoolean,
    GetDate,
    GetList,
    /// The current time in milliseconds since 1970.
    CurrentTimestamp,
    /// Converts milliseconds or text to a date.
    ToDate,
    /// Converts a date to milliseconds; milliseconds are unchanged.
    ToMillisec,
    ToDouble,
    /// Converts a date to its text.
    Format,
    /// `a.after(b[, least[, greatest]])`: whether a date is later than another one, by at least and at most these
    /// milliseconds.
    After,
    /// The same for an earlier date.
    Before,
    /// `.value` and `.getValue()`: return the text of an id.
    IdValue,
    ToJson,
    ToNumberSetParameter,
}

/// A function that queries the store. It takes one argument per filter (two for a time range), in the
/// order of the filters in its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finder {
    /// A finder whose name has the form `find…ById`.
    ById(ObjectKind),
    /// A finder whose name has the form `find…By…`.
    By {
        /// The noun it queries.
        kind: ObjectKind,
        /// The number of objects that it returns.
        take: Take,
        /// The filters in the order of the name.
        filters: Vec<Filter>,
    },
    /// `inMaintenanceMode`: whether a device is being serviced.
    InMaintenanceMode,
    /// `replaceAllPlaceholders`: fills the gaps of a text with properties of an object.
    ReplaceAllPlaceholders,
}

/// The number of objects that a finder returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// Exactly one object. The finder fails if there is none or more than one.
    One,
    /// The newest object, or null if there is none.
    First,
    /// A list of all objects, newest first.
    All,
}

/// A property by which a finder filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    /// The managed object that it concerns.
    Source,
    /// The status.
    Status,
    /// The type.
    Type,
    /// The name of a fragment that it contains.
    FragmentType,
    /// The time, which must lie between two arguments.
    TimeBetween,
    /// The creation time, which must lie between two arguments.
    CreationTimeBetween,
    /// The agent of an operation.
    Agent,
    /// The device of an operation.
    Device,
}

impl Filter {
    /// Returns whether objects of a kind can be filtered by this: exactly the filters that the API's lists
    /// support.
    pub fn applies_to(self, kind: ObjectKind) -> bool {
        match self {
            Self::Type => kind != ObjectKind::Operation,
            Self::FragmentType => kind != ObjectKind::Alarm,
            Self::Source | Self::TimeBetween => kind != ObjectKind::ManagedObject,
            Self::Status => matches!(kind, ObjectKind::Alarm | ObjectKind::Operation),
            Self::Agent | Self::Device | Self::CreationTimeBetween => kind == ObjectKind::Operation,
        }
    }

    /// Returns whether two filters concern the same property, so that they cannot be combined: the source of an
    /// operation is its device, and its time is its creation time.
    pub(crate) fn concerns_same_property(self, other: Self) -> bool {
        let of_operations = |filter| match filter {
            Self::Source => Self::Device,
            Self::TimeBetween => Self::CreationTimeBetween,
            filter => filter,
        };
        of_operations(self) == of_operations(other)
    }
}

/// An aggregate of a statement.
#[derive(Debug, Clone)]
pub struct Aggregate {
    pub(crate) kind: AggregateKind,
    /// The argument; `None` for `count(*)`.
    pub(crate) argument: Option<Expression>,
    pub(crate) quantifier: Quantifier,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AggregateKind {
    Count,
    Sum,
    Avg,
    Min,
    Max,
    First,
    Last,
    Median,
    Stddev,
}
