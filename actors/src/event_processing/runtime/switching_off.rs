//! A statement that retains too much is switched off, and its neighbours go on: it keeps nothing and sees nothing any more.

use super::engine::Runtime;
use super::named_windows::NamedWindow;
use super::partitions::Partitions;
use super::statement::Select;
use super::{Outcome, Retained};
use crate::event_processing::plan::StatementKind;

/// Why a statement was switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OffCause {
    /// It retained so much, more than any other, where there was too much.
    Retains(Retained, Excess),
    /// The statement at this place was switched off, which creates its context.
    Context(usize),
}

/// What is too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Excess {
    /// The module retains more than it may.
    OfModule,
    /// All modules of the tenant retain more bytes than they may.
    OfTenant,
}

impl Runtime {
    /// Switches off statements of another run of this module, by their names.
    pub(crate) fn leave_off<'n>(&mut self, names: impl IntoIterator<Item = &'n str>) {
        for name in names {
            if let Some(statement) = self.plan.statements.iter().position(|known| *known.name == *name) {
                self.switch_off(statement);
            }
        }
    }

    /// Switches off what retains most until the module retains no more than it may, or nothing can be switched off any more.
    pub(crate) fn relieve(&mut self, outcome: &mut Outcome) {
        while self.is_over_budget() && self.switch_off_greatest(Excess::OfModule, outcome) {}
    }

    /// Switches off the statement that retains most. Not when it retains nothing, or the value of a variable.
    pub(crate) fn switch_off_greatest(&mut self, excess: Excess, outcome: &mut Outcome) -> bool {
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

    /// Whether no `select` goes on.
    pub(crate) fn is_at_rest(&self) -> bool {
        let selects = self.plan.statements.iter().zip(&self.off);
        selects.filter(|(known, _)| matches!(known.kind, StatementKind::Select(_))).all(|(_, off)| *off)
    }

    /// Whether a statement was switched off.
    pub(super) fn is_off(&self, statement: usize) -> bool {
        self.off[statement]
    }

    /// Switches a statement off, with all it keeps. Gives those that cannot go on without it, which are switched off with it.
    fn switch_off(&mut self, statement: usize) -> Vec<usize> {
        let plan = self.plan.clone();
        self.forget(statement);
        self.off[statement] = true;
        if let Some(window) = plan.windows.iter().position(|window| window.statement == statement) {
            self.windows[window] = NamedWindow::new(&plan.windows[window]);
            for reader in self.readers_of_window(window) {
                // What they remember of its rows has gone with them.
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
        let of_context = |kind: &StatementKind| matches!(kind, StatementKind::Select(select) if select.context == Some(context));
        let dependents = (0..plan.statements.len())
            .filter(|at| !self.off[*at] && of_context(&plan.statements[*at].kind))
            .collect::<Vec<_>>();
        for dependent in &dependents {
            self.forget(*dependent);
            self.off[*dependent] = true;
        }
        dependents
    }

    /// What a statement keeps for itself is gone.
    fn forget(&mut self, statement: usize) {
        self.selects[statement] = None;
        self.accounts.charge(statement, |own| *own = Retained::default());
    }

    fn readers_of_window(&self, window: usize) -> Vec<usize> {
        self.routes.of_window(window).map_or_else(Vec::new, |stream| self.routes.readers(stream).to_vec())
    }
}
