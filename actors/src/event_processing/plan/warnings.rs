//! What may be meant and probably is not (NE19): a module runs with it, and its author is told.

use std::collections::HashSet;
use std::sync::Arc;

use super::module::Planner;
use super::{ModulePlan, Stream};
use crate::event_processing::language::Mistake;
use crate::event_processing::language::syntax::{Name, Span};
use crate::event_processing::stream::OutputStream;
use crate::event_processing::value::ObjectKind;

/// So many are shown of a module.
const SHOWN: usize = 20;

/// Something of a module that looks like a slip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Warning {
    mistake: Mistake,
    /// It is one only while no module reads this stream.
    unless_read: Option<Arc<str>>,
}

impl Planner<'_> {
    /// A member that is none of the platform's is a fragment; one that is nearly called like one may be meant to be it.
    pub(super) fn warn_of_member(&self, kind: ObjectKind, name: &Name) {
        if let Some(meant) = nearest(&name.text, kind.members().iter().copied()) {
            let message = format!("'{}' is read as a fragment; is '{meant}' meant?", name.text);
            self.warn(name.span, message, None);
        }
    }

    /// A stream of one's own that is nearly called like one of the platform's writes nothing there.
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
    /// What looks like a slip in its text, with the place, while it runs beside these modules and itself.
    pub(crate) fn warnings<'p>(
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

/// The known name that a word differs from by a slip: its case, one letter or two that are swapped; two such of a long one.
fn nearest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let lower = word.to_ascii_lowercase();
    let distance = |known: &str| strsim::osa_distance(&lower, &known.to_ascii_lowercase());
    let is_near = |known: &&str| word != *known && distance(known) <= if known.len() < 8 { 1 } else { 2 };
    known.filter(is_near).min_by_key(|known| distance(known))
}

/// Whether a name is made as those of output streams are, such as `SendAlarm`.
fn sounds_like_output(name: &str) -> bool {
    let parts: Vec<_> = OutputStream::names().filter_map(verb_and_noun).collect();
    let is_noun = |rest: &str| parts.iter().any(|(_, noun)| *noun == rest);
    parts.iter().any(|(verb, _)| name.strip_prefix(verb).is_some_and(is_noun))
}

/// `Create` and `Alarm`.
fn verb_and_noun(name: &'static str) -> Option<(&'static str, &'static str)> {
    let second = name.char_indices().skip(1).find(|(_, letter)| letter.is_ascii_uppercase())?.0;
    Some(name.split_at(second))
}
