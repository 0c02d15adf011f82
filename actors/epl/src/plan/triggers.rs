//! Plans `on Stream set …` and `on Stream delete from W`.

use super::expression::EventPlace;
use super::module::Planner;
use super::resolve::{Access, Reach, Resolver, Sight, Visible};
use super::types::{self, describe};
use super::{StatementKind, TriggerPlan};
use crate::language::Mistake;
use crate::language::syntax::{self, Name, StreamSource, VariableKind};

impl Planner<'_> {
    /// # Errors
    /// Returns a mistake if a name is not a variable, if the variable is a constant, or if a value has the
    /// wrong type.
    pub(super) fn set(
        &mut self,
        trigger: &StreamSource,
        assignments: &[(Name, syntax::Expression)],
    ) -> Result<StatementKind, Mistake> {
        let (stream, filter, event) = self.trigger(trigger)?;
        let sight = Sight::of(std::slice::from_ref(&event), 0);
        let assign = |(name, tree): &(Name, syntax::Expression)| {
            let variable = self.variable(&name.text).ok_or_else(|| {
                let known = super::catalog::enumerate(self.variable_names());
                Mistake::new(name.span, format!("no variable '{}'; there are {known}", name.text))
            })?;
            if self.variable_kind(variable) == VariableKind::Constant {
                return Err(Mistake::new(name.span, format!("'{}' is constant", name.text)));
            }
            let value = Resolver::new(self, sight, "'set'").resolve(tree)?;
            let (wanted, given) = (&self.variables[variable].type_, describe(&value.type_));
            let value = types::fit(value, wanted).ok_or_else(|| {
                Mistake::new(tree.span, format!("'{}' is {}, this is {given}", name.text, describe(wanted)))
            })?;
            Ok((variable, value))
        };
        let assignments = assignments.iter().map(assign).collect::<Result<_, _>>()?;
        Ok(StatementKind::Set { trigger: TriggerPlan { stream, filter }, assignments })
    }

    /// # Errors
    /// Returns a mistake if the name is not a window of this module.
    pub(super) fn delete(
        &mut self,
        trigger: &StreamSource,
        window: &Name,
        alias: Option<&Name>,
        condition: Option<&syntax::Expression>,
    ) -> Result<StatementKind, Mistake> {
        let (stream, filter, event) = self.trigger(trigger)?;
        let at = self.window(&window.text).ok_or_else(|| {
            let known = super::catalog::enumerate(self.windows.iter().map(|window| &window.name));
            Mistake::new(
                window.span,
                format!("no window '{}' in this module; there are {known}", window.text),
            )
        })?;
        let row = Visible {
            name: alias.unwrap_or(window).text.clone(),
            place: EventPlace { source: 1, tag: None },
            type_: self.windows[at].type_.clone(),
            access: Access::ByIndex,
            reach: Reach::Unqualified,
        };
        if row.name == event.name {
            let message =
                format!("both the event and the window are called '{}': give one an alias", row.name);
            return Err(Mistake::new(alias.unwrap_or(window).span, message));
        }
        let events = [event, row];
        let condition = condition.map(|condition| {
            Resolver::new(self, Sight::of(&events, 0), "'where'").condition(condition, "'where'")
        });
        let condition = condition.transpose()?;
        Ok(StatementKind::Delete { trigger: TriggerPlan { stream, filter }, window: at, condition })
    }
}
