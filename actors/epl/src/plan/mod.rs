//! Turns the syntax tree of a module into its plan, in which names are resolved to indexes and types are
//! checked.
//!
//! A plan is made against the [`Catalog`]: the schemas and streams of the tenant's other modules.
//!
//! # Reading order
//!
//! This file, [`expression`] and [`pattern`] define what a plan is. [`module`] makes one, statement by
//! statement: its declarations ([`declarations`]), its selects ([`select`], which read [`sources`] and
//! [`patterns`] and write to [`targets`]) and its triggers ([`triggers`]). [`resolve`] turns parsed expressions
//! into resolved ones. [`tenant`] plans all modules of a tenant against each other.

mod aggregates;
mod beside_others;
mod catalog;
mod column_names;
mod declarations;
mod enumerations;
pub mod expression;
mod finders;
mod fragments;
mod functions;
mod grouping;
mod inputs;
mod members;
mod methods;
mod module;
mod names;
mod operators;
mod outputs;
pub mod pattern;
mod patterns;
pub(crate) mod periods;
mod resolve;
mod select;
mod sources;
mod targets;
pub mod tenant;
#[cfg(test)]
mod tests;
mod triggers;
mod types;
mod walk;
mod warnings;

use std::sync::Arc;
use std::time::Duration;

use super::language::syntax::OutputKind;
use super::stream::OutputStream;
use super::value::{Columns, StreamType, Type};
use expression::{Aggregate, Expression};
use pattern::PatternPlan;

pub use catalog::{Catalog, Declared};
pub use module::plan;
use platform_model::realtime::input_stream::{InputStream, InputStreams};

/// Everything that is known about a module before it runs.
#[derive(Debug)]
pub struct ModulePlan {
    /// The statements in the order of the module.
    pub statements: Vec<StatementPlan>,
    pub(crate) variables: Vec<VariablePlan>,
    pub(crate) windows: Vec<WindowPlan>,
    pub(crate) contexts: Vec<ContextPlan>,
    /// All streams that the statements read. Statements refer to them by index.
    pub streams: Vec<Stream>,
    /// The input streams that the module must receive.
    pub inputs: InputStreams,
    /// The schemas that the module creates and the streams it inserts into, except the built-in ones.
    pub declares: Catalog,
    /// The streams and schemas of other modules that this module names but does not declare itself.
    pub uses: Catalog,
    /// Likely slips in the text; see [`warnings`](Self::warnings).
    warnings: Vec<warnings::Warning>,
    /// Whether any expression queries the store. Such a module must not run on a thread that must not block.
    pub looks_up: bool,
}

/// A stream that a statement reads.
#[derive(Debug, Clone, PartialEq)]
pub enum Stream {
    /// An input stream, which carries what happens in the tenant.
    Input(InputStream),
    /// A stream that statements of any module of the tenant insert into. Output streams can be read as well.
    Named(Arc<str>, Arc<Columns>),
    /// The rows inserted into a named window of this module, given by index.
    Window(usize),
}

/// One statement of a module.
#[derive(Debug)]
pub struct StatementPlan {
    /// The name that its annotation gives it, or one made from its position.
    pub name: Arc<str>,
    pub(crate) kind: StatementKind,
}

#[derive(Debug)]
pub(crate) enum StatementKind {
    Select(Box<SelectPlan>),
    /// `on Stream set …`. Variables are given by index.
    Set {
        trigger: TriggerPlan,
        assignments: Vec<(usize, Expression)>,
    },
    /// `on Stream delete from W`. In the condition, the trigger is source 0 and the row of the window is source
    /// 1.
    Delete {
        trigger: TriggerPlan,
        window: usize,
        condition: Option<Expression>,
    },
    /// A statement that does nothing at run time: a schema, context, variable, window or expression.
    Declaration,
}

/// The events of a stream that trigger a statement.
#[derive(Debug)]
pub struct TriggerPlan {
    /// An index into [`ModulePlan::streams`].
    pub stream: usize,
    /// The filter. The event is source 0.
    pub(crate) filter: Option<Expression>,
}

#[derive(Debug)]
pub(crate) struct VariablePlan {
    pub(crate) name: Arc<str>,
    /// The index of the statement that creates the variable.
    pub statement: usize,
    pub(crate) type_: Type,
    /// The initial value; null if there is none.
    pub initial: Option<Expression>,
}

/// A named window, which retains the rows inserted into it according to its view.
#[derive(Debug)]
pub struct WindowPlan {
    pub(crate) name: Arc<str>,
    /// The index of the statement that creates the window.
    pub statement: usize,
    /// The type of what is inserted: rows with these columns, or events of an input stream unchanged.
    pub(crate) type_: StreamType,
    pub(crate) view: ViewPlan,
}

/// A context: the keys that partition the events of its streams.
#[derive(Debug)]
pub struct ContextPlan {
    pub(crate) name: Arc<str>,
    /// The index of the statement that creates the context.
    pub statement: usize,
    /// The filter and keys for each stream (an index into [`ModulePlan::streams`]). All streams have the same
    /// number of keys. The event is source 0. Events of other streams belong to no partition.
    pub(crate) partitions: Vec<PartitionPlan>,
}

#[derive(Debug)]
pub(crate) struct PartitionPlan {
    pub(crate) stream: usize,
    pub(crate) filter: Option<Expression>,
    pub(crate) keys: Vec<Expression>,
}

#[derive(Debug)]
pub(crate) struct SelectPlan {
    /// An index into [`ModulePlan::contexts`].
    pub context: Option<usize>,
    /// Where rows are inserted, in addition to being published as statement output.
    pub into: Option<Target>,
    pub(crate) from: From,
    /// The condition of `where`.
    pub condition: Option<Expression>,
    pub(crate) rows: Rows,
    pub(crate) group_by: Vec<Expression>,
    /// The aggregates of the select list and `having`. Expressions refer to them by index.
    pub aggregates: Vec<Aggregate>,
    pub(crate) having: Option<Expression>,
    pub(crate) output: Option<OutputPlan>,
    pub(crate) columns: Arc<Columns>,
    /// One expression for each column.
    pub select: Vec<Expression>,
    /// Whether events are forwarded unchanged: this holds for `select *` from one source inserted into a window
    /// or stream of the same type.
    pub passes_on: bool,
}

/// The target into which rows are inserted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Target {
    Output(OutputStream),
    Named(Arc<str>),
    Window(usize),
}

/// The sources that a statement reads. Expressions number them in this order, from 0.
#[derive(Debug)]
pub(crate) enum From {
    /// One stream, or the rows of a window as they are inserted.
    One(SourcePlan),
    /// A join of two sources. A row is produced for each pair that satisfies `condition` and of which one event
    /// is new.
    Join(Box<[SourcePlan; 2]>),
    /// The matches of a pattern, as source 0 ([`StreamEvent::Match`](super::value::StreamEvent)).
    Pattern { pattern: PatternPlan, view: Option<ViewPlan> },
}

#[derive(Debug)]
pub(crate) struct SourcePlan {
    /// An index into [`ModulePlan::streams`].
    pub stream: usize,
    /// The filter. In it the event is source 0, whatever the number of the source is.
    pub filter: Option<Expression>,
    /// The view that retains events. With `None`, nothing is retained (a join keeps the event only while
    /// processing it); a named window without a view contributes its contents.
    pub view: Option<ViewPlan>,
    /// `unidirectional`: events of the other source do not produce rows.
    pub unidirectional: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum ViewPlan {
    Time(Duration),
    Length(usize),
    TimeBatch(Duration),
    LengthBatch(usize),
    KeepAll,
    LastEvent,
    /// Retains the last event of each key. The event is source 0.
    Unique(Vec<Expression>),
}

/// When a statement produces rows, derived from its select list as in Esper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// There are no aggregates: one row for each new event.
    PerEvent,
    /// There are aggregates and also columns outside of `group by`: one row for each new event, with the
    /// current aggregates (of its group, if there is a `group by`).
    PerEventWithAggregates,
    /// There are only aggregates and no `group by`: one row whenever an event enters or leaves.
    ForAll,
    /// Only aggregates and `group by` expressions are selected: one row for each group that an event enters or
    /// leaves.
    PerGroup,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct OutputPlan {
    pub(crate) kind: OutputKind,
    pub(crate) every: EveryPlan,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum EveryPlan {
    Events(usize),
    Time(Duration),
}
