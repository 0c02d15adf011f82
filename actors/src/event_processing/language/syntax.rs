//! The tree of a module: what its text says, with the place of everything that a mistake may be told of.

use std::sync::Arc;

/// Bytes of the text, from and up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// A name and where it stands. Names are told apart by case; keywords are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) text: Arc<str>,
    pub(crate) span: Span,
}

/// A module.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Module {
    /// From `module <name>;`, dots included.
    pub(crate) name: Name,
    pub(crate) statements: Vec<Statement>,
}

/// One statement.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Statement {
    /// From `@Name`, else `statement_<n>`.
    pub(crate) name: Name,
    /// The statement without its annotations.
    pub(crate) span: Span,
    pub(crate) kind: StatementKind,
}

/// The forms of Q-09.
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
    /// `create window first.win:length(n) as second`: which of the two names is the window's the plan finds out.
    CreateWindow { first: Name, view: View, second: Name },
    /// `create expression [type] name(args) [ body ]`. With `js:` it is a mistake of the parser.
    CreateExpression { type_: Option<TypeName>, name: Name, parameters: Vec<Name>, body: Expression },
    /// `on Stream [alias] set var = expr, …`.
    OnSet { trigger: StreamSource, assignments: Vec<(Name, Expression)> },
    /// `on Stream [alias] delete from W [alias] [where]`.
    OnDelete { trigger: StreamSource, window: Name, alias: Option<Name>, condition: Option<Expression> },
}

/// Whether a variable may be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VariableKind {
    Variable,
    Constant,
}

/// `string`, `java.lang.String`, `com.example.Alarm`, `double[]`: as written, case kept; the plan takes the last segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TypeName {
    pub(crate) name: Name,
    pub(crate) is_list: bool,
}

/// One part of a context: by which keys events of a stream are told apart.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Partition {
    pub(crate) keys: Vec<Expression>,
    /// Stream with an optional filter.
    pub(crate) stream: StreamSource,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Select {
    pub(crate) context: Option<Name>,
    pub(crate) into: Option<Name>,
    pub(crate) columns: Vec<Column>,
    /// One or two.
    pub(crate) sources: Vec<Source>,
    pub(crate) condition: Option<Expression>,
    pub(crate) group_by: Vec<Expression>,
    pub(crate) having: Option<Expression>,
    pub(crate) output: Option<Output>,
}

/// What is selected.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Column {
    /// `*`.
    Everything(Span),
    /// `alias.*`.
    EverythingOf(Name),
    /// `expr [as] name`.
    Expression { expression: Expression, name: Option<Name> },
}

/// What a statement reads.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Source {
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
pub(crate) struct StreamSource {
    pub(crate) name: Name,
    pub(crate) filter: Option<Expression>,
    pub(crate) alias: Option<Name>,
}

/// Whether a join is also made from this side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Both,
    /// `unidirectional`: only events of this source make rows.
    Only,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct View {
    pub(crate) kind: ViewKind,
    pub(crate) span: Span,
}

/// What is retained of a stream.
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

/// `1 hour 30 minutes`, or a bare number of seconds: whole milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Period {
    pub(crate) millis: u64,
    pub(crate) span: Span,
}

/// A pattern. Binding, from tight to loose: `every` and `not`, `and`, `or`, `->`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Pattern {
    Every(Box<Pattern>),
    Not(Box<Pattern>, Span),
    And(Vec<Pattern>),
    Or(Vec<Pattern>),
    /// One after the other.
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

/// When a timer of a calendar goes off, in UTC. Each field holds the values that are allowed, in ascending order; empty stands for `*`.
/// Days of the week count from Sunday, 0. The seconds are `[0]` where they were left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Schedule {
    pub(crate) minutes: Vec<u8>,
    pub(crate) hours: Vec<u8>,
    pub(crate) days_of_month: Vec<u8>,
    pub(crate) months: Vec<u8>,
    pub(crate) days_of_week: Vec<u8>,
    pub(crate) seconds: Vec<u8>,
}

/// `output [all|last|first|snapshot] every …`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) kind: OutputKind,
    pub(crate) every: Every,
    pub(crate) span: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputKind {
    /// No word.
    Default,
    All,
    Last,
    First,
    Snapshot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Every {
    Events(u32),
    Time(Period),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expression {
    pub(crate) kind: ExpressionKind,
    pub(crate) span: Span,
}

/// Expressions. `a.b[0].c()` is a chain around the name `a`.
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
    /// `name(…)`: a function, an aggregate, a declared expression.
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
}

/// Which values an aggregate takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantifier {
    All,
    /// Each value once.
    Distinct,
}

/// How tight something binds, from loose to tight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Binding {
    Or,
    And,
    Not,
    /// And `is`, `in`, `between`, `like`.
    Comparison,
    Concatenate,
    Add,
    Multiply,
    Sign,
    Operand,
}

/// Operators with two sides.
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
    /// How it is written.
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
