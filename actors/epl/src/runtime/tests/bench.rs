//! A module under test, and its clock.
//!
//! A script is a table: the time in milliseconds, the input, and the expected output. `S a 2.5` inserts a row into
//! `S`; an empty input only advances the time. Output is written as `name a,2.5`, one item after the other: published
//! rows, and faults with a `!`.

use std::fmt::Write;
use std::sync::Arc;

use platform_model::origin::Depth;

use crate::language::parse;
use crate::plan::expression::Finder;
use crate::plan::{self, Catalog, ModulePlan, Stream};
use crate::runtime::{Budget, Effect, Fault, LookUps, Outcome, Retained, Runtime};
use crate::value::{Columns, Row, Value};

pub(super) const BUDGET: Budget = Budget {
    retained: Retained { events: 100_000, bytes: 64 << 20 },
    evaluations: 1_000_000,
    chain: 64,
    timers: 1000,
};

/// One line of a script: the time, the input, and the expected output.
pub(super) type Line<'a> = (i64, &'a str, &'a str);

pub(super) struct Bench {
    pub(super) runtime: Runtime,
    plan: Arc<ModulePlan>,
}

impl Bench {
    pub(super) fn new(statements: &str) -> Self {
        Self::with(statements, BUDGET)
    }

    pub(super) fn with(statements: &str, budget: Budget) -> Self {
        let text = format!("module m; {statements}");
        let module = parse(&text).unwrap_or_else(|mistake| panic!("{}", mistake.shown(&text)));
        let plan = plan::plan(&module, &Catalog::default());
        let plan = Arc::new(plan.unwrap_or_else(|mistake| panic!("{}", mistake.shown(&text))));
        Self { runtime: Runtime::new(plan.clone(), budget, 0), plan }
    }

    /// Runs one step; an empty text only advances the time.
    pub(super) fn step(&mut self, at: i64, what: &str) -> Outcome {
        let mut outcome = Outcome::default();
        match what.split_once(' ').or((!what.is_empty()).then_some((what, ""))) {
            None => self.runtime.advance(at, &Nothing, &mut outcome),
            Some((stream, values)) => {
                let row = Arc::new(row(self.columns(stream), values));
                self.runtime.feed_row(stream, &row, at, &Nothing, &mut outcome);
            }
        }
        outcome
    }

    /// Returns the columns of a stream that the module reads.
    pub(super) fn columns(&self, stream: &str) -> Arc<Columns> {
        let columns = self.plan.streams.iter().find_map(|known| match known {
            Stream::Named(name, columns) if **name == *stream => Some(columns.clone()),
            _ => None,
        });
        columns.unwrap_or_default()
    }

    /// Returns the name of a statement.
    pub(super) fn name(&self, statement: usize) -> String {
        self.plan.statements[statement].name.to_string()
    }

    /// Returns the outcome in the notation of scripts.
    pub(super) fn written(&self, outcome: &Outcome) -> String {
        let mut text = String::new();
        for effect in &outcome.effects {
            if let Effect::Publish { statement, row } = effect {
                let values: Vec<_> = row.values.iter().map(written).collect();
                write!(text, "{} {} ", self.plan.statements[*statement].name, values.join(",")).unwrap();
            }
        }
        for (statement, _) in &outcome.faults {
            write!(text, "!{} ", self.plan.statements[*statement].name).unwrap();
        }
        text.trim_end().to_owned()
    }

    pub(super) fn run(&mut self, script: &[Line<'_>]) {
        for (at, what, expected) in script {
            let outcome = self.step(*at, what);
            assert_eq!(self.written(&outcome), *expected, "at {at}: {what}; faults: {:?}", outcome.faults);
        }
    }
}

/// Runs a script against a module.
pub(super) fn run(statements: &str, script: &[Line<'_>]) {
    Bench::new(statements).run(script);
}

pub(super) fn row(columns: Arc<Columns>, values: &str) -> Row {
    let values = values.split_whitespace().map(|word| match word {
        "null" => Value::Null,
        word => word
            .parse()
            .map(Value::Integer)
            .or_else(|_| word.parse().map(Value::Double))
            .unwrap_or_else(|_| Value::Text(word.into())),
    });
    Row::new(columns, values.collect(), Depth::default())
}

fn written(value: &Value) -> String {
    match value {
        Value::Text(text) => text.to_string(),
        other => other.to_json(),
    }
}

/// A store that is empty.
pub(super) struct Nothing;

impl LookUps for Nothing {
    fn find(&self, _: &Finder, _: &[Value]) -> Result<Value, Fault> {
        Err(Fault::new("nothing is here"))
    }
}
