//! Parses the statements that an event triggers: they set variables or delete rows of a named window.

use super::super::Mistake;
use super::super::syntax::StatementKind;
use super::Parser;

impl Parser<'_> {
    /// Parses the rest of a statement after `on`.
    pub(super) fn on(&mut self) -> Result<StatementKind, Mistake> {
        let trigger = self.stream()?;
        if self.accept("set") {
            let assignments = self.listed(|parser| {
                let variable = parser.name("the name of a variable")?;
                parser.expect("=")?;
                Ok((variable, parser.expression()?))
            })?;
            return Ok(StatementKind::OnSet { trigger, assignments });
        }
        self.expect("delete")?;
        self.expect("from")?;
        let window = self.name("the name of a window")?;
        let alias = self.alias()?;
        let condition = self.condition("where")?;
        Ok(StatementKind::OnDelete { trigger, window, alias, condition })
    }
}
