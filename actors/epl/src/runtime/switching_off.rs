//! Switches off a statement that retains too much, while the other statements of the module continue: it then
//! keeps no state and receives no events.

use super::engine::Runtime;
use super::named_windows::NamedWindow;
use super::partitions::Partitions;
use super::statement::Select;
use super::{Outcome, Retained};
use crate::plan::StatementKind;

/// The reason why a statement was switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffCause {
    /// The statement retained this much, more than any other, when a limit was exceeded.
    Retains(Retained, Excess),
    /// The statement at this position, which creates the context, was switched off.
    Context(usize),
}

/// The limit that was exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    /// The module retains more than it may.
    OfModule,
    /// All modules of the tenant retain more bytes than they may.
    OfTenant,
}

impl Runtime {
    /// Switches off the statements with these names, which were switched off in an earlier run of this module.
    pub fn leave_off<'n>(&mut self, names: impl IntoIterator<Item = &'n str>) {
        for name in names {
            if let Some(statement) = self.plan.statements.iter().position(|known| *known.name == *name) {
                self.switch_off(statement);
            }
        }
    }

    /// Switches off the statements that retain most until the module is within its limit, or nothing more can be
    /// switched off.
    pub fn relieve(&mut self, outcome: &mut Outcome) {
        while self.is_over_budget() && self.switch_off_greatest(Excess::OfModule, outcome) {}
    }

    /// Switches off the statement that retains most. Returns whether it did: not when that statement retains nothing,
    /// or the value of a variable.
    pub fn switch_off_greatest(&mut self, excess: Excess, outcome: &mut Outcome) -> bool {
        let most = match excess {
            Excess::OfModule => self.budget.retained,
            Excess::OfTenant => Retained { events: usize::MAX, bytes: 0 },
        };
        let statement = self.accounts.greatest(most);
        let retained = self.accounts.of(statement);
        let is_of_variable = self.plan.variables.iter().any(|variable| variable.statement == statement);
        if retained == Retained::default() || is_of_variable {
            return false;
        }
        outcome.off.push((statement, OffCause::Retains(retained, excess)));
        let others = self.switch_off(statement);
        outcome.off.extend(others.into_iter().map(|other| (other, OffCause::Context(statement))));
        true
    }

    /// Returns whether no `select` is active any more.
    pub fn is_at_rest(&self) -> bool {
        let selects = self.plan.statements.iter().zip(&self.off);
        selects.filter(|(known, _)| matches!(known.kind, StatementKind::Select(_))).all(|(_, off)| *off)
    }

    /// Returns whether a statement was switched off.
    pub(super) fn is_off(&self, statement: usize) -> bool {
        self.off[statement]
    }

    /// Switches a statement off and discards its state. Returns the statements that cannot work without it and must
    /// be switched off too.
    fn switch_off(&mut self, statement: usize) -> Vec<usize> {
        let plan = self.plan.clone();
        self.forget(statement);
        self.off[statement] = true;
        if let Some(window) = plan.windows.iter().position(|window| window.statement == statement) {
            self.windows[window] = NamedWindow::new(&plan.windows[window]);
            for reader in self.readers_of_window(window) {
                // The state that they built from its rows was discarded with them.
                self.forget(reader);
                if let (StatementKind::Select(select), false) =
                    (&plan.statements[reader].kind, self.off[reader])
                {
                    self.selects[reader] = Some(Select::new(select));
                }
            }
        }
        let Some(context) = plan.contexts.iter().position(|context| context.statement == statement) else {
            return Vec::new();
        };
        self.contexts[context] = Partitions::default();
        let of_context = |kind: &StatementKind| match kind {
            StatementKind::Select(select) => select.context == Some(context),
            _ => false,
        };
        let dependents = (0..plan.statements.len())
            .filter(|at| !self.off[*at] && of_context(&plan.statements[*at].kind))
            .collect::<Vec<_>>();
        for dependent in &dependents {
            self.forget(*dependent);
            self.off[*dependent] = true;
        }
        dependents
    }

    /// Discards the state of a statement.
    fn forget(&mut self, statement: usize) {
        self.selects[statement] = None;
        self.accounts.charge(statement, |own| *own = Retained::default());
    }

    fn readers_of_window(&self, window: usize) -> Vec<usize> {
        self.routes.of_window(window).map_or_else(Vec::new, |stream| self.routes.readers(stream).to_vec())
    }
}
