//! Warnings about likely slips. A module with warnings runs; its author sees them.

use std::collections::HashSet;
use std::sync::Arc;

use super::module::Planner;
use super::{ModulePlan, Stream};
use crate::language::Mistake;
use crate::language::syntax::{Name, Span};
use crate::stream::OutputStream;
use crate::value::ObjectKind;

/// The maximum number of warnings shown for a module.
const SHOWN: usize = 20;

/// A likely slip in a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Warning {
    mistake: Mistake,
    /// The warning applies only while no module reads this stream.
    unless_read: Option<Arc<str>>,
}

impl Planner<'_> {
    /// Warns about a member that is not a platform member (and therefore a fragment) but has nearly the name of
    /// one.
    pub(super) fn warn_of_member(&self, kind: ObjectKind, name: &Name) {
        if let Some(meant) = nearest(&name.text, kind.members().iter().copied()) {
            let message = format!("'{}' is read as a fragment; is '{meant}' meant?", name.text);
            self.warn(name.span, message, None);
        }
    }

    /// Warns about a stream of the module's own whose name resembles an output stream: an insert into it writes
    /// nothing to the platform.
    pub(super) fn warn_of_stream(&self, into: &Name) {
        let meant = nearest(&into.text, OutputStream::names());
        let question = match (&meant, sounds_like_output(&into.text)) {
            (Some(meant), _) => format!("is '{meant}' meant?"),
            (None, true) => "the platform has no stream of this name".to_owned(),
            (None, false) => return,
        };
        let message = format!("nobody reads '{}', a stream of this module's own; {question}", into.text);
        self.warn(into.span, message, Some(into.text.clone()));
    }

    fn warn(&self, span: Span, message: String, unless_read: Option<Arc<str>>) {
        let warning = Warning { mistake: Mistake::new(span, message), unless_read };
        let mut warnings = self.warnings.borrow_mut();
        // An expression may be resolved more than once.
        if !warnings.contains(&warning) && warnings.len() < SHOWN {
            warnings.push(warning);
        }
    }
}

impl ModulePlan {
    /// Returns the warnings with their positions that apply while the module runs beside the given modules.
    pub fn warnings<'p>(
        &self,
        text: &str,
        all: impl IntoIterator<Item = &'p Arc<ModulePlan>>,
    ) -> Vec<String> {
        if self.warnings.is_empty() {
            return Vec::new();
        }
        let read: HashSet<&str> =
            all.into_iter().flat_map(|plan| plan.streams.iter()).filter_map(named).collect();
        let holds =
            |warning: &&Warning| warning.unless_read.as_ref().is_none_or(|name| !read.contains(&**name));
        let shown = |warning: &Warning| {
            let shown = warning.mistake.shown(text);
            format!("{}, line {}, column {}", shown.message, shown.line, shown.column)
        };
        let mut warnings: Vec<_> = self.warnings.iter().filter(holds).collect();
        warnings.sort_by_key(|warning| warning.mistake.span.start);
        warnings.into_iter().map(shown).collect()
    }
}

fn named(stream: &Stream) -> Option<&str> {
    match stream {
        Stream::Named(name, _) => Some(name),
        Stream::Input(_) | Stream::Window(_) => None,
    }
}

/// Returns the known name that differs from the word only by a slip: by case, by one letter or by two swapped
/// letters. A long name may have two slips.
fn nearest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let lower = word.to_ascii_lowercase();
    let distance = |known: &str| strsim::osa_distance(&lower, &known.to_ascii_lowercase());
    let is_near = |known: &&str| word != *known && distance(known) <= if known.len() < 8 { 1 } else { 2 };
    known.filter(is_near).min_by_key(|known| distance(known))
}

/// Returns whether a name has the form of an output stream's name, such as `SendAlarm`. Every name that begins with
/// `Send` and another word has it, because other platforms have further streams of this kind (Q-10a).
fn sounds_like_output(name: &str) -> bool {
    if name
        .strip_prefix("Send")
        .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()))
    {
        return true;
    }
    let parts: Vec<_> = OutputStream::names().filter_map(verb_and_noun).collect();
    let is_noun = |rest: &str| parts.iter().any(|(_, noun)| *noun == rest);
    parts.iter().any(|(verb, _)| name.strip_prefix(verb).is_some_and(is_noun))
}

/// Splits a name such as `CreateAlarm` into `Create` and `Alarm`.
fn verb_and_noun(name: &'static str) -> Option<(&'static str, &'static str)> {
    let second = name.char_indices().skip(1).find(|(_, letter)| letter.is_ascii_uppercase())?.0;
    Some(name.split_at(second))
}
