//! The text files of the project, and the violations that are found in them.

use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// A broken rule, with its place.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) text: String,
}

impl Violation {
    pub(crate) fn new(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, text: text.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.text)
    }
}

/// A text file of the project.
#[derive(Debug)]
pub(crate) struct File {
    /// The path relative to the project, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Returns the files with this ending, in the order of their paths.
pub(crate) fn files(ending: &'static str) -> impl Iterator<Item = &'static File> {
    static FILES: OnceLock<Vec<File>> = OnceLock::new();
    let files = FILES.get_or_init(|| {
        let mut files = Vec::new();
        collect("", &mut files);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        assert!(files.len() > 1500, "only {} files were found: are all directories read?", files.len());
        files
    });
    files.iter().filter(move |file| file.path.ends_with(ending))
}

/// Returns the directory of the project.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns whether the lists in `tests/house` are to be written instead of compared.
pub(crate) fn is_writing() -> bool {
    std::env::var_os("WRITE_HOUSE").is_some()
}

/// Returns the line of a byte of the text, counted from 1.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count() + 1
}

fn collect(folder: &str, files: &mut Vec<File>) {
    let entries = fs::read_dir(root().join(folder)).expect("the project can be read");
    for entry in entries.map(|entry| entry.expect("an entry")) {
        let name = entry.file_name().into_string().expect("the names of the project are UTF-8");
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let kind = entry.file_type().expect("the kind of an entry");
        if kind.is_dir() && !is_foreign(&path, &name) {
            collect(&path, files);
        } else if kind.is_file() && [".rs", ".sql", ".md"].iter().any(|ending| name.ends_with(ending)) {
            let text = fs::read_to_string(root().join(&path)).expect("the files are UTF-8");
            files.push(File { path, text });
        }
    }
}

/// Returns whether a directory contains nothing of the project: hidden ones, libraries of npm, and what Cargo builds.
fn is_foreign(path: &str, name: &str) -> bool {
    name.starts_with('.') || name == "node_modules" || root().join(path).join("CACHEDIR.TAG").exists()
}
