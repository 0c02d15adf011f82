//! The lists of sql/sides.txt.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The names of a list with their reasons, which may be empty.
pub(super) type List = BTreeMap<String, String>;

/// The side of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Directory,
    Cell,
    Database,
}

impl Side {
    pub(super) const ALL: [(Self, &'static str); 3] =
        [(Self::Directory, "directory"), (Self::Cell, "cell"), (Self::Database, "database")];
}

/// The lists by their headings.
pub(super) struct Sides(BTreeMap<String, List>);

impl Sides {
    /// Reads the file when the test runs, so that a change of it compiles nothing.
    pub(super) fn load() -> Self {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("sql/sides.txt")).unwrap();
        Self::parse(&text).unwrap_or_else(|error| panic!("sql/sides.txt: {error}"))
    }

    /// Reads headings, which end with a colon, indented entries, and continued lines, which are indented further.
    fn parse(text: &str) -> Result<Self, String> {
        let mut lists = BTreeMap::<String, List>::new();
        let (mut heading, mut name) = (None, None);
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
            let unreadable = || format!("`{line}` is neither a heading nor an entry");
            let indented = line.len() - line.trim_start().len();
            match (indented, &heading, &name) {
                (0, ..) => {
                    let read = line.strip_suffix(':').ok_or_else(unreadable)?.to_owned();
                    lists.insert(read.clone(), List::new());
                    (heading, name) = (Some(read), None);
                }
                (4, Some(heading), _) => {
                    let (read, reason) = line.trim().split_once(": ").unwrap_or((line.trim(), ""));
                    let twice =
                        lists.get_mut(heading).and_then(|list| list.insert(read.into(), reason.into()));
                    if twice.is_some() {
                        return Err(format!("`{heading}` has {read} twice"));
                    }
                    name = Some(read.to_owned());
                }
                (8, Some(heading), Some(name)) => {
                    let reason = lists.get_mut(heading).and_then(|list| list.get_mut(name));
                    let reason = reason.ok_or_else(unreadable)?;
                    *reason = format!("{reason} {}", line.trim());
                }
                _ => return Err(unreadable()),
            }
        }
        Ok(Self(lists))
    }

    pub(super) fn list(&self, heading: &str) -> &List {
        self.0.get(heading).unwrap_or_else(|| panic!("sql/sides.txt has no heading `{heading}`"))
    }

    /// Returns the sides on which a table is: one, unless the file is wrong.
    pub(super) fn sides(&self, table: &str) -> Vec<Side> {
        let listed = Side::ALL.iter().filter(|(_, heading)| self.list(heading).contains_key(table));
        listed.map(|(side, _)| *side).collect()
    }

    pub(super) fn is(&self, table: &str, side: Side) -> bool {
        self.sides(table) == [side]
    }

    pub(super) fn tables(&self, side: Side) -> Vec<&str> {
        let tables = Side::ALL.iter().filter(|(other, _)| *other == side);
        tables.flat_map(|(_, heading)| self.list(heading).keys().map(String::as_str)).collect()
    }

    /// Returns the tables of the directory that cells have, too, with the columns that they have there.
    pub(super) fn stubs(&self) -> BTreeMap<&str, Vec<&str>> {
        self.list("stubs").keys().map(|entry| table_with_columns(entry)).collect()
    }

    /// Compares the exceptions that the schema needs with those that a list permits. `found` says what is wrong about
    /// each, `advice` what to do about it.
    pub(super) fn check(&self, heading: &str, found: &List, advice: &str) {
        let listed = self.list(heading);
        let mut wrong = Vec::new();
        for (name, problem) in found.iter().filter(|(name, _)| !listed.contains_key(*name)) {
            wrong.push(format!("{name}: {problem}. {advice}, or add it with a reason to `{heading}`"));
        }
        for (name, reason) in listed {
            if !found.contains_key(name) {
                wrong.push(format!("{name}: it is no exception any more; take it out of `{heading}`"));
            } else if reason.is_empty() {
                wrong.push(format!("{name}: it has no reason in `{heading}`"));
            }
        }
        assert!(wrong.is_empty(), "sql/sides.txt does not fit the schema:\n{}", wrong.join("\n"));
    }
}

/// Splits `table (column, column)`.
fn table_with_columns(entry: &str) -> (&str, Vec<&str>) {
    let parts = entry.strip_suffix(')').and_then(|entry| entry.split_once(" ("));
    let (table, columns) = parts.unwrap_or_else(|| panic!("`{entry}` is no table with columns"));
    (table, columns.split(", ").collect())
}

#[test]
fn list_with_a_repeated_or_misplaced_entry_is_rejected() {
    let read = |text: &str| Sides::parse(text).err().unwrap_or_default();
    assert_eq!(read("# A comment\n\ncell:\n    alarms: first\n        second\n    events\ndirectory:\n"), "");
    assert_eq!(read("cell:\n    alarms\n    alarms: again\n"), "`cell` has alarms twice");
    for wrong in ["    alarms\n", "cell:\n        alarms\n", "cell:\n  alarms\n", "cell\n"] {
        assert!(read(wrong).contains("neither a heading nor an entry"), "{wrong}");
    }
    let sides = Sides::parse("cell:\n    alarms: first\n        second\n").unwrap();
    assert_eq!(sides.list("cell")["alarms"], "first second");
}
