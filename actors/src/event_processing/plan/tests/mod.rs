//! Texts, and what becomes of them: the shape of a plan, or the mistake with its place.

mod bounds;
mod examples;
mod mistakes;
mod shapes;
mod tenant;
mod warnings;

use super::{Catalog, ModulePlan, SelectPlan, StatementKind, plan};
use crate::event_processing::language::parse;

/// The plan of statements, which begin in the second line of a module.
fn planned(statements: &str) -> Result<ModulePlan, String> {
    let text = format!("module m;\n{statements}");
    let module = parse(&text).map_err(|mistake| format!("parser: {}", mistake.shown(&text)))?;
    plan(&module, &Catalog::new()).map_err(|mistake| {
        let shown = mistake.shown(&text);
        format!("{}:{} {}", shown.line, shown.column, shown.message)
    })
}

fn good(statements: &str) -> ModulePlan {
    planned(statements).unwrap_or_else(|mistake| panic!("{statements}\n{mistake}"))
}

/// The last statement, a select.
fn select(plan: &ModulePlan) -> &SelectPlan {
    match &plan.statements.last().expect("a statement").kind {
        StatementKind::Select(select) => select,
        other => panic!("{other:?}"),
    }
}
