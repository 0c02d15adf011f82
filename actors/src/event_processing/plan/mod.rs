//! From the tree of a module to its plan: names resolved, types checked, everything a statement needs at its place.
//!
//! A plan is made against the [`Catalog`]: the schemas and streams of the tenant's other modules.
//!
//! # Reading order
//!
//! This file, [`expression`] and [`pattern`] say what a plan is. [`module`] makes one, statement by statement: what it declares
//! ([`declarations`]), what it selects ([`select`], from [`sources`] and [`patterns`], into [`targets`]), what it sets going
//! ([`triggers`]). [`resolve`] makes expressions of expressions. [`tenant`] plans all modules of a tenant against each other.

mod aggregates;
mod catalog;
mod column_names;
mod declarations;
pub(crate) mod expression;
mod finders;
mod fragments;
mod functions;
mod grouping;
mod inputs;
mod members;
mod module;
mod names;
mod operators;
mod outputs;
pub(crate) mod pattern;
mod patterns;
mod resolve;
mod select;
mod sources;
mod targets;
pub(crate) mod tenant;
#[cfg(test)]
mod tests;
mod triggers;
mod types;
mod walk;
mod warnings;

use std::sync::Arc;
use std::time::Duration;

use super::language::syntax::OutputKind;
use super::stream::{Columns, InputStreams, OutputStream, StreamType};
use super::value::Type;
use expression::{Aggregate, Expression};
use pattern::PatternPlan;

pub(crate) use catalog::{Catalog, Declared};
pub(crate) use module::plan;

/// Everything that is known of a module before it runs.
#[derive(Debug)]
pub(crate) struct ModulePlan {
    pub(crate) statements: Vec<StatementPlan>,
    pub(crate) variables: Vec<VariablePlan>,
    pub(crate) windows: Vec<WindowPlan>,
    pub(crate) contexts: Vec<ContextPlan>,
    /// All streams that its statements read; they name them by their place here.
    pub(crate) streams: Vec<Stream>,
    /// Which of what happens in the tenant it needs to be fed with.
    pub(crate) inputs: InputStreams,
    /// Schemas it creates and streams it inserts into, the fixed ones excepted.
    pub(crate) declares: Catalog,
    /// What it needs of other modules: streams and schemas it names and does not declare anywhere in its text.
    pub(crate) uses: Catalog,
    /// What looks like a slip; see [`warnings`](Self::warnings).
    warnings: Vec<warnings::Warning>,
    /// Whether an expression of it reads the store, so that it must not run where nobody may wait.
    pub(crate) looks_up: bool,
}

/// What a statement reads.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Stream {
    /// What happens in the tenant.
    Input(super::stream::InputStream),
    /// What statements of any module of the tenant insert; output streams too may be read.
    Named(Arc<str>, Arc<Columns>),
    /// What is inserted into a named window of this module, by its place.
    Window(usize),
}

#[derive(Debug)]
pub(crate) struct StatementPlan {
    pub(crate) name: Arc<str>,
    pub(crate) kind: StatementKind,
}

#[derive(Debug)]
pub(crate) enum StatementKind {
    Select(Box<SelectPlan>),
    /// `on Stream set …`: variables by their place.
    Set {
        trigger: TriggerPlan,
        assignments: Vec<(usize, Expression)>,
    },
    /// `on Stream delete from W`: the trigger is source 0 of the condition, the row of the window source 1.
    Delete {
        trigger: TriggerPlan,
        window: usize,
        condition: Option<Expression>,
    },
    /// Nothing to do when it runs: schemas, contexts, variables, windows, expressions.
    Declaration,
}

/// Which events of a stream a statement is about.
#[derive(Debug)]
pub(crate) struct TriggerPlan {
    /// Place among [`ModulePlan::streams`].
    pub(crate) stream: usize,
    /// The event is source 0.
    pub(crate) filter: Option<Expression>,
}

#[derive(Debug)]
pub(crate) struct VariablePlan {
    pub(crate) name: Arc<str>,
    /// The statement that creates it, by its place.
    pub(crate) statement: usize,
    pub(crate) type_: Type,
    /// Null without.
    pub(crate) initial: Option<Expression>,
}

/// A named window: rows inserted into it stay as its view says.
#[derive(Debug)]
pub(crate) struct WindowPlan {
    pub(crate) name: Arc<str>,
    /// The statement that creates it, by its place.
    pub(crate) statement: usize,
    /// Of what is inserted: rows of these columns, or events of an input stream as they are.
    pub(crate) type_: StreamType,
    pub(crate) view: ViewPlan,
}

/// A context: keys by which the events of its streams are told apart.
#[derive(Debug)]
pub(crate) struct ContextPlan {
    pub(crate) name: Arc<str>,
    /// The statement that creates it, by its place.
    pub(crate) statement: usize,
    /// For each stream (place among [`ModulePlan::streams`]) its filter and its keys, of which all have the same number. The event is
    /// source 0. Events of streams that are not here belong to no partition.
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
    /// Place among [`ModulePlan::contexts`].
    pub(crate) context: Option<usize>,
    /// Where rows go besides being told.
    pub(crate) into: Option<Target>,
    pub(crate) from: From,
    /// `where`.
    pub(crate) condition: Option<Expression>,
    pub(crate) rows: Rows,
    pub(crate) group_by: Vec<Expression>,
    /// Of select list and `having`; expressions name them by their place here.
    pub(crate) aggregates: Vec<Aggregate>,
    pub(crate) having: Option<Expression>,
    pub(crate) output: Option<OutputPlan>,
    pub(crate) columns: Arc<Columns>,
    /// One for each column.
    pub(crate) select: Vec<Expression>,
    /// Of `select *` from one source that is inserted into a window or stream of the same type: the event goes on as it is.
    pub(crate) passes_on: bool,
}

/// Where rows are inserted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Target {
    Output(OutputStream),
    Named(Arc<str>),
    Window(usize),
}

/// What a statement reads. Sources of expressions are numbered in this order, from 0.
#[derive(Debug)]
pub(crate) enum From {
    /// One stream, or the contents of a window as they come.
    One(SourcePlan),
    /// Two of them. A row is made for each pair that `condition` lets through when one of the pair is new.
    Join(Box<[SourcePlan; 2]>),
    /// What a pattern finds, source 0 ([`StreamEvent::Match`](super::stream::StreamEvent)).
    Pattern { pattern: PatternPlan, view: Option<ViewPlan> },
}

#[derive(Debug)]
pub(crate) struct SourcePlan {
    /// Place among [`ModulePlan::streams`].
    pub(crate) stream: usize,
    /// The event is source 0 here, whichever number the source has.
    pub(crate) filter: Option<Expression>,
    /// `None`: nothing is retained (in a join: only the event itself while it is processed). Of a named window without: its contents.
    pub(crate) view: Option<ViewPlan>,
    /// `unidirectional`: the other source's events make no rows.
    pub(crate) unidirectional: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum ViewPlan {
    Time(Duration),
    Length(usize),
    TimeBatch(Duration),
    LengthBatch(usize),
    KeepAll,
    LastEvent,
    /// The last event of each key; the event is source 0.
    Unique(Vec<Expression>),
}

/// Which rows a statement makes, by what it selects (as in Esper).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows {
    /// No aggregates: a row for each new event.
    PerEvent,
    /// Aggregates, and columns that are none and not grouped by: a row for each new event, with the aggregates as they stand (of its
    /// group, with `group by`).
    PerEventWithAggregates,
    /// Nothing but aggregates, without `group by`: one row whenever something came or went.
    ForAll,
    /// `group by`, and nothing selected but aggregates and what is grouped by: one row for each group in which something came or went.
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
