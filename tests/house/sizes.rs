//! The sizes of files and lines.

use crate::markdown::without_addresses;
use crate::rust::sources;
use crate::tree::{File, Violation, files};

const LINES: usize = 400;
const COLUMNS: usize = 120;

pub(crate) fn violations() -> Vec<Violation> {
    let mut violations = Vec::new();
    for source in sources() {
        let lines = source.file.text.lines().count();
        if lines > LINES {
            let text =
                format!("the file has {lines} lines; split it by subject, so that each has at most {LINES}");
            violations.push(Violation::new(&source.file.path, LINES + 1, text));
        }
        violations.extend(long_lines(source.file, |number, _| source.raw_lines.contains(&number)));
    }
    // A migration that was carried out somewhere stays as it is.
    let statements = files(".sql").filter(|file| !file.path.starts_with("sql/migrations/"));
    violations.extend(statements.flat_map(|file| long_lines(file, |_, _| false)));
    violations.extend(files(".md").flat_map(|file| {
        let may_be_long = may_be_long(&file.text);
        long_lines(file, move |number, line| {
            may_be_long[number - 1] || without_addresses(line).chars().count() <= COLUMNS
        })
    }));
    violations
}

/// Finds the long lines, except where they may be long. Lines of raw strings may, because these cannot be broken.
fn long_lines(file: &'static File, may_be_long: impl Fn(usize, &str) -> bool) -> Vec<Violation> {
    let lines = file.text.lines().enumerate().map(|(number, line)| (number + 1, line, line.chars().count()));
    let long = lines.filter(|(number, line, columns)| *columns > COLUMNS && !may_be_long(*number, line));
    let violation = |(number, _, columns)| {
        let text = format!("the line has {columns} columns; break it, so that each has at most {COLUMNS}");
        Violation::new(&file.path, number, text)
    };
    long.map(violation).collect()
}

/// Returns for each line of Markdown whether it may be long: rows of tables, blocks of code, and definitions of rules,
/// which have one line each.
fn may_be_long(text: &str) -> Vec<bool> {
    let mut in_code = false;
    let of_line = |line: &str| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        in_code || fence || line.trim_start().starts_with('|') || line.starts_with("- <a id=")
    };
    text.lines().map(of_line).collect()
}
