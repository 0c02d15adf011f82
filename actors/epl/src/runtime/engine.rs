//! A module as a whole: it receives events and the time, runs its statements in their order, and handles the rows that
//! they insert before the next event.
//!
//! As in Esper, an inserted row is handled after the event that made it and before the next event from outside, rows
//! in the order they were made. Timers that are due fire before an event of the same time, each at its own time; the
//! rows that a timer makes are handled before the next timer fires. Rows that are made by a timer begin a new chain,
//! whatever they are made of.

use std::collections::VecDeque;
use std::sync::Arc;

use platform_model::origin::Depth;

use super::accounts::Accounts;
use super::forwarded::{self, Unreadable};
use super::named_windows::{NamedWindow, WindowChange};
use super::partitions::Partitions;
use super::routes::Routes;
use super::statement::{Select, Surroundings};
use super::step::{Cause, Made, Step};
use super::timers::{Owner, Timers};
use super::{Budget, Effect, Fault, LookUps, Outcome, Retained, World};
use crate::plan::expression::Finder;
use crate::plan::{ModulePlan, SelectPlan, StatementKind, Target};
use crate::stream::Input;
use crate::value::{EvaluationsLeft, Key, Row, StreamEvent, Value};

/// A deployed module and its state.
pub struct Runtime {
    pub(super) plan: Arc<ModulePlan>,
    pub(super) budget: Budget,
    now: i64,
    pub(super) variables: Vec<Value>,
    pub(super) windows: Vec<NamedWindow>,
    pub(super) contexts: Vec<Partitions>,
    /// The state of each statement; none for those that are not a `select`.
    pub(super) selects: Vec<Option<Select>>,
    /// For each statement, whether it was switched off.
    pub(super) off: Vec<bool>,
    pub(super) routes: Routes,
    pub(super) timers: Timers,
    /// Rows that were inserted and are not handled yet.
    queue: VecDeque<Work>,
    pub(super) accounts: Accounts,
    /// The number of expressions that this step may still evaluate.
    evaluations: EvaluationsLeft,
    made: Vec<Made>,
    unreadable: Unreadable,
}

/// An event that waits to be dispatched to its statements.
struct Work {
    place: WorkDestination,
    event: StreamEvent,
    depth: Depth,
    /// The statement that inserted the event.
    from: Option<usize>,
}

#[derive(Clone, Copy)]
enum WorkDestination {
    Stream(usize),
    Window(usize),
}

/// The arguments that the caller passes to a step.
pub(super) struct ModuleTurn<'a> {
    look_ups: &'a dyn LookUps,
    pub(super) outcome: &'a mut Outcome,
}

impl Runtime {
    /// Returns a module that has seen no event yet. Its timers run from `now`.
    pub fn new(plan: Arc<ModulePlan>, budget: Budget, now: i64) -> Self {
        let select = |kind: &StatementKind| match kind {
            StatementKind::Select(select) => Some(Select::new(select)),
            _ => None,
        };
        let mut runtime = Self {
            budget,
            now,
            variables: Vec::new(),
            windows: plan.windows.iter().map(NamedWindow::new).collect(),
            contexts: plan.contexts.iter().map(|_| Partitions::default()).collect(),
            selects: plan.statements.iter().map(|statement| select(&statement.kind)).collect(),
            off: vec![false; plan.statements.len()],
            routes: Routes::new(&plan),
            timers: Timers::default(),
            queue: VecDeque::new(),
            accounts: Accounts::new(plan.statements.len()),
            evaluations: EvaluationsLeft::new(budget.evaluations),
            made: Vec::new(),
            unreadable: Unreadable::default(),
            plan,
        };
        runtime.begin();
        runtime
    }

    /// Handles an event of the tenant. Timers that are due fire first.
    pub fn feed_input(
        &mut self,
        input: &Arc<Input>,
        now: i64,
        look_ups: &dyn LookUps,
        outcome: &mut Outcome,
    ) {
        self.advance(now, look_ups, outcome);
        if let Some(stream) = self.routes.of_input(input.stream()) {
            self.feed(
                stream,
                StreamEvent::Input(input.clone()),
                input.depth,
                &mut ModuleTurn { look_ups, outcome },
            );
        }
    }

    /// Handles a row that another module inserted into a stream. A row that cannot be read is a fault of the first
    /// statement that reads the stream.
    pub fn feed_row(
        &mut self,
        stream: &str,
        row: &Arc<Row>,
        now: i64,
        look_ups: &dyn LookUps,
        outcome: &mut Outcome,
    ) {
        self.advance(now, look_ups, outcome);
        let Some(place) = self.routes.of_name(stream) else { return };
        match forwarded::fitted(&self.plan.streams[place], row) {
            Some(row) => {
                self.feed(
                    place,
                    StreamEvent::Row(row.clone()),
                    row.depth,
                    &mut ModuleTurn { look_ups, outcome },
                );
            }
            None => {
                let reader = self.routes.readers(place).first().copied().unwrap_or_default();
                let fault = self.unreadable.note(stream, row);
                outcome.faults.extend(fault.map(|fault| (reader, fault)));
            }
        }
    }

    /// Advances the time: fires the timers that are due, in the order of their time, as many as one step may. When
    /// more are due, [`next_deadline`](Self::next_deadline) is in the past.
    pub fn advance(&mut self, now: i64, look_ups: &dyn LookUps, outcome: &mut Outcome) {
        let mut turn = ModuleTurn { look_ups, outcome };
        self.evaluations.set(self.budget.evaluations);
        for _ in 0..self.budget.timers {
            // The remaining budget must be enough for a timer of ordinary cost.
            if self.evaluations.get() < self.budget.evaluations / 2 {
                return;
            }
            let Some((deadline, owner)) = self.timers.take_due(now) else { break };
            self.now = self.now.max(deadline);
            self.go_off(owner, deadline, &mut turn);
            self.handle_queue(&mut turn);
        }
        if self.timers.next().is_none_or(|next| next > now) {
            self.now = self.now.max(now);
        }
    }

    /// Returns the time at which [`advance`](Self::advance) must be called next.
    pub fn next_deadline(&self) -> Option<i64> {
        self.timers.next()
    }

    /// Returns what the module retains in memory.
    pub fn retained(&self) -> Retained {
        self.accounts.total()
    }

    /// Assigns the initial values of variables and begins the patterns.
    fn begin(&mut self) {
        let plan = self.plan.clone();
        let mut outcome = Outcome::default();
        for variable in &plan.variables {
            let world = World {
                variables: &self.variables,
                now: self.now,
                look_ups: &NoLookUps,
                evaluations: &self.evaluations,
            };
            let scope = super::Scope { sources: [None, None], aggregates: &[], keys: &[], world: &world };
            let value = variable.initial.as_ref().and_then(|initial| initial.evaluate(&scope).ok());
            let value = value.unwrap_or(Value::Null);
            self.accounts.charge(variable.statement, |own| own.bytes += value.size().bytes);
            self.variables.push(value);
        }
        let mut turn = ModuleTurn { look_ups: &NoLookUps, outcome: &mut outcome };
        for (number, statement) in plan.statements.iter().enumerate() {
            if let StatementKind::Select(select) = &statement.kind
                && select.context.is_none()
            {
                self.run(number, select, Cause::Timer, &mut turn, |state, around, step| {
                    state.begin(select, 0, around, step);
                });
            }
        }
    }

    fn feed(&mut self, stream: usize, event: StreamEvent, depth: Depth, turn: &mut ModuleTurn<'_>) {
        self.evaluations.set(self.budget.evaluations);
        self.queue.push_back(Work { place: WorkDestination::Stream(stream), event, depth, from: None });
        self.handle_queue(turn);
    }

    /// Handles inserted rows, and the rows that those insert, until the queue is empty. A step that exceeds its budget
    /// discards the rest.
    fn handle_queue(&mut self, turn: &mut ModuleTurn<'_>) {
        while let Some(work) = self.queue.pop_front() {
            let from = work.from;
            self.handle(work, turn);
            self.relieve(turn.outcome);
            if self.is_over_budget() {
                let fault =
                    Fault::new("the module retains more than a module may, most of it for this statement");
                turn.outcome.faults.push((self.accounts.greatest(self.budget.retained), fault));
                self.queue.clear();
            } else if self.evaluations.get() == 0 && !self.queue.is_empty() {
                let fault = Fault::new("one event sets more going than a module may do at a time");
                let asked = self.queue.front().and_then(|next| next.from).or(from);
                turn.outcome.faults.push((asked.unwrap_or_default(), fault));
                self.queue.clear();
            }
        }
    }

    fn handle(&mut self, work: Work, turn: &mut ModuleTurn<'_>) {
        let cause = Cause::Event(work.depth.max(work.event.depth()));
        match work.place {
            WorkDestination::Stream(stream) => self.dispatch(stream, &work.event, cause, turn),
            WorkDestination::Window(window) if self.is_off(self.plan.windows[window].statement) => {}
            WorkDestination::Window(window) => {
                let Some(key) = self.window_key(window, &work, turn) else { return };
                let now = self.now;
                let change = self
                    .change_window(window, |window, retained| window.insert(work.event, key, now, retained));
                self.dispatch_change(window, &change, cause, turn);
            }
        }
    }

    fn go_off(&mut self, owner: Owner, deadline: i64, turn: &mut ModuleTurn<'_>) {
        match owner {
            Owner::Window(window) => {
                if self.windows[window].armed.went_off(deadline) {
                    let now = self.now;
                    let change = self.change_window(window, |window, retained| window.expire(now, retained));
                    self.dispatch_change(window, &change, Cause::Timer, turn);
                }
            }
            Owner::Statement { statement, partition } => {
                let plan = self.plan.clone();
                if let StatementKind::Select(select) = &plan.statements[statement].kind {
                    self.run(statement, select, Cause::Timer, turn, |state, around, step| {
                        state.advance(select, partition, deadline, around, step);
                    });
                }
            }
        }
    }

    /// See [`Step::key_in`].
    fn window_key(&mut self, window: usize, work: &Work, turn: &mut ModuleTurn<'_>) -> Option<Option<Key>> {
        let plan = self.plan.clone();
        let cause = Cause::Event(work.depth);
        self.work(work.from.unwrap_or_default(), cause, turn, |step| {
            step.key_in(Some(&plan.windows[window].view), &work.event, &[])
        })
    }

    /// Runs a `select` and passes on the rows it made.
    pub(super) fn run(
        &mut self,
        number: usize,
        plan: &SelectPlan,
        cause: Cause,
        turn: &mut ModuleTurn<'_>,
        act: impl FnOnce(&mut Select, &mut Surroundings<'_>, &mut Step<'_>),
    ) {
        let Some(mut select) = self.selects[number].take() else { return };
        let module = self.plan.clone();
        let contexts = std::mem::take(&mut self.contexts);
        let windows = std::mem::take(&mut self.windows);
        let mut timers = std::mem::take(&mut self.timers);
        self.work(number, cause, turn, |step| {
            let mut around = Surroundings {
                module: &module,
                statement: number,
                contexts: &contexts,
                windows: &windows,
                timers: &mut timers,
            };
            act(&mut select, &mut around, step);
        });
        self.selects[number] = Some(select);
        self.contexts = contexts;
        self.windows = windows;
        self.timers = timers;
        let mut made = std::mem::take(&mut self.made);
        for made in made.drain(..) {
            self.send(number, plan.into.as_ref(), made, turn.outcome);
        }
        self.made = made;
    }

    /// Calls `act` with a step that sees the module's variables and time.
    pub(super) fn work<T>(
        &mut self,
        number: usize,
        cause: Cause,
        turn: &mut ModuleTurn<'_>,
        act: impl FnOnce(&mut Step<'_>) -> T,
    ) -> T {
        let world = World {
            variables: &self.variables,
            now: self.now,
            look_ups: turn.look_ups,
            evaluations: &self.evaluations,
        };
        let mut faults = Vec::new();
        let (chain, made) = (self.budget.chain, &mut self.made);
        let result = self.accounts.charge(number, |retained| {
            act(&mut Step { world: &world, cause, chain, retained, made, faults: &mut faults })
        });
        turn.outcome.faults.extend(faults.into_iter().map(|fault| (number, fault)));
        result
    }

    /// Emits the notification of a row, and inserts the row into its target.
    fn send(&mut self, number: usize, into: Option<&Target>, made: Made, outcome: &mut Outcome) {
        let Made { row, event } = made;
        let mut place = None;
        match into {
            None => {}
            Some(Target::Window(window)) => place = Some(WorkDestination::Window(*window)),
            Some(Target::Named(name)) => {
                outcome.effects.push(Effect::Forward { stream: name.clone(), row: row.clone() });
                place = self.routes.of_name(name).map(WorkDestination::Stream);
            }
            Some(Target::Output(stream)) => {
                let (stream, depth) = (*stream, row.depth);
                outcome.effects.push(Effect::Perform { statement: number, stream, row: row.clone(), depth });
                place = self.routes.of_output(stream).map(WorkDestination::Stream);
            }
        }
        if let Some(place) = place {
            self.queue.push_back(Work { place, event, depth: row.depth, from: Some(number) });
        }
        outcome.effects.push(Effect::Publish { statement: number, row });
    }

    /// Changes a named window. Its contents are charged to the statement that created it.
    pub(super) fn change_window(
        &mut self,
        window: usize,
        change: impl FnOnce(&mut NamedWindow, &mut Retained) -> WindowChange,
    ) -> WindowChange {
        let changed = &mut self.windows[window];
        self.accounts.charge(self.plan.windows[window].statement, |retained| change(changed, retained))
    }

    pub(super) fn is_over_budget(&self) -> bool {
        self.accounts.total().exceeds(self.budget.retained)
    }
}

/// Look-ups of a module that does not run yet: there is nothing to find.
struct NoLookUps;

impl LookUps for NoLookUps {
    fn find(&self, _: &Finder, _: &[Value]) -> Result<Value, Fault> {
        Err(Fault::new("a variable cannot begin with what the store knows"))
    }
}
