//! Plans patterns: resolves their tags and filters, and rejects patterns that would never end.

use super::expression::EventPlace;
use super::module::{Planner, ReadStream};
use super::pattern::{PatternNode, PatternPlan};
use super::resolve::{Access, Reach, Sight, Visible};
use super::sources::{duration, repeated};
use crate::language::Mistake;
use crate::language::syntax::{self, Name, Pattern, Span};
use crate::value::StreamType;

/// The maximum number of tags of a pattern. A match holds an event for each tag.
const MAX_TAGS: u16 = 100;

/// The state while a pattern is planned from left to right.
struct Walk {
    /// The tags to the left, as filters see them.
    tags: Vec<Visible>,
    streams: Vec<(usize, Name)>,
    keys: usize,
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
        let mut walk = Walk { tags: Vec::new(), streams: Vec::new(), keys };
        let root = self.node(pattern, Times::Once, &mut walk)?;
        let plan = PatternPlan::new(root, walk.tags.len());
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
            Pattern::Interval(period) => PatternNode::Interval(match times {
                Times::Once => duration(*period),
                Times::Again => repeated(*period)?,
            }),
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

/// Returns the number of a tag. A tag may occur in several branches if the events are of the same stream.
fn keep(tag: &Name, type_: StreamType, access: Access, walk: &mut Walk) -> Result<u16, Mistake> {
    let known = walk.tags.iter().position(|known| known.name == tag.text);
    if let Some(at) = known {
        if walk.tags[at].type_ != type_ {
            return Err(Mistake::new(
                tag.span,
                format!("the tag '{}' stands for events of another stream", tag.text),
            ));
        }
        return Ok(u16::try_from(at).unwrap_or(MAX_TAGS));
    }
    let at = u16::try_from(walk.tags.len()).ok().filter(|at| *at < MAX_TAGS);
    let at = at.ok_or_else(|| Mistake::new(tag.span, format!("a pattern has at most {MAX_TAGS} tags")))?;
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
        Pattern::Every(inner) => span(inner),
        Pattern::And(parts) | Pattern::Or(parts) | Pattern::FollowedBy(parts) => {
            parts.first().map(span).unwrap_or_default()
        }
        Pattern::Event { tag, stream, .. } => tag.as_ref().unwrap_or(stream).span,
        Pattern::Interval(period) => period.span,
    }
}
