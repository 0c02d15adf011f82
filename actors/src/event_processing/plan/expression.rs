//! Expressions with every name resolved.

use std::sync::Arc;

use crate::event_processing::language::syntax::{Operator, Quantifier};
use crate::event_processing::value::{ObjectKind, Value};

/// Where an event that an expression reads is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// Number of the source: 0 or 1.
    pub(crate) source: u8,
    /// Of a match: the number of the tag.
    pub(crate) tag: Option<u16>,
}

#[derive(Debug, Clone)]
pub(crate) enum Expression {
    Literal(Value),
    /// An event as a whole.
    Event(Place),
    /// A column of an event that is a row.
    Column(Place, usize),
    /// A property of an event that is an input.
    Property(Place, Property),
    /// A member of what the expression gives; null where it has none, and of null.
    Member(Box<Expression>, Arc<str>),
    /// An element, counted from 0; null where there is none.
    Index(Box<Expression>, Box<Expression>),
    Variable(usize),
    /// `context.key1` is 0.
    ContextKey(usize),
    /// Place among the aggregates of the statement.
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
    /// Pairs of condition and value; with an operand it is compared already.
    Case {
        branches: Vec<(Expression, Expression)>,
        otherwise: Option<Box<Expression>>,
    },
    Cast(Box<Expression>, Scalar),
    Call(Function, Vec<Expression>),
    /// Reads the store.
    LookUp(Finder, Vec<Expression>),
    List(Vec<Expression>),
    /// Pairs of a path and a value; a path is evaluated to text, its dots nest.
    Fragments(Vec<(Expression, Expression)>),
}

/// What can be asked of an event of an input stream. Members of its object are then [`Expression::Member`]s of `Object`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Property {
    /// `_type`.
    Type,
    /// `_mode`.
    Mode,
    /// `_origin`.
    Origin,
    /// The object as clients are shown it, a map.
    Payload,
    /// `managedObject`, `event`, `measurement`, `operation` or `alarm`; of a deletion an object that has only its id, a map.
    Object,
    /// Of `ResponseReceived`.
    Status,
    Body,
    CreationTime,
    Source,
}

/// What `cast` makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scalar {
    Boolean,
    Integer,
    Double,
    Text,
    Time,
    /// A class name that says nothing: the value stays.
    Same,
}

/// Functions that read nothing but their arguments and the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    /// `getObject(event, path[, default])` and its kin.
    GetObject,
    GetString,
    GetNumber,
    GetBoolean,
    GetDate,
    GetList,
    /// Milliseconds since 1970.
    CurrentTimestamp,
    /// Of milliseconds or text.
    ToDate,
    /// Of a date or milliseconds.
    ToMillisec,
    ToDouble,
    /// `.value`, `.getValue()`: of an id its text.
    IdValue,
    ToJson,
    ToNumberSetParameter,
}

/// What reads the store. Arguments: one for each filter, two for a range of time, in the order of the name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Finder {
    /// `find…ById`.
    ById(ObjectKind),
    By {
        kind: ObjectKind,
        take: Take,
        filters: Vec<Filter>,
    },
    InMaintenanceMode,
    ReplaceAllPlaceholders,
}

/// How many a finder gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Take {
    /// Exactly one; it fails on none and on several.
    One,
    /// The newest; null when there is none.
    First,
    /// A list, newest first.
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filter {
    Source,
    Status,
    Type,
    FragmentType,
    TimeBetween,
    CreationTimeBetween,
    Agent,
    Device,
}

/// One aggregate of a statement.
#[derive(Debug, Clone)]
pub(crate) struct Aggregate {
    pub(crate) kind: AggregateKind,
    /// `None` for `count(*)`.
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
