//! An event on its way to the statements that read its stream, in their order.

use super::engine::{Runtime, Turn};
use super::named_windows::WindowChange;
use super::partitions::Located;
use super::step::Cause;
use super::timers::Owner;
use crate::event_processing::plan::StatementKind;
use crate::event_processing::stream::StreamEvent;

impl Runtime {
    /// An event comes to the statements that read its stream.
    pub(super) fn dispatch(&mut self, stream: usize, event: &StreamEvent, cause: Cause, turn: &mut Turn<'_>) {
        let plan = self.plan.clone();
        let located = self.locate(stream, event, cause, turn);
        for at in 0..self.routes.readers(stream).len() {
            let number = self.routes.readers(stream)[at];
            match &plan.statements[number].kind {
                StatementKind::Select(select) => {
                    let located = select.context.map(|context| of_context(&located, context));
                    if located.is_some_and(|located| located.partitions.is_empty()) {
                        continue;
                    }
                    self.run(number, select, cause, turn, |state, around, step| {
                        state.take_event(select, (stream, event), located, around, step);
                    });
                }
                kind => self.trigger(number, kind, event, cause, turn),
            }
        }
    }

    /// The contents of a named window changed: its readers see it, and its next deadline may be another.
    pub(super) fn dispatch_change(
        &mut self,
        window: usize,
        change: &WindowChange,
        cause: Cause,
        turn: &mut Turn<'_>,
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
                    let located: Option<Vec<_>> = select.context.filter(|_| is_partitioned).map(|context| {
                        located.iter().map(|located| of_context(located, context).clone()).collect()
                    });
                    self.run(number, select, cause, turn, |state, around, step| {
                        state.take_change(select, (stream, change), located.as_deref(), around, step);
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

    /// Where an event belongs in the contexts of its stream. Patterns begin with a partition.
    fn locate(
        &mut self,
        stream: usize,
        event: &StreamEvent,
        cause: Cause,
        turn: &mut Turn<'_>,
    ) -> Vec<(usize, Located)> {
        let plan = self.plan.clone();
        let mut all = Vec::new();
        for at in 0..self.routes.contexts(stream).len() {
            let context = self.routes.contexts(stream)[at];
            let mut contexts = std::mem::take(&mut self.contexts);
            let first = self.routes.first_of_context(context);
            let located = self.work(first, cause, turn, |step| {
                contexts[context].locate(&plan.contexts[context], stream, event, step)
            });
            self.contexts = contexts;
            self.begin_patterns(context, located.begun, cause, turn);
            all.push((context, located));
        }
        all
    }

    /// Patterns begin in the partitions that are new, the last of all.
    fn begin_patterns(&mut self, context: usize, begun: usize, cause: Cause, turn: &mut Turn<'_>) {
        let plan = self.plan.clone();
        let count = self.contexts[context].count();
        for partition in count - begun..count {
            for at in 0..self.routes.patterns(context).len() {
                let number = self.routes.patterns(context)[at];
                let StatementKind::Select(select) = &plan.statements[number].kind else { continue };
                self.run(number, select, cause, turn, |state, around, step| {
                    state.begin(select, partition, around, step);
                });
            }
        }
    }
}

/// Where an event belongs in one context; nowhere when the context has none of its stream.
fn of_context(located: &[(usize, Located)], context: usize) -> &Located {
    static NOWHERE: Located = Located { partitions: Vec::new(), begun: 0 };
    located.iter().find(|(known, _)| *known == context).map_or(&NOWHERE, |(_, located)| located)
}
