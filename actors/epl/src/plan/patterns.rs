//! Plans patterns: resolves their tags and filters, and rejects patterns that would never end.

use std::time::Duration;

use super::expression::EventPlace;
use super::module::{Planner, ReadStream};
use super::pattern::{PatternNode, PatternPlan};
use super::periods::SHORTEST;
use super::resolve::{Access, Reach, Sight, Visible};
use crate::language::Mistake;
use crate::language::syntax::{self, Name, Pattern, Span};
use crate::value::StreamType;

/// The maximum number of tags of a pattern. A match holds an event for each tag.
const MAX_TAGS: u16 = 100;

/// The state while a pattern is planned from left to right.
struct Walk {
    /// The tags to the left, as filters see them.
    tags: Vec<Visible>,
    /// The number of events that a match holds.
    slots: u16,
    streams: Vec<(usize, Name)>,
    keys: usize,
    /// Within a part that `until` repeats: the number of tags before it.
    before_repetition: Option<usize>,
}

/// A planned pattern as the enclosing statement sees it.
#[derive(Debug)]
pub(super) struct Tagged {
    pub(super) tags: Vec<Visible>,
    /// The streams that the pattern reads, each with the name under which it occurs in the text.
    pub(super) streams: Vec<(usize, Name)>,
}

/// Whether a timer fires once or repeatedly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Times {
    Once,
    Again,
}

impl Planner<'_> {
    /// Plans a pattern and returns its tags as `select` sees them.
    pub(super) fn pattern(
        &mut self,
        pattern: &Pattern,
        keys: usize,
    ) -> Result<(PatternPlan, Tagged), Mistake> {
        let mut walk =
            Walk { tags: Vec::new(), slots: 0, streams: Vec::new(), keys, before_repetition: None };
        let root = self.node(pattern, Times::Once, &mut walk)?;
        let plan = PatternPlan::new(root, usize::from(walk.slots));
        Ok((plan, Tagged { tags: walk.tags, streams: walk.streams }))
    }

    fn node(&mut self, pattern: &Pattern, times: Times, walk: &mut Walk) -> Result<PatternNode, Mistake> {
        Ok(match pattern {
            Pattern::Every(inner) if matches!(**inner, Pattern::Every(_)) => {
                return Err(Mistake::new(span(inner), "'every' of 'every' would begin ever more often"));
            }
            Pattern::Every(inner) => PatternNode::Every(Box::new(self.node(inner, Times::Again, walk)?)),
            Pattern::Not(_, span) => return Err(lonely(*span)),
            Pattern::And(parts) => {
                if let Some(Pattern::Not(_, span)) = parts.first()
                    && parts.iter().all(|part| matches!(part, Pattern::Not(..)))
                {
                    return Err(lonely(*span));
                }
                let part = |part: &Pattern| match part {
                    Pattern::Not(inner, _) => Ok(PatternNode::Not(Box::new(self.node(inner, times, walk)?))),
                    part => self.node(part, times, walk),
                };
                PatternNode::And(parts.iter().map(part).collect::<Result<_, _>>()?)
            }
            Pattern::Or(parts) => PatternNode::Or(self.nodes(parts, times, walk)?),
            Pattern::FollowedBy(parts) => PatternNode::FollowedBy(self.nodes(parts, times, walk)?),
            Pattern::Event { tag, stream, filter } => {
                self.event(tag.as_ref(), stream, filter.as_ref(), walk)?
            }
            Pattern::Until { repeated, end } => self.until(repeated, end, times, walk)?,
            Pattern::Interval(period) => {
                let least = match times {
                    Times::Once => Duration::ZERO,
                    Times::Again => SHORTEST,
                };
                PatternNode::Interval(self.period(period, Sight::of(&walk.tags, walk.keys), least)?)
            }
            Pattern::At(schedule, _) => PatternNode::At((**schedule).clone()),
        })
    }

    fn nodes(
        &mut self,
        parts: &[Pattern],
        times: Times,
        walk: &mut Walk,
    ) -> Result<Vec<PatternNode>, Mistake> {
        parts.iter().map(|part| self.node(part, times, walk)).collect()
    }

    /// Plans `repeated until end` (Q-10a). Within the repeated part its tags stand for the events of one
    /// repetition, outside of it each stands for the list of its events.
    fn until(
        &mut self,
        repeated: &Pattern,
        end: &Pattern,
        times: Times,
        walk: &mut Walk,
    ) -> Result<PatternNode, Mistake> {
        if walk.before_repetition.is_some() {
            return Err(Mistake::new(span(repeated), "what 'until' repeats contains no other 'until'"));
        }
        let before = walk.tags.len();
        walk.before_repetition = Some(before);
        let repeated = Box::new(self.node(repeated, Times::Again, walk)?);
        walk.before_repetition = None;
        let several = walk.tags.split_off(before);
        let start = span(end);
        let end = Box::new(self.node(end, times, walk)?);
        if let Some(twice) = several.iter().find(|tag| walk.tags.iter().any(|known| known.name == tag.name)) {
            let message = format!("the tag '{}' is on both sides of 'until'", twice.name);
            return Err(Mistake::new(start, message));
        }
        let tags = several.iter().filter_map(|tag| tag.place.tag).collect();
        let several = several.into_iter().map(|tag| Visible { reach: Reach::Several, ..tag });
        walk.tags.splice(before..before, several);
        Ok(PatternNode::Until { end, repeated, tags })
    }

    fn event(
        &mut self,
        tag: Option<&Name>,
        name: &Name,
        filter: Option<&syntax::Expression>,
        walk: &mut Walk,
    ) -> Result<PatternNode, Mistake> {
        let ReadStream { place: stream, type_, access } = self.read(name)?;
        walk.streams.push((stream, name.clone()));
        let place = EventPlace { source: 1, tag: None };
        let called = tag.unwrap_or(name).text.clone();
        let event = Visible { name: called, place, type_: type_.clone(), access, reach: Reach::Unqualified };
        // The event itself comes first: within its own filter, the tag refers to this event and not to one that
        // an earlier branch stored under the tag.
        let filter = match filter {
            None => None,
            Some(filter) => {
                let events: Vec<_> = std::iter::once(event).chain(walk.tags.iter().cloned()).collect();
                Some(self.filter(filter, Sight::of(&events, walk.keys))?)
            }
        };
        let tag = tag.map(|tag| keep(tag, type_, access, walk)).transpose()?;
        Ok(PatternNode::Event { tag, stream, filter })
    }
}

/// Returns the number of a tag. A tag may occur in several branches if the events are of the same stream, but not both
/// within and outside of a part that `until` repeats.
fn keep(tag: &Name, type_: StreamType, access: Access, walk: &mut Walk) -> Result<u16, Mistake> {
    let known = walk.tags.iter().position(|known| known.name == tag.text);
    if let Some(at) = known {
        if walk.tags[at].type_ != type_ {
            return Err(Mistake::new(
                tag.span,
                format!("the tag '{}' stands for events of another stream", tag.text),
            ));
        }
        let is_outside = walk.before_repetition.is_some_and(|before| at < before);
        return match walk.tags[at].place.tag {
            Some(slot) if !is_outside && walk.tags[at].reach != Reach::Several => Ok(slot),
            _ => Err(Mistake::new(tag.span, format!("the tag '{}' is on both sides of 'until'", tag.text))),
        };
    }
    if walk.slots == MAX_TAGS {
        return Err(Mistake::new(tag.span, format!("a pattern has at most {MAX_TAGS} tags")));
    }
    let at = walk.slots;
    walk.slots += 1;
    let place = EventPlace { source: 0, tag: Some(at) };
    walk.tags.push(Visible { name: tag.text.clone(), place, type_, access, reach: Reach::ByNameOnly });
    Ok(at)
}

fn lonely(span: Span) -> Mistake {
    Mistake::new(
        span,
        "'not' goes with 'and' and something to wait for: (timer:interval(10 minutes) and not Stream)",
    )
}

/// Returns an approximate text position of a pattern.
fn span(pattern: &Pattern) -> Span {
    match pattern {
        Pattern::Not(_, span) | Pattern::At(_, span) => *span,
        Pattern::Every(inner) | Pattern::Until { repeated: inner, .. } => span(inner),
        Pattern::And(parts) | Pattern::Or(parts) | Pattern::FollowedBy(parts) => {
            parts.first().map(span).unwrap_or_default()
        }
        Pattern::Event { tag, stream, .. } => tag.as_ref().unwrap_or(stream).span,
        Pattern::Interval(period) => period.span,
    }
}
