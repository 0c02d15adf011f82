//! Statements that act on an event without making rows: `on … set`, `on … delete`.

use super::engine::{ModuleTurn, Runtime};
use super::step::Cause;
use crate::plan::expression::Expression;
use crate::plan::{StatementKind, TriggerPlan};
use crate::value::{StreamEvent, Value};

impl Runtime {
    /// Runs a statement that acts on an event: `on … set`, `on … delete`.
    pub(super) fn trigger(
        &mut self,
        number: usize,
        kind: &StatementKind,
        event: &StreamEvent,
        cause: Cause,
        turn: &mut ModuleTurn<'_>,
    ) {
        match kind {
            StatementKind::Set { trigger, assignments } => {
                if self.passes(number, trigger, event, cause, turn) {
                    self.set(number, assignments, event, cause, turn);
                }
            }
            StatementKind::Delete { trigger, window, condition } => {
                if self.passes(number, trigger, event, cause, turn) {
                    self.delete(number, *window, condition.as_ref(), event, cause, turn);
                }
            }
            StatementKind::Select(_) | StatementKind::Declaration => {}
        }
    }

    fn passes(
        &mut self,
        number: usize,
        trigger: &TriggerPlan,
        event: &StreamEvent,
        cause: Cause,
        turn: &mut ModuleTurn<'_>,
    ) -> bool {
        self.work(number, cause, turn, |step| step.passes(trigger.filter.as_ref(), event, &[]))
    }

    /// Assigns variables from left to right; each expression sees the assignments before it. When one fails, all are
    /// undone.
    fn set(
        &mut self,
        number: usize,
        assignments: &[(usize, Expression)],
        event: &StreamEvent,
        cause: Cause,
        turn: &mut ModuleTurn<'_>,
    ) {
        let mut before = Vec::new();
        for (variable, expression) in assignments {
            let value = self.work(number, cause, turn, |step| {
                let value = expression.evaluate(&step.scope([Some(event), None], &[]));
                step.checked(value)
            });
            let Some(value) = value else {
                for (variable, value) in before.into_iter().rev() {
                    self.assign(variable, value);
                }
                return;
            };
            before.push((*variable, self.assign(*variable, value)));
        }
    }

    /// Assigns a variable and returns its previous value. The value counts as retained.
    fn assign(&mut self, variable: usize, value: Value) -> Value {
        let bytes = value.size().bytes;
        let before = std::mem::replace(&mut self.variables[variable], value);
        self.accounts.charge(self.plan.variables[variable].statement, |own| {
            own.bytes = own.bytes.saturating_add(bytes).saturating_sub(before.size().bytes);
        });
        before
    }

    /// Deletes the rows of a window that meet the condition; when the condition fails for one row, none is deleted.
    fn delete(
        &mut self,
        number: usize,
        window: usize,
        condition: Option<&Expression>,
        event: &StreamEvent,
        cause: Cause,
        turn: &mut ModuleTurn<'_>,
    ) {
        let windows = std::mem::take(&mut self.windows);
        let chosen = self.work(number, cause, turn, |step| {
            let mut chosen = Vec::new();
            for (row_number, row) in windows[window].contents() {
                let is_chosen = match condition {
                    None => true,
                    Some(condition) => {
                        let is_true = condition.is_true(&step.scope([Some(event), Some(row)], &[]));
                        step.checked(is_true)?
                    }
                };
                if is_chosen {
                    chosen.push(row_number);
                }
            }
            Some(chosen)
        });
        self.windows = windows;
        let Some(mut chosen) = chosen.filter(|chosen| !chosen.is_empty()) else { return };
        chosen.sort_unstable();
        let change = self.change_window(window, |window, retained| window.delete(&chosen, retained));
        self.dispatch_change(window, &change, cause, turn);
    }
}
