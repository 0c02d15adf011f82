//! Collects the mistakes of a scenario file, so that one reading of the file lists all of them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use super::Source;
use crate::error::Error;

/// The most mistakes that one error lists.
const MOST: usize = 100;

/// The mistakes of a file that were found so far.
#[derive(Debug)]
pub(super) struct Mistakes<'a> {
    source: &'a Source<'a>,
    /// The positions in the text and the reasons.
    found: RefCell<Vec<(usize, String)>>,
    /// The places where the file is not valid TOML, so that parts of it are unknown.
    syntax: RefCell<Vec<(usize, String)>>,
}

impl<'a> Mistakes<'a> {
    /// Creates an empty list for a file.
    pub(super) fn new(source: &'a Source<'a>) -> Self {
        Self { source, found: RefCell::default(), syntax: RefCell::default() }
    }

    /// Adds a mistake at a position of the text.
    pub(super) fn add(&self, at: usize, reason: impl Into<String>) {
        self.found.borrow_mut().push((at, reason.into()));
    }

    /// Adds a place where the file is not valid TOML. From then on, a lacking key is not a mistake, because it may be
    /// in the part that cannot be read.
    pub(super) fn add_syntax(&self, error: &toml::de::Error) {
        let at = error.span().map_or(0, |span| span.start);
        self.syntax.borrow_mut().push((at, error.message().to_owned()));
    }

    /// Adds that a table lacks something.
    pub(super) fn add_lacking(&self, at: usize, reason: impl Into<String>) {
        if self.syntax.borrow().is_empty() {
            self.add(at, reason);
        }
    }

    /// Returns the number of mistakes so far.
    pub(super) fn count(&self) -> usize {
        self.found.borrow().len() + self.syntax.borrow().len()
    }

    /// Returns the name of the file.
    pub(super) fn file(&self) -> &'a Path {
        self.source.file
    }

    /// Returns the text of a value as it is in the file.
    pub(super) fn text(&self, of: std::ops::Range<usize>) -> &'a str {
        self.source.text.get(of).unwrap_or_default()
    }

    /// Returns an error that lists all mistakes in the order of their lines, or nothing if there are none. Of a line
    /// that is not valid TOML only the first mistake is listed, because the others follow from it.
    ///
    /// # Errors
    /// There is a mistake.
    pub(super) fn refuse(self) -> Result<(), Error> {
        let line = |at: usize| self.source.text[..at.min(self.source.text.len())].matches('\n').count();
        let mut broken: BTreeMap<usize, (usize, String)> = BTreeMap::new();
        for (at, reason) in self.syntax.into_inner() {
            broken.entry(line(at)).or_insert((at, reason));
        }
        let mut found = self.found.into_inner();
        found.retain(|(at, _)| !broken.contains_key(&line(*at)));
        found.extend(broken.into_values());
        found.sort();
        found.dedup();
        let count = found.len();
        let listed = found.into_iter().take(MOST);
        let mut errors: Vec<Error> = listed.map(|(at, reason)| self.source.error(at, &reason)).collect();
        match count {
            0 => Ok(()),
            1 => Err(errors.remove(0)),
            _ => {
                let listed: Vec<String> = errors.iter().map(ToString::to_string).collect();
                Err(Error::Refused(format!("{count} mistakes\n{}", listed.join("\n"))))
            }
        }
    }
}
