//! Plans the sources of statements: streams with filters and views, joins, and patterns.

use super::expression::{EventPlace, Expression};
use super::module::{Planner, ReadStream};
use super::patterns::Tagged;
use super::resolve::{Reach, Resolver, Sight, Visible};
use super::{From, SourcePlan, ViewPlan};
use crate::language::Mistake;
use crate::language::syntax::{
    self, Direction, Name, SourceKind, StatementSource, StreamSource, View, ViewKind,
};
use crate::value::StreamType;

/// The source of a statement and what its expressions can see of it.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) from: From,
    pub(super) visible: Vec<Visible>,
    pub(super) match_alias: Option<std::sync::Arc<str>>,
    /// The indexes of the streams, each with the name under which it occurs in the text.
    pub(super) streams: Vec<(usize, Name)>,
}

impl Planner<'_> {
    pub(super) fn sources(&mut self, sources: &[StatementSource], keys: usize) -> Result<Read, Mistake> {
        match sources {
            [source] => self.one(source, keys),
            [one, other] => self.join(one, other, keys),
            _ => Err(Mistake::new(
                sources.first().map(|source| source.span).unwrap_or_default(),
                "one or two sources",
            )),
        }
    }

    fn one(&mut self, source: &StatementSource, keys: usize) -> Result<Read, Mistake> {
        if source.direction == Direction::Only {
            return Err(Mistake::new(source.span, "'unidirectional' goes with joins"));
        }
        match &source.kind {
            SourceKind::Stream { name, filter } => {
                let (plan, event) = self.source(source, name, filter.as_ref(), 0, keys)?;
                let streams = vec![(plan.stream, name.clone())];
                Ok(Read { from: From::One(plan), visible: vec![event], match_alias: None, streams })
            }
            SourceKind::Pattern(pattern) => {
                let (pattern, Tagged { tags: visible, streams }) = self.pattern(pattern, keys)?;
                let match_alias = source.alias.as_ref().map(|alias| alias.text.clone());
                let sight = Sight { events: &visible, match_alias: match_alias.as_deref(), keys };
                let view = source.view.as_ref().map(|view| self.view_in(view, sight)).transpose()?;
                Ok(Read { from: From::Pattern { pattern, view }, visible, match_alias, streams })
            }
        }
    }

    fn join(&mut self, one: &StatementSource, other: &StatementSource, keys: usize) -> Result<Read, Mistake> {
        let (mut plans, mut visible, mut streams) = (Vec::new(), Vec::<Visible>::new(), Vec::new());
        for (at, source) in [(0u8, one), (1, other)] {
            let SourceKind::Stream { name, filter } = &source.kind else {
                return Err(Mistake::new(
                    source.span,
                    "a pattern is the only source in 'from': insert its matches into a stream and join that",
                ));
            };
            let (plan, event) = self.source(source, name, filter.as_ref(), at, keys)?;
            if visible.iter().any(|known| known.name == event.name) {
                let message = format!("both sources are called '{}': give one an alias", event.name);
                return Err(Mistake::new(source.span, message));
            }
            streams.push((plan.stream, name.clone()));
            plans.push(plan);
            visible.push(event);
        }
        if plans.iter().all(|plan| plan.unidirectional) {
            return Err(Mistake::new(other.span, "one of two sources may be 'unidirectional'"));
        }
        let retains = |(plan, (_, name)): (&SourcePlan, &(usize, Name))| {
            plan.view.is_some() || self.window(&name.text).is_some()
        };
        if !plans.iter().zip(&streams).any(retains) {
            let message = "a join needs a view, such as .std:lastevent() or .win:length(1): \
                           without one nothing is retained";
            return Err(Mistake::new(one.span, message));
        }
        let plans: Box<[SourcePlan; 2]> =
            plans.try_into().map_err(|_| Mistake::new(one.span, "a join has two sources"))?;
        Ok(Read { from: From::Join(plans), visible, match_alias: None, streams })
    }

    fn source(
        &mut self,
        source: &StatementSource,
        name: &Name,
        filter: Option<&syntax::Expression>,
        at: u8,
        keys: usize,
    ) -> Result<(SourcePlan, Visible), Mistake> {
        let (stream, filter, event) = self.filtered(name, source.alias.as_ref(), filter, keys)?;
        let sight = Sight::of(std::slice::from_ref(&event), keys);
        let view = source.view.as_ref().map(|view| self.view_in(view, sight)).transpose()?;
        let unidirectional = source.direction == Direction::Only;
        let event = Visible { place: EventPlace { source: at, tag: None }, ..event };
        Ok((SourcePlan { stream, filter, view, unidirectional }, event))
    }

    /// Plans `Stream [alias]` or `Stream(filter) [alias]` outside of `from`.
    pub(super) fn trigger(
        &mut self,
        source: &StreamSource,
    ) -> Result<(usize, Option<Expression>, Visible), Mistake> {
        self.filtered(&source.name, source.alias.as_ref(), source.filter.as_ref(), 0)
    }

    /// Returns the index of a stream, its filter, and its event as the filter sees it.
    fn filtered(
        &mut self,
        stream: &Name,
        alias: Option<&Name>,
        filter: Option<&syntax::Expression>,
        keys: usize,
    ) -> Result<(usize, Option<Expression>, Visible), Mistake> {
        let ReadStream { place: at, type_, access } = self.read(stream)?;
        let name = alias.unwrap_or(stream).text.clone();
        let place = EventPlace { source: 0, tag: None };
        let event = Visible { name, place, type_, access, reach: Reach::Unqualified };
        let sight = Sight::of(std::slice::from_ref(&event), keys);
        let filter = filter.map(|filter| self.filter(filter, sight)).transpose()?;
        Ok((at, filter, event))
    }

    pub(super) fn filter(
        &self,
        filter: &syntax::Expression,
        sight: Sight<'_>,
    ) -> Result<Expression, Mistake> {
        Resolver::new(self, sight, "a filter").condition(filter, "a filter")
    }

    /// Plans the view of a named window.
    pub(super) fn view(&self, view: &View, type_: &StreamType, name: &str) -> Result<ViewPlan, Mistake> {
        let place = EventPlace { source: 0, tag: None };
        let (type_, access) = (type_.clone(), super::resolve::Access::ByIndex);
        let event = Visible { name: name.into(), place, type_, access, reach: Reach::Unqualified };
        self.view_in(view, Sight::of(&[event], 0))
    }

    fn view_in(&self, view: &View, sight: Sight<'_>) -> Result<ViewPlan, Mistake> {
        Ok(match &view.kind {
            ViewKind::Time(period) => ViewPlan::Time(self.fixed_period(period)?),
            ViewKind::Length(events) => ViewPlan::Length(*events as usize),
            ViewKind::TimeBatch(period) => ViewPlan::TimeBatch(self.fixed_period(period)?),
            ViewKind::LengthBatch(events) => ViewPlan::LengthBatch(*events as usize),
            ViewKind::KeepAll => ViewPlan::KeepAll,
            ViewKind::LastEvent => ViewPlan::LastEvent,
            ViewKind::Unique(keys) => {
                ViewPlan::Unique(Resolver::new(self, sight, "'std:unique'").keys(keys, "'std:unique'")?)
            }
        })
    }
}
