//! Finders are functions that query the store; their names say what they query.
//!
//! The names are `find<Noun>ById` and `find(One|First|All)<Noun>By<Filter>(And<Filter>)*`, with the filters
//! that the noun supports. A filter occurs at most once in a name.

use super::catalog::enumerate;
use super::enumerations::{ALARM_STATUSES, OPERATION_STATUSES};
use super::expression::{Filter, Finder, Take};
use super::functions::Accepts;
use crate::language::Mistake;
use crate::language::syntax::{self, ExpressionKind};
use crate::value::{ObjectKind, Type};

/// A finder and the type of its result.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) finder: Finder,
    pub(super) result: Type,
}

/// The filters by name. A name must not be a prefix of one that comes after it.
const FILTERS: [(&str, Filter); 8] = [
    ("CreationTimeBetween", Filter::CreationTimeBetween),
    ("FragmentType", Filter::FragmentType),
    ("TimeBetween", Filter::TimeBetween),
    ("Source", Filter::Source),
    ("Status", Filter::Status),
    ("Type", Filter::Type),
    ("Agent", Filter::Agent),
    ("Device", Filter::Device),
];

/// The finders whose names do not consist of filters.
pub(super) const FIXED: [(&str, Finder, Type); 2] = [
    ("inMaintenanceMode", Finder::InMaintenanceMode, Type::Boolean),
    ("replaceAllPlaceholders", Finder::ReplaceAllPlaceholders, Type::Text),
];

/// Returns the finder with this name, `None` if the name is not a finder's, or an error message if it resembles
/// one.
pub(super) fn of_name(name: &str) -> Option<Result<Found, String>> {
    if let Some((_, finder, result)) = FIXED.into_iter().find(|(known, ..)| *known == name) {
        return Some(Ok(Found { finder, result }));
    }
    let rest = name.strip_prefix("find")?;
    let takes = [("One", Take::One), ("First", Take::First), ("All", Take::All)];
    let take = takes.into_iter().find_map(|(word, take)| Some((take, rest.strip_prefix(word)?)));
    let (take, rest) = take.map_or((None, rest), |(take, rest)| (Some(take), rest));
    let (kind, rest) =
        ObjectKind::NOUNS.iter().find_map(|(noun, kind)| Some((*kind, rest.strip_prefix(noun)?)))?;
    let Some(by) = rest.strip_prefix("By") else {
        return Some(Err(format!("'{name}' does not say by what: 'ById', or 'By' and filters")));
    };
    Some(match (take, by) {
        (None, "Id") => Ok(Found { finder: Finder::ById(kind), result: Type::Object(kind) }),
        (None, _) => Err(format!("'{name}' does not say how many: findOne…, findFirst… or findAll…")),
        (Some(take), by) => filters(kind, by).map(|filters| Found {
            finder: Finder::By { kind, take, filters },
            result: if take == Take::All { Type::List } else { Type::Object(kind) },
        }),
    })
}

fn filters(kind: ObjectKind, by: &str) -> Result<Vec<Filter>, String> {
    let unknown = |rest: &str| {
        let words = FILTERS.iter().filter(|(_, filter)| filter.applies_to(kind)).map(|(word, _)| *word);
        format!("no filter '{rest}'; there are {}, joined by 'And'", enumerate(words))
    };
    let (mut found, mut rest) = (Vec::new(), by);
    loop {
        let known = FILTERS.iter().find_map(|(word, filter)| Some((*filter, rest.strip_prefix(word)?)));
        let (filter, after) =
            known.filter(|(filter, _)| filter.applies_to(kind)).ok_or_else(|| unknown(rest))?;
        if let Some(other) = found.iter().find(|other| filter.concerns_same_property(**other)) {
            return Err(if filter == *other {
                format!("'{}' stands here twice", word(filter))
            } else {
                format!(
                    "'{}' and '{}' ask for the same: only one of them may stand here",
                    word(*other),
                    word(filter)
                )
            });
        }
        found.push(filter);
        if after.is_empty() {
            return Ok(found);
        }
        rest = after.strip_prefix("And").ok_or_else(|| unknown(rest))?;
    }
}

/// Returns the name of a filter.
fn word(filter: Filter) -> &'static str {
    FILTERS.iter().find(|(_, known)| *known == filter).map_or("", |(word, _)| word)
}

impl Found {
    /// Returns the parameters: one per filter, two for a time range.
    pub(super) fn parameters(&self) -> Vec<Accepts> {
        match &self.finder {
            Finder::ById(_) | Finder::InMaintenanceMode => vec![Accepts::Id],
            Finder::ReplaceAllPlaceholders => vec![Accepts::Text, Accepts::Content],
            Finder::By { filters, .. } => {
                filters.iter().flat_map(|filter| accepts(*filter).iter().copied()).collect()
            }
        }
    }

    /// Checks that a status given as a literal is a valid one.
    pub(super) fn check(&self, arguments: &[syntax::Expression]) -> Result<(), Mistake> {
        let Finder::By { kind, filters, .. } = &self.finder else { return Ok(()) };
        let words = if *kind == ObjectKind::Alarm { ALARM_STATUSES } else { OPERATION_STATUSES };
        let mut places = filters.iter().flat_map(|filter| accepts(*filter).iter().map(move |_| *filter));
        let wrong = arguments.iter().find(|argument| {
            let is_status = places.next() == Some(Filter::Status);
            is_status && matches!(&argument.kind, ExpressionKind::Text(text) if !words.contains(&&**text))
        });
        match wrong {
            Some(argument) => {
                Err(Mistake::new(argument.span, format!("no such status; there are {}", enumerate(words))))
            }
            None => Ok(()),
        }
    }
}

fn accepts(filter: Filter) -> &'static [Accepts] {
    match filter {
        Filter::Source | Filter::Agent | Filter::Device => &[Accepts::Id],
        Filter::Status | Filter::Type | Filter::FragmentType => &[Accepts::Text],
        Filter::TimeBetween | Filter::CreationTimeBetween => &[Accepts::Moment, Accepts::Moment],
    }
}
