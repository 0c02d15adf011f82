//! Dispatches an event to the statements that read its stream, in the order of the statements.

use super::Retained;
use super::engine::{ModuleTurn, Runtime};
use super::named_windows::WindowChange;
use super::step::Cause;
use super::timers::Owner;
use crate::plan::StatementKind;
use crate::value::StreamEvent;

impl Runtime {
    /// Passes an event to the statements that read its stream.
    pub(super) fn dispatch(
        &mut self,
        stream: usize,
        event: &StreamEvent,
        cause: Cause,
        turn: &mut ModuleTurn<'_>,
    ) {
        let plan = self.plan.clone();
        let located = self.locate(stream, event, cause, turn);
        for at in 0..self.routes.readers(stream).len() {
            let number = self.routes.readers(stream)[at];
            match &plan.statements[number].kind {
                StatementKind::Select(select) => {
                    let partition = select.context.map_or(Some(0), |context| of_context(&located, context));
                    let Some(partition) = partition else { continue };
                    self.run(number, select, cause, turn, |state, around, step| {
                        state.take_event(select, stream, event, partition, around, step);
                    });
                }
                kind => self.trigger(number, kind, event, cause, turn),
            }
        }
    }

    /// Passes a change of a named window to its readers, and arms the window's next deadline.
    pub(super) fn dispatch_change(
        &mut self,
        window: usize,
        change: &WindowChange,
        cause: Cause,
        turn: &mut ModuleTurn<'_>,
    ) {
        let state = &mut self.windows[window];
        let deadline = state.next_deadline();
        self.timers.arm(Owner::Window(window), &mut state.armed, deadline);
        let Some(stream) = self.routes.of_window(window) else { return };
        if change.is_empty() {
            return;
        }
        let plan = self.plan.clone();
        let located: Vec<_> =
            change.entered.iter().map(|(_, event)| self.locate(stream, event, cause, turn)).collect();
        for at in 0..self.routes.readers(stream).len() {
            let number = self.routes.readers(stream)[at];
            match &plan.statements[number].kind {
                StatementKind::Select(select) => {
                    let is_partitioned =
                        select.context.is_some_and(|context| self.routes.contexts(stream).contains(&context));
                    let located: Option<Vec<_>> = select
                        .context
                        .filter(|_| is_partitioned)
                        .map(|context| located.iter().map(|located| of_context(located, context)).collect());
                    self.run(number, select, cause, turn, |state, around, step| {
                        state.take_change(select, stream, change, located.as_deref(), around, step);
                    });
                }
                kind => {
                    for (_, event) in &change.entered {
                        self.trigger(number, kind, event, cause, turn);
                    }
                }
            }
        }
    }

    /// Looks up the partition of an event for each context of its stream that admits the event. Patterns begin with a
    /// new partition.
    fn locate(
        &mut self,
        stream: usize,
        event: &StreamEvent,
        cause: Cause,
        turn: &mut ModuleTurn<'_>,
    ) -> Vec<Located> {
        let plan = self.plan.clone();
        let mut all = Vec::new();
        for at in 0..self.routes.contexts(stream).len() {
            let context = self.routes.contexts(stream)[at];
            if self.is_off(plan.contexts[context].statement) {
                continue;
            }
            let mut contexts = std::mem::take(&mut self.contexts);
            let first = self.routes.first_of_context(context);
            let known = contexts[context].count();
            let mut begun = Retained::default();
            let located = self.work(first, cause, turn, |step| {
                contexts[context].locate(&plan.contexts[context], stream, event, step, &mut begun)
            });
            self.accounts.charge(plan.contexts[context].statement, |own| own.bytes += begun.bytes);
            let has_begun = contexts[context].count() > known;
            self.contexts = contexts;
            let Some(partition) = located else { continue };
            if has_begun {
                self.begin_patterns(context, partition, cause, turn);
            }
            all.push(Located { context, partition });
        }
        all
    }

    /// Begins the patterns of a new partition.
    fn begin_patterns(&mut self, context: usize, partition: usize, cause: Cause, turn: &mut ModuleTurn<'_>) {
        let plan = self.plan.clone();
        for at in 0..self.routes.patterns(context).len() {
            let number = self.routes.patterns(context)[at];
            let StatementKind::Select(select) = &plan.statements[number].kind else { continue };
            self.run(number, select, cause, turn, |state, around, step| {
                state.begin(select, partition, around, step);
            });
        }
    }
}

/// The partition of an event in one of the contexts that admit it.
struct Located {
    context: usize,
    partition: usize,
}

/// Returns the partition of an event in a context, or nothing when the event is in none.
fn of_context(located: &[Located], context: usize) -> Option<usize> {
    located.iter().find(|known| known.context == context).map(|known| known.partition)
}
