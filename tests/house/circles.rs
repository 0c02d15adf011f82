//! Circles of modules that import each other. Each circle that is allowed has a line in the table of its crate.

use std::collections::BTreeSet;

use crate::imports::{House, houses};
use crate::table::Table;
use crate::tree::Violation;

pub(crate) fn violations() -> Vec<Violation> {
    houses().iter().flat_map(of_house).collect()
}

fn of_house(house: &House) -> Vec<Violation> {
    let table = Table::read(house);
    let found = circles(house);
    let mut violations = Vec::new();
    for circle in found.iter().filter(|circle| !table.circles.iter().any(|(_, named)| named == *circle)) {
        let names = join(circle);
        let (path, line, example) = example(house, circle);
        let text = format!(
            "the modules {names} of {} import each other in a circle ({example}); remove an import of the circle, or \
             decide that it stays by the line `circle: {names}` in {}",
            house.folder, table.path
        );
        violations.push(Violation::new(&path, line, text));
    }
    for (line, named) in table.circles.iter().filter(|(_, named)| !found.contains(named)) {
        let text = format!(
            "{} are not a circle any more, or not all of it; remove or correct the line",
            join(named)
        );
        violations.push(Violation::new(&table.path, *line, text));
    }
    violations
}

/// Returns the sets of modules of which each reaches each other one.
fn circles(house: &House) -> Vec<BTreeSet<String>> {
    let mut circles: Vec<BTreeSet<String>> = Vec::new();
    for module in &house.modules {
        let reached = house.reach(module);
        if reached.contains(module.as_str()) && !circles.iter().any(|circle| circle.contains(module)) {
            let members = reached.into_iter().filter(|other| house.reach(other).contains(module.as_str()));
            circles.push(members.map(str::to_owned).collect());
        }
    }
    circles
}

/// Returns the place of one import of the circle, and some imports of it.
fn example(house: &House, circle: &BTreeSet<String>) -> (String, usize, String) {
    let inside = house.edges.iter().filter(|((from, to), _)| circle.contains(from) && circle.contains(to));
    let inside: Vec<_> = inside.collect();
    let (_, place) = inside.first().expect("a circle has imports");
    let shown = inside.iter().take(8);
    let shown: Vec<String> =
        shown.map(|((from, to), place)| format!("{from} → {to} at {}:{}", place.path, place.line)).collect();
    (place.path.to_owned(), place.line, shown.join(", "))
}

fn join(modules: &BTreeSet<String>) -> String {
    modules.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}
