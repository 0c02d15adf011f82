//! Tests of texts with the expected result: the shape of the plan, or the mistake with its position.

mod bounds;
mod examples;
mod mistakes;
mod shapes;
mod tenant;
mod warnings;

use super::{Catalog, ModulePlan, SelectPlan, StatementKind, plan};
use crate::language::parse;

/// Returns the plan of statements, which start in the second line of a module.
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

/// Returns the last statement, which must be a select.
fn select(plan: &ModulePlan) -> &SelectPlan {
    match &plan.statements.last().expect("a statement").kind {
        StatementKind::Select(select) => select,
        other => panic!("{other:?}"),
    }
}
