//! The tables of modules in `tests/house`: one per crate, a line per module with the modules that it may import.

use std::collections::BTreeSet;
use std::fs;

use crate::imports::{House, houses};
use crate::tree::{Violation, is_writing, root};

const COLUMNS: usize = 120;
const WRITE: &str = "`WRITE_HOUSE=1 cargo test --test house` writes the table";

/// The table of a crate.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) path: String,
    rows: Vec<Row>,
    /// The circles that may exist, with their lines.
    pub(crate) circles: Vec<(usize, BTreeSet<String>)>,
}

/// A line of the table, with the lines that continue it.
#[derive(Debug)]
struct Row {
    line: usize,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Module(String, BTreeSet<String>),
    /// A comment, a circle or an empty line.
    Other(String),
}

/// Compares the tables with the code.
pub(crate) fn violations() -> Vec<Violation> {
    houses()
        .iter()
        .flat_map(|house| {
            let mut table = Table::read(house);
            if is_writing() {
                table.update(house);
                write(&table);
            }
            table.compare(house)
        })
        .collect()
}

impl Table {
    pub(crate) fn read(house: &House) -> Self {
        let path = format!("tests/house/{}.txt", house.name);
        let text = fs::read_to_string(root().join(&path)).unwrap_or_default();
        let mut table = Self { path, rows: Vec::new(), circles: Vec::new() };
        for (number, line) in text.lines().enumerate() {
            table.add(number + 1, line);
        }
        table
    }

    fn add(&mut self, line: usize, text: &str) {
        if text.starts_with(' ')
            && let Some(Row { content: Content::Module(_, imports), .. }) = self.rows.last_mut()
        {
            imports.extend(names(text));
            return;
        }
        if text.starts_with(' ')
            && let Some((_, circle)) = self.circles.last_mut()
        {
            circle.extend(names(text));
        }
        let content = match text.split_once(':') {
            Some((module, imports)) if !text.starts_with('#') && module != "circle" => {
                Content::Module(module.to_owned(), names(imports))
            }
            _ => Content::Other(text.to_owned()),
        };
        if let Some(circle) = text.strip_prefix("circle:") {
            self.circles.push((line, names(circle)));
        }
        self.rows.push(Row { line, content });
    }

    fn find(&self, module: &str) -> Option<(usize, &BTreeSet<String>)> {
        self.rows.iter().find_map(|row| match &row.content {
            Content::Module(name, imports) if name == module => Some((row.line, imports)),
            _ => None,
        })
    }

    fn compare(&self, house: &House) -> Vec<Violation> {
        let mut violations = Vec::new();
        for module in house.modules.iter().filter(|module| self.find(module).is_none()) {
            let text = format!("{}/ has the module {module}; add its line: {WRITE}", house.folder);
            violations.push(Violation::new(&self.path, 1, text));
        }
        for ((from, to), place) in &house.edges {
            if self.find(from).is_some_and(|(_, imports)| !imports.contains(to)) {
                let text = format!(
                    "{from} imports {to}, which the line of {from} in {} does not allow; move what is imported, or add \
                     the import to the line: {WRITE}",
                    self.path
                );
                violations.push(Violation::new(place.path, place.line, text));
            }
        }
        for Row { line, content } in &self.rows {
            let Content::Module(from, imports) = content else { continue };
            for to in imports.iter().filter(|to| !house.edges.contains_key(&(from.clone(), (*to).clone()))) {
                let text = format!("{from} does not import {to} any more; remove it from the line: {WRITE}");
                violations.push(Violation::new(&self.path, *line, text));
            }
            if !house.modules.contains(from) || self.find(from).is_some_and(|(first, _)| first != *line) {
                let text = format!(
                    "{}/ has no module {from}, or it has another line; remove the line: {WRITE}",
                    house.folder
                );
                violations.push(Violation::new(&self.path, *line, text));
            }
        }
        violations
    }

    /// Writes the imports as they are. The order of the lines and the comments stay. A new module comes before the
    /// first one that reaches fewer modules.
    fn update(&mut self, house: &House) {
        let reach = |module: &str| house.reach(module).len();
        self.rows
            .retain(|row| !matches!(&row.content, Content::Module(name, _) if !house.modules.contains(name)));
        let missing: Vec<String> =
            house.modules.iter().filter(|name| self.find(name).is_none()).cloned().collect();
        for module in missing {
            let smaller =
                |row: &Row| matches!(&row.content, Content::Module(name, _) if reach(name) < reach(&module));
            let at = self.rows.iter().position(smaller).unwrap_or(self.rows.len());
            self.rows.insert(at, Row { line: 0, content: Content::Module(module, BTreeSet::new()) });
        }
        for row in &mut self.rows {
            if let Content::Module(name, imports) = &mut row.content {
                *imports = house.imports(name).map(str::to_owned).collect();
            }
        }
        *self = self.to_string().lines().enumerate().fold(
            Self { path: self.path.clone(), rows: Vec::new(), circles: Vec::new() },
            |mut table, (number, line)| {
                table.add(number + 1, line);
                table
            },
        );
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for row in &self.rows {
            match &row.content {
                Content::Other(text) => writeln!(f, "{text}")?,
                Content::Module(name, imports) => writeln!(f, "{}", wrapped(name, imports))?,
            }
        }
        Ok(())
    }
}

/// Writes a table that has changed. Other tests read the file at the same time.
fn write(table: &Table) {
    let (path, text) = (root().join(&table.path), table.to_string());
    if fs::read_to_string(&path).ok().as_ref() != Some(&text) {
        fs::write(&path, text).expect("the table can be written");
    }
}

/// Returns the line of a module, broken where it would be too long.
fn wrapped(name: &str, imports: &BTreeSet<String>) -> String {
    let mut text = format!("{name}:");
    let mut column = text.len();
    for (number, import) in imports.iter().enumerate() {
        let comma = if number + 1 < imports.len() { "," } else { "" };
        if column + import.len() + 2 > COLUMNS {
            text.push_str("\n   ");
            column = 3;
        }
        text.push_str(&format!(" {import}{comma}"));
        column += import.len() + 2;
    }
    text
}

fn names(text: &str) -> BTreeSet<String> {
    text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}
