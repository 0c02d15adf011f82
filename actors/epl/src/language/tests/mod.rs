//! Tests of the parser: the trees of valid texts, and the messages for invalid ones.

mod expressions;
mod limits;
mod mistakes;
mod patterns;
mod statements;

use super::{Mistake, parse, printer};

/// Parses the statements of a text and returns them as printed from their trees.
fn understood(statements: &str) -> Vec<String> {
    let text = format!("module m; {statements}");
    let module = parse(&text).unwrap_or_else(|mistake| panic!("{}", mistake.shown(&text)));
    module.statements.iter().map(|statement| printer::statement(&statement.kind)).collect()
}

/// Returns the mistake in the statements of a text.
fn mistake(statements: &str) -> Mistake {
    let text = format!("module m; {statements}");
    match parse(&text) {
        Ok(module) => panic!("no mistake in {}", printer::print(&module)),
        Err(mistake) => mistake,
    }
}
