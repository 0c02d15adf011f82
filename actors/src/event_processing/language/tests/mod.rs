//! What texts mean, and what authors are told when they mean nothing.

mod expressions;
mod limits;
mod mistakes;
mod patterns;
mod statements;

use super::{Mistake, parse, printer};

/// The statements of a text, as they are understood.
fn understood(statements: &str) -> Vec<String> {
    let text = format!("module m; {statements}");
    let module = parse(&text).unwrap_or_else(|mistake| panic!("{}", mistake.shown(&text)));
    module.statements.iter().map(|statement| printer::statement(&statement.kind)).collect()
}

/// The mistake in the statements of a text.
fn mistake(statements: &str) -> Mistake {
    let text = format!("module m; {statements}");
    match parse(&text) {
        Ok(module) => panic!("no mistake in {}", printer::print(&module)),
        Err(mistake) => mistake,
    }
}
