//! The imports between the modules of each crate. A module is a file or folder directly below the crate's `src`.
//! Imports of tests do not count, nor do those of `lib.rs` and `main.rs`, which contain the crate.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use crate::rust::{Source, closing, sources};
use crate::tree::line_of;

/// The crates: the name of the table, and the folder.
const CRATES: [(&str, &str); 8] = [
    ("web", "src/web"),
    ("operator", "src/operator"),
    ("front", "src/front"),
    ("actors", "actors/src"),
    ("epl", "actors/epl/src"),
    ("store", "actors/store/src"),
    ("model", "actors/model/src"),
    ("loadtest", "loadtest/src"),
];

/// A crate with its modules.
#[derive(Debug)]
pub(crate) struct House {
    pub(crate) name: &'static str,
    pub(crate) folder: &'static str,
    pub(crate) modules: BTreeSet<String>,
    /// The first place of each import, by the names of both modules.
    pub(crate) edges: BTreeMap<(String, String), Place>,
}

/// The place of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) path: &'static str,
    pub(crate) line: usize,
}

/// Returns the crates in the order in which the documents name them.
pub(crate) fn houses() -> &'static [House] {
    static HOUSES: OnceLock<Vec<House>> = OnceLock::new();
    HOUSES.get_or_init(|| CRATES.into_iter().map(|(name, folder)| read(name, folder)).collect())
}

impl House {
    /// Returns the modules that this module imports.
    pub(crate) fn imports<'a>(&'a self, module: &'a str) -> impl Iterator<Item = &'a str> {
        self.edges.keys().filter(move |(from, _)| from == module).map(|(_, to)| to.as_str())
    }

    /// Returns all modules that this module imports, directly or through others.
    pub(crate) fn reach(&self, module: &str) -> BTreeSet<&str> {
        let mut reached = BTreeSet::new();
        let mut open: Vec<&str> =
            self.edges.keys().filter(|(from, _)| from == module).map(|(_, to)| &**to).collect();
        while let Some(next) = open.pop() {
            if reached.insert(next) {
                open.extend(self.edges.keys().filter(|(from, _)| from == next).map(|(_, to)| to.as_str()));
            }
        }
        reached
    }
}

fn read(name: &'static str, folder: &'static str) -> House {
    let files: Vec<(&Source, Vec<&str>, String)> = sources()
        .iter()
        .filter_map(|source| Some((source, module_path(source, folder)?, source.production()?)))
        .collect();
    let modules =
        files.iter().filter_map(|(_, path, _)| path.first()).map(|name| (*name).to_owned()).collect();
    let mut house = House { name, folder, modules, edges: BTreeMap::new() };
    let roots = files.iter().filter(|(_, path, _)| path.is_empty());
    let exported = roots.flat_map(|(_, _, code)| exports(code, &house.modules)).collect();
    for (source, path, code) in &files {
        let Some(from) = path.first() else { continue };
        for (word, offset) in imported(code, path.len()) {
            let Some(to) = house.modules.get(word).or_else(|| BTreeMap::get(&exported, word)) else {
                continue;
            };
            if to != from {
                let place = || Place { path: &source.file.path, line: line_of(code, offset) };
                let edge = ((*from).to_owned(), to.clone());
                house.edges.entry(edge).or_insert_with(place);
            }
        }
    }
    house
}

/// Returns the names of the modules down to the file; empty for the root of the crate.
fn module_path<'a>(source: &'a Source, folder: &str) -> Option<Vec<&'a str>> {
    let path = source.file.path.strip_prefix(folder)?.strip_prefix('/')?.strip_suffix(".rs")?;
    let path = path.strip_suffix("/mod").unwrap_or(path);
    Some(path.split('/').filter(|name| !matches!(*name, "lib" | "main")).collect())
}

/// Returns the items that the root of a crate imports, with their modules. `crate::Item` then is an import of the
/// module.
fn exports(code: &str, modules: &BTreeSet<String>) -> BTreeMap<String, String> {
    let statements =
        code.split(';').filter_map(|statement| statement.rsplit_once("use ").map(|(_, rest)| rest));
    let mut exported = BTreeMap::new();
    for statement in statements {
        let statement = statement.strip_prefix("crate::").unwrap_or(statement);
        let mut words = statement.split(|c| !is_of_word(c)).filter(|word| !word.is_empty());
        if let Some(module) = words.next().and_then(|first| modules.get(first)) {
            exported.extend(words.map(|word| (word.to_owned(), module.clone())));
        }
    }
    exported
}

/// Returns the first word of each path that leads to the root of the crate, with its offset.
fn imported(code: &str, depth: usize) -> Vec<(&str, usize)> {
    let inner = inner_modules(code);
    let mut words = Vec::new();
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let before = &code[..at];
            if before.ends_with(is_of_word) || before.ends_with("super::") {
                continue;
            }
            let depth = depth + inner.iter().filter(|(begin, end)| (begin..end).contains(&&at)).count();
            follow(code, at, depth, &mut words);
        }
    }
    words
}

/// Follows a path, or the paths of a group in braces, and notes the words that come directly after the root.
fn follow<'a>(code: &'a str, at: usize, depth: usize, words: &mut Vec<(&'a str, usize)>) {
    let at = at + code[at..].len() - code[at..].trim_start().len();
    if code[at..].starts_with('{') {
        let end = closing(code, at).unwrap_or(at);
        let mut level = 0;
        for (offset, byte) in code[at..end].bytes().enumerate() {
            level = if byte == b'{' { level + 1 } else { level };
            level = if byte == b'}' { level - 1 } else { level };
            if level == 1 && matches!(byte, b'{' | b',') {
                follow(code, at + offset + 1, depth, words);
            }
        }
        return;
    }
    let word = code[at..].split(|c| !is_of_word(c)).next().unwrap_or_default();
    match word {
        "crate" => follow(code, at + "crate::".len(), 0, words),
        "super" if depth > 0 => follow(code, at + "super::".len(), depth - 1, words),
        _ if depth == 0 => words.push((word, at)),
        _ => {}
    }
}

/// Returns the ranges of modules within the file.
fn inner_modules(code: &str) -> Vec<(usize, usize)> {
    let named = code.match_indices("mod ").filter(|(at, _)| !code[..*at].ends_with(is_of_word));
    let opened = named.filter_map(|(at, _)| {
        let open = at + code[at..].find(['{', ';'])?;
        code[open..].starts_with('{').then_some(open)
    });
    opened.filter_map(|open| Some((open, closing(code, open)?))).collect()
}

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
