//! The output of commands: a table, JSON, lines of JSON, CSV, or only ids.

use std::io::{self, IsTerminal, Write};

use clap::ValueEnum;
use platform_front::csv_table::no_formula;
use platform_front::terminal::{harmless, harmless_json, is_executed, say};
use serde_json::Value;

use super::failure::Failure;

/// The format of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Form {
    /// Columns for people
    Table,
    /// JSON: one object, or an array
    Json,
    /// One object in each line, as long as there are some
    Jsonl,
    /// The columns of the table, with a first line of their names
    Csv,
    /// Only the ids, one in each line, for the next command
    Id,
}

/// The colours of words for severities and states.
const COLOURS: [(&str, &str); 8] = [
    ("CRITICAL", "1;31"),
    ("MAJOR", "31"),
    ("MINOR", "33"),
    ("WARNING", "36"),
    ("FAILED", "31"),
    ("SUCCESSFUL", "32"),
    ("EXECUTING", "33"),
    ("SUSPENDED", "33"),
];
/// The greatest width of a table cell in characters, except in tables of sentences. CSV and JSON have the whole text.
const WIDEST: usize = 60;

/// Prints objects as they arrive.
pub(super) struct Printer<W: Write> {
    form: Form,
    columns: Vec<String>,
    id: &'static [&'static str],
    /// Whether the output is a list, which in JSON is an array.
    many: bool,
    /// Whether a terminal shows the output, so that it must contain nothing that a terminal would execute.
    on_terminal: bool,
    coloured: bool,
    printed: usize,
    widths: Vec<usize>,
    /// The greatest width of a table cell in characters.
    widest: usize,
    /// The columns that somebody chose and that no printed object has had yet.
    missing: Vec<String>,
    out: W,
}

impl Printer<io::StdoutLock<'static>> {
    pub(super) fn stdout(form: Form, columns: Vec<String>, id: &'static [&'static str], many: bool) -> Self {
        let out = io::stdout().lock();
        let is_dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        let wanted = !is_dumb && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let on_terminal = out.is_terminal();
        let coloured = wanted && on_terminal;
        let (widths, missing) = (Vec::new(), Vec::new());
        let (printed, widest) = (0, WIDEST);
        Self { form, columns, id, many, on_terminal, coloured, printed, widths, widest, missing, out }
    }
}

impl<W: Write> Printer<W> {
    /// Returns a printer whose tables have whole texts, because the objects are sentences.
    pub(super) fn with_whole_texts(self) -> Self {
        Self { widest: usize::MAX, ..self }
    }

    /// Returns the printer of columns that somebody chose; at the end it names those that no object has.
    pub(super) fn with_chosen_columns(self) -> Self {
        if !matches!(self.form, Form::Table | Form::Csv) {
            say("warning: --columns has an effect on tables and CSV only");
            return self;
        }
        Self { missing: self.columns.clone(), ..self }
    }

    /// Prints objects. The first objects of a table determine the widths of its columns.
    ///
    /// # Errors
    /// The output is closed or cannot be written.
    pub(super) fn print(&mut self, objects: &[Value]) -> Result<(), Failure> {
        self.missing.retain(|column| objects.iter().all(|object| member(object, column).is_null()));
        match self.form {
            Form::Table => self.print_rows(objects)?,
            Form::Csv => self.print_csv(objects)?,
            Form::Json | Form::Jsonl | Form::Id => {
                for object in objects {
                    self.print_one(object)?;
                    self.printed += 1;
                }
            }
        }
        Ok(self.out.flush()?)
    }

    /// Completes the output.
    ///
    /// # Errors
    /// As [`print`](Self::print).
    pub(super) fn end(&mut self) -> Result<(), Failure> {
        if self.printed > 0 && !self.missing.is_empty() {
            say(format_args!("warning: no object has {}", self.missing.join(", ")));
        }
        match (self.form, self.printed) {
            (Form::Json, 0) if self.many => writeln!(self.out, "[]")?,
            (Form::Json, _) if self.many => writeln!(self.out, "\n]")?,
            // Even an empty result has the line of names, so that scripts always find it.
            (Form::Csv, 0) => self.print_csv(&[])?,
            _ => {}
        }
        Ok(self.out.flush()?)
    }

    fn print_one(&mut self, object: &Value) -> io::Result<()> {
        let on_terminal = self.on_terminal;
        let json = |text: String| if on_terminal { harmless_json(&text).into_owned() } else { text };
        match self.form {
            Form::Json if self.many => {
                let before = if self.printed == 0 { "[\n" } else { ",\n" };
                write!(self.out, "{before}{}", json(object.to_string()))
            }
            Form::Json => writeln!(self.out, "{}", json(format!("{object:#}"))),
            Form::Id => {
                let id = id_of(object, self.id);
                writeln!(self.out, "{}", if on_terminal { harmless(&id) } else { id.as_str().into() })
            }
            _ => writeln!(self.out, "{}", json(object.to_string())),
        }
    }

    fn print_rows(&mut self, objects: &[Value]) -> io::Result<()> {
        let rows: Vec<Vec<String>> = objects
            .iter()
            .map(|object| self.columns.iter().map(|column| cell(object, column, self.widest)).collect())
            .collect();
        if self.widths.is_empty() {
            let widest =
                |index: usize| rows.iter().map(|row| row[index].chars().count()).max().unwrap_or_default();
            let widths = self.columns.iter().enumerate();
            self.widths = widths.map(|(index, name)| widest(index).max(name.chars().count())).collect();
            let names: Vec<_> = self.columns.iter().map(|name| name.to_uppercase()).collect();
            self.print_row(&names)?;
        }
        self.printed += rows.len();
        rows.iter().try_for_each(|row| self.print_row(row))
    }

    fn print_row(&mut self, row: &[String]) -> io::Result<()> {
        let last = row.len().saturating_sub(1);
        for (index, (text, width)) in row.iter().zip(&self.widths).enumerate() {
            let colour = COLOURS.iter().find(|(word, _)| self.coloured && text == word);
            match colour {
                Some((_, code)) => write!(self.out, "\x1b[{code}m{text}\x1b[0m")?,
                None => write!(self.out, "{text}")?,
            }
            let padding = if index == last { 0 } else { 2 + width.saturating_sub(text.chars().count()) };
            write!(self.out, "{:padding$}", "")?;
        }
        writeln!(self.out)
    }

    fn print_csv(&mut self, objects: &[Value]) -> io::Result<()> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        if self.printed == 0 {
            writer.write_record(&self.columns)?;
        }
        for object in objects {
            writer.write_record(self.columns.iter().map(|column| csv_cell(member(object, column))))?;
        }
        self.printed += objects.len().max(1);
        let bytes = writer.into_inner().map_err(|error| io::Error::other(error.to_string()))?;
        if self.on_terminal {
            return self.out.write_all(harmless(&String::from_utf8_lossy(&bytes)).as_bytes());
        }
        self.out.write_all(&bytes)
    }
}

/// Returns the members of an object that identify it, separated by slashes.
pub(super) fn id_of(object: &Value, id: &[&str]) -> String {
    let parts: Vec<_> = id.iter().map(|part| plain(member(object, part))).collect();
    parts.join("/")
}

/// Returns the member at a path such as `source.id`.
fn member<'v>(object: &'v Value, path: &str) -> &'v Value {
    // The name of a fragment may contain dots.
    if let Some(found) = object.get(path) {
        return found;
    }
    let splits =
        path.match_indices('.').filter_map(|(dot, _)| Some((object.get(&path[..dot])?, &path[dot + 1..])));
    splits.map(|(inner, rest)| member(inner, rest)).find(|found| !found.is_null()).unwrap_or(&Value::Null)
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns the text of a cell of CSV. A text that a spreadsheet would execute gets an apostrophe, as in the CSV of the
/// server (G-09); numbers stay numbers.
fn csv_cell(value: &Value) -> String {
    match value {
        Value::String(text) => no_formula(text).into_owned(),
        other => plain(other),
    }
}

/// Returns the text of a member.
pub(super) fn text_of(object: &Value, column: &str) -> String {
    plain(member(object, column))
}

/// Returns the text of a cell. Characters that a terminal would execute are replaced.
fn cell(object: &Value, column: &str, widest: usize) -> String {
    let text = plain(member(object, column));
    let safe = |character: char| if is_executed(character) { char::REPLACEMENT_CHARACTER } else { character };
    let mut cut: String = text.chars().take(widest).map(safe).collect();
    if text.chars().nth(widest).is_some() {
        cut.pop();
        cut.push('…');
    }
    cut
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn printed(form: Form, many: bool, pages: &[&[Value]]) -> String {
        let columns = ["id", "source.id", "severity"].map(Into::into).into();
        let (on_terminal, coloured, widths, missing, out) =
            (false, false, Vec::new(), Vec::new(), Vec::new());
        let printer = Printer {
            form,
            columns,
            id: &["id"],
            many,
            on_terminal,
            coloured,
            printed: 0,
            widths,
            widest: WIDEST,
            missing,
            out,
        };
        print_all(printer, pages)
    }

    fn print_all(mut printer: Printer<Vec<u8>>, pages: &[&[Value]]) -> String {
        pages.iter().for_each(|page| printer.print(page).unwrap());
        printer.end().unwrap();
        String::from_utf8(printer.out).unwrap()
    }

    #[test]
    fn each_form_shows_every_object_of_every_page() {
        let first = [json!({"id": "1", "source": {"id": "4711"}, "severity": "MAJOR"})];
        let second = [json!({"id": "22", "severity": "x\u{1b}[31m,y"})];
        let both = [&first[..], &second[..]];

        let table = "ID  SOURCE.ID  SEVERITY\n1   4711       MAJOR\n22             x\u{fffd}[31m,y\n";
        assert_eq!(printed(Form::Table, true, &both), table);
        assert_eq!(
            printed(Form::Csv, true, &both),
            "id,source.id,severity\n1,4711,MAJOR\n22,,\"x\u{1b}[31m,y\"\n"
        );
        assert_eq!(printed(Form::Id, true, &both), "1\n22\n");
        let array: Vec<Value> = serde_json::from_str(&printed(Form::Json, true, &both)).unwrap();
        assert_eq!(array, [first[0].clone(), second[0].clone()]);
        assert_eq!(printed(Form::Jsonl, true, &both).lines().count(), 2);
    }

    #[test]
    fn csv_has_no_formula_and_numbers_stay_numbers() {
        let object = json!({"id": "=1+1", "source": {"id": -1}, "severity": "-1"});
        assert_eq!(printed(Form::Csv, true, &[&[object]]), "id,source.id,severity\n'=1+1,-1,'-1\n");
    }

    #[test]
    fn terminal_gets_nothing_that_it_would_execute_in_any_form() {
        let text = "\u{1b}]0;owned\u{7}\u{9b}31m\u{8}\r\u{202e}\u{2066}";
        let object = json!({"id": text, "source": {"id": text}, "severity": text});
        for form in [Form::Table, Form::Json, Form::Jsonl, Form::Csv, Form::Id] {
            for many in [false, true] {
                let columns = ["id", "source.id", "severity"].map(Into::into).into();
                let (widths, out) = (Vec::new(), Vec::new());
                let printer = Printer {
                    form,
                    columns,
                    id: &["id"],
                    many,
                    on_terminal: true,
                    coloured: false,
                    printed: 0,
                    widths,
                    widest: WIDEST,
                    missing: Vec::new(),
                    out,
                };
                let shown = print_all(printer, &[std::slice::from_ref(&object)]);
                assert!(!shown.replace('\n', "").contains(is_executed), "{form:?}: {shown:?}");
                assert!(shown.contains("owned"), "{form:?}: {shown:?}");
            }
        }
    }

    #[test]
    fn nothing_is_an_empty_array_or_the_names_of_the_columns() {
        assert_eq!(printed(Form::Json, true, &[&[]]), "[]\n");
        assert_eq!(printed(Form::Csv, true, &[&[]]), "id,source.id,severity\n");
        assert_eq!(printed(Form::Id, true, &[&[]]), "");
    }

    #[test]
    fn member_is_found_below_names_with_dots() {
        let object = json!({"a.b": {"c": 1}, "a": {"b": {"d": 2}}});
        assert_eq!((member(&object, "a.b.c"), member(&object, "a.b.d")), (&json!(1), &json!(2)));
        assert_eq!(member(&object, "a.x"), &Value::Null);
    }

    #[test]
    fn long_text_is_cut_in_a_table() {
        let object = json!({"id": "x".repeat(100)});
        assert_eq!(cell(&object, "id", WIDEST).chars().count(), WIDEST);
    }
}
