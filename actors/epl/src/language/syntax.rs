//! The syntax tree of a module, with the position of every element that a mistake can refer to.

use std::sync::Arc;

pub use super::period::{Period, Unit};

/// A range of bytes of the text; the end is exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// A name with its position. Names are case-sensitive, keywords are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// The text as the author wrote it.
    pub text: Arc<str>,
    pub(crate) span: Span,
}

/// A module.
#[derive(Debug, Clone, PartialEq)]
pub struct Module {
    /// The name in `module <name>;`, including dots.
    pub name: Name,
    pub(crate) statements: Vec<Statement>,
}

/// One statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// The name in `@Name`, otherwise `statement_<n>`.
    pub name: Name,
    /// The position of the statement without its annotations.
    pub span: Span,
    pub(crate) kind: StatementKind,
}

/// The kinds of statements that Q-09 defines.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StatementKind {
    /// `[context C] [insert into S] select … from …`.
    Select(Box<Select>),
    /// `create schema S(col type, …)`.
    CreateSchema { name: Name, columns: Vec<(Name, TypeName)> },
    /// `create context C partition by path [and path] from Stream[, …]`.
    CreateContext { name: Name, partitions: Vec<Partition> },
    /// `create [constant] variable type name [= expr]`.
    CreateVariable { kind: VariableKind, type_: TypeName, name: Name, value: Option<Expression> },
    /// `create window first.win:length(n) as second`. The plan determines which of the two names is the
    /// window's.
    CreateWindow { first: Name, view: View, second: Name },
    /// `create expression [type] name(args) [ body ]`. The parser rejects `js:` scripts.
    CreateExpression { type_: Option<TypeName>, name: Name, parameters: Vec<Name>, body: Expression },
    /// `on Stream [alias] set var = expr, …`.
    OnSet { trigger: StreamSource, assignments: Vec<(Name, Expression)> },
    /// `on Stream [alias] delete from W [alias] [where]`.
    OnDelete { trigger: StreamSource, window: Name, alias: Option<Name>, condition: Option<Expression> },
}

/// Whether a variable can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VariableKind {
    Variable,
    Constant,
}

/// A type name as written, with its case: `string`, `java.lang.String`, `com.example.Alarm` or `double[]`. The
/// plan uses the last segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeName {
    pub(crate) name: Name,
    pub(crate) is_list: bool,
}

/// A part of a context: a stream and the keys that partition its events.
#[derive(Debug, Clone, PartialEq)]
pub struct Partition {
    pub(crate) keys: Vec<Expression>,
    /// The stream with an optional filter.
    pub stream: StreamSource,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Select {
    pub(crate) context: Option<Name>,
    pub(crate) into: Option<Name>,
    pub(crate) columns: Vec<Column>,
    /// One or two sources.
    pub sources: Vec<StatementSource>,
    pub(crate) condition: Option<Expression>,
    pub(crate) group_by: Vec<Expression>,
    pub(crate) having: Option<Expression>,
    pub(crate) output: Option<Output>,
}

/// An element of the select list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Column {
    /// `*`.
    Everything(Span),
    /// `alias.*`.
    EverythingOf(Name),
    /// `expr [as] name`.
    Expression { expression: Expression, name: Option<Name> },
}

/// A source that a statement reads.
#[derive(Debug, Clone, PartialEq)]
pub struct StatementSource {
    pub(crate) kind: SourceKind,
    pub(crate) view: Option<View>,
    pub(crate) alias: Option<Name>,
    pub(crate) direction: Direction,
    pub(crate) span: Span,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SourceKind {
    Stream { name: Name, filter: Option<Expression> },
    Pattern(Pattern),
}

/// `Stream [alias]`, or `Stream(filter) [alias]`.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamSource {
    pub(crate) name: Name,
    pub(crate) filter: Option<Expression>,
    pub(crate) alias: Option<Name>,
}

/// Whether events of this source alone, or of both sources, produce rows of a join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Both,
    /// `unidirectional`: only events of this source produce rows.
    Only,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct View {
    pub(crate) kind: ViewKind,
    pub(crate) span: Span,
}

/// The events of a stream that a view retains.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ViewKind {
    /// `.win:time(period)`.
    Time(Period),
    /// `.win:length(n)`; n from 1.
    Length(u32),
    /// `.win:time_batch(period)`.
    TimeBatch(Period),
    /// `.win:length_batch(n)`; n from 1.
    LengthBatch(u32),
    /// `.win:keepall()`.
    KeepAll,
    /// `.std:lastevent()`.
    LastEvent,
    /// `.std:unique(expr, …)`.
    Unique(Vec<Expression>),
}

/// A pattern. The precedence from high to low is: `every` and `not`, `until`, `and`, `or`, `->`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Pattern {
    Every(Box<Pattern>),
    Not(Box<Pattern>, Span),
    /// `repeated until end`.
    Until {
        repeated: Box<Pattern>,
        end: Box<Pattern>,
    },
    And(Vec<Pattern>),
    Or(Vec<Pattern>),
    /// Patterns that must match one after another.
    FollowedBy(Vec<Pattern>),
    /// `[tag=]Stream[(filter)]`.
    Event {
        tag: Option<Name>,
        stream: Name,
        filter: Option<Expression>,
    },
    /// `timer:interval(period)`.
    Interval(Period),
    /// `timer:at(minute, hour, day of month, month, day of week[, second])`.
    At(Box<Schedule>, Span),
}

/// The times in UTC at which a calendar timer fires. Each field holds its allowed values in ascending order; an
/// empty list stands for `*`. Days of the week count from Sunday, which is 0. The seconds are `[0]` if they are
/// omitted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Schedule {
    pub(crate) minutes: Vec<u8>,
    pub(crate) hours: Vec<u8>,
    pub(crate) days_of_month: Vec<u8>,
    pub(crate) months: Vec<u8>,
    pub(crate) days_of_week: Vec<u8>,
    pub(crate) seconds: Vec<u8>,
}

/// `output [all|last|first|snapshot] every …`.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    pub(crate) kind: OutputKind,
    pub(crate) every: Every,
    pub(crate) span: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputKind {
    /// No keyword.
    Default,
    All,
    Last,
    First,
    Snapshot,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Every {
    Events(u32),
    Time(Period),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expression {
    pub(crate) kind: ExpressionKind,
    pub(crate) span: Span,
}

/// The kinds of expressions. `a.b[0].c()` is a chain that starts with the name `a`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ExpressionKind {
    Null,
    Boolean(bool),
    Integer(i64),
    Double(f64),
    Text(Arc<str>),
    Name(Arc<str>),
    /// `receiver.name`.
    Member(Box<Expression>, Name),
    /// `receiver[index]`.
    Index(Box<Expression>, Box<Expression>),
    /// `receiver.name(…)`.
    Method(Box<Expression>, Name, Vec<Expression>),
    /// `name(…)`: a call of a function, an aggregate or a declared expression.
    Call {
        name: Name,
        quantifier: Quantifier,
        arguments: Vec<Expression>,
    },
    /// `count(*)`.
    CountAll,
    /// `cast(expr, type)`.
    Cast(Box<Expression>, TypeName),
    Not(Box<Expression>),
    Negate(Box<Expression>),
    Binary(Operator, Box<Expression>, Box<Expression>),
    /// `expr is [not] null`.
    IsNull {
        value: Box<Expression>,
        negated: bool,
    },
    /// `expr [not] in (…)`.
    In {
        value: Box<Expression>,
        among: Vec<Expression>,
        negated: bool,
    },
    /// `expr [not] between low and high`.
    Between {
        value: Box<Expression>,
        low: Box<Expression>,
        high: Box<Expression>,
        negated: bool,
    },
    /// `expr [not] like pattern [escape 'c']`.
    Like {
        value: Box<Expression>,
        pattern: Box<Expression>,
        escape: Option<char>,
        negated: bool,
    },
    /// `case [operand] when … then … [else …] end`.
    Case {
        operand: Option<Box<Expression>>,
        branches: Vec<(Expression, Expression)>,
        otherwise: Option<Box<Expression>>,
    },
    /// `{ … }`: pairs of a path and a value, or a list.
    Braces(Vec<Expression>),
    /// `15 minutes`, as an argument of a method.
    Period(Box<Period>),
}

/// The values that an aggregate includes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantifier {
    All,
    /// Each distinct value once.
    Distinct,
}

/// The precedence of operators, from low to high.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Binding {
    Or,
    And,
    Not,
    /// Comparison operators, and `is`, `in`, `between` and `like`.
    Comparison,
    Concatenate,
    Add,
    Multiply,
    Sign,
    Operand,
}

/// Binary operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Concatenate,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

impl Operator {
    /// Returns the operator as it is written in the text.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Or => "or",
            Self::And => "and",
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Concatenate => "||",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Modulo => "%",
        }
    }

    pub(crate) fn binding(self) -> Binding {
        match self {
            Self::Or => Binding::Or,
            Self::And => Binding::And,
            Self::Equal
            | Self::NotEqual
            | Self::Less
            | Self::LessOrEqual
            | Self::Greater
            | Self::GreaterOrEqual => Binding::Comparison,
            Self::Concatenate => Binding::Concatenate,
            Self::Add | Self::Subtract => Binding::Add,
            Self::Multiply | Self::Divide | Self::Modulo => Binding::Multiply,
        }
    }
}
