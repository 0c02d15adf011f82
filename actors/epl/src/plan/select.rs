//! Plans `select`: what a statement reads, which rows it produces and where they are inserted.

use std::collections::HashSet;
use std::sync::Arc;

use super::aggregates::Aggregates;
use super::catalog::check_columns;
use super::column_names::written;
use super::grouping;
use super::inputs;
use super::module::Planner;
use super::names::whole;
use super::resolve::{Access, Reach, Resolver, Sight, Typed, Visible};
use super::sources::Read;
use super::targets::Selected;
use super::{EveryPlan, From, OutputPlan, SelectPlan};
use crate::language::Mistake;
use crate::language::syntax::{self, Column, Every, ExpressionKind, Name, Select, Span};
use crate::value::{StreamType, Type};

/// The maximum length of a column name in characters. A longer expression needs an alias.
const MAX_NAME: usize = 254;

impl Planner<'_> {
    /// # Errors
    /// Returns the first mistake.
    pub(super) fn select(&mut self, select: &Select) -> Result<SelectPlan, Mistake> {
        let context = select.context.as_ref().map(|name| self.context(name)).transpose()?;
        let keys =
            context.and_then(|at| self.contexts[at].partitions.first()).map_or(0, |first| first.keys.len());
        let Read { from, visible, match_alias, streams } = self.sources(&select.sources, keys)?;
        if let (Some(at), Some(name)) = (context, &select.context) {
            let partitions = &self.contexts[at].partitions;
            let outside =
                streams.iter().find(|(stream, _)| partitions.iter().all(|one| one.stream != *stream));
            if let Some((_, stream)) = outside {
                let message = format!("'{}' is not in the context '{}'", stream.text, name.text);
                return Err(Mistake::new(stream.span, message));
            }
        }
        let sight = Sight { events: &visible, match_alias: match_alias.as_deref(), keys };
        let clause = |clause| Resolver::new(self, sight, clause);
        let condition = select.condition.as_ref();
        let condition = condition.map(|tree| clause("'where'").condition(tree, "'where'")).transpose()?;
        let group_by = clause("'group by'").keys(&select.group_by, "'group by'")?;
        let mut resolver = clause("'select'");
        resolver.collect_aggregates();
        let selected = resolver.columns(select, &from)?;
        let having = select.having.as_ref().map(|tree| resolver.condition(tree, "'having'")).transpose()?;
        let aggregates = resolver.take_aggregates();
        let rows = grouping::rows(&selected, having.as_ref(), &group_by, &aggregates);
        let output = select.output.as_ref().map(|output| self.output(output)).transpose()?;
        let whole = match (select.columns.as_slice(), &from, visible.as_slice()) {
            ([Column::Everything(_)], From::One(_), [only])
                if only.access == Access::ByIndex && group_by.is_empty() =>
            {
                Some(only.type_.clone())
            }
            _ => None,
        };
        let aim = self.aim(select.into.as_ref(), selected, whole.as_ref())?;
        Ok(SelectPlan {
            context,
            into: aim.into,
            from,
            condition,
            rows,
            group_by,
            aggregates,
            having,
            output,
            columns: aim.columns,
            select: aim.select,
            passes_on: aim.passes_on,
        })
    }

    fn context(&self, name: &Name) -> Result<usize, Mistake> {
        self.context_places.get(&name.text).copied().ok_or_else(|| {
            let known = super::catalog::enumerate(self.contexts.iter().map(|context| &context.name));
            Mistake::new(name.span, format!("no context '{}' in this module; there are {known}", name.text))
        })
    }

    fn output(&self, output: &syntax::Output) -> Result<OutputPlan, Mistake> {
        let every = match &output.every {
            Every::Events(events) => EveryPlan::Events(*events as usize),
            Every::Time(period) => EveryPlan::Time(self.fixed_period(period)?),
        };
        Ok(OutputPlan { kind: output.kind, every })
    }
}

impl Resolver<'_, '_> {
    /// Permits aggregates from now on and collects them.
    pub(super) fn collect_aggregates(&mut self) {
        self.aggregates = Aggregates::Collected(Vec::new());
    }

    fn take_aggregates(&mut self) -> Vec<super::expression::Aggregate> {
        match std::mem::replace(&mut self.aggregates, Aggregates::Refused("this")) {
            Aggregates::Collected(aggregates) => aggregates,
            Aggregates::Refused(_) => Vec::new(),
        }
    }

    fn columns(&mut self, select: &Select, from: &From) -> Result<Vec<Selected>, Mistake> {
        let mut selected = Vec::new();
        for column in &select.columns {
            match column {
                Column::Everything(span) => match (from, self.sight.events) {
                    (From::One(_), [only]) => selected.extend(self.everything(only, *span)?),
                    (From::Pattern { .. }, []) => {
                        return Err(Mistake::new(
                            *span,
                            "there is nothing to select: no event of the pattern has a tag",
                        ));
                    }
                    (_, events) => {
                        let (span, one) = (*span, |event: &Visible| (event.name.clone(), whole(event)));
                        selected.extend(events.iter().map(one).map(|(name, typed)| Selected {
                            name,
                            span,
                            typed,
                        }));
                    }
                },
                Column::EverythingOf(name) => selected.extend(self.everything_of(name)?),
                Column::Expression { expression, name } => {
                    selected.push(self.column(expression, name.as_ref(), select.into.as_ref())?);
                }
            }
        }
        check_columns(selected.len(), selected.last().map(|one| one.span).unwrap_or_default())?;
        let mut names = HashSet::new();
        for Selected { name, span, .. } in &selected {
            if !names.insert(name.clone()) {
                return Err(Mistake::new(
                    *span,
                    format!("there is a column '{name}' already: name one by 'as'"),
                ));
            }
        }
        Ok(selected)
    }

    /// Returns the columns of `alias.*`.
    fn everything_of(&self, name: &Name) -> Result<Vec<Selected>, Mistake> {
        let found = self.sight.events.iter().find(|event| event.name == name.text);
        let event = found.ok_or_else(|| {
            let known = super::catalog::enumerate(self.sight.events.iter().map(|event| &event.name));
            Mistake::new(name.span, format!("no '{}' here; there are {known}", name.text))
        })?;
        if event.reach == Reach::Several {
            let message = format!("'{}' stands for several events; select one, as {0}[0]", name.text);
            return Err(Mistake::new(name.span, message));
        }
        self.everything(event, name.span)
    }

    /// Returns the columns of an event.
    fn everything(&self, event: &Visible, span: Span) -> Result<Vec<Selected>, Mistake> {
        let all = whole(event);
        let typed: Vec<(Arc<str>, Typed)> = match &event.type_ {
            StreamType::Rows(columns) => {
                let columns = columns.0.iter().enumerate();
                columns
                    .map(|(at, (name, type_))| (name.clone(), self.column_at(&all, at, name, type_)))
                    .collect()
            }
            StreamType::Input(stream) => {
                let names = inputs::names(*stream).into_iter();
                names.filter_map(|name| Some((name.clone(), self.property(&all, &name)?))).collect()
            }
        };
        self.planner.spend(typed.len(), span)?;
        Ok(typed.into_iter().map(|(name, typed)| Selected { name, span, typed }).collect())
    }

    fn column(
        &mut self,
        tree: &syntax::Expression,
        name: Option<&Name>,
        into: Option<&Name>,
    ) -> Result<Selected, Mistake> {
        let called = match name {
            Some(name) => name.text.clone(),
            None => written(tree, MAX_NAME).map(Arc::from).ok_or_else(|| {
                Mistake::new(tree.span, format!("longer than {MAX_NAME} characters: name the column by 'as'"))
            })?,
        };
        let wanted = || into.and_then(|into| self.planner.wanted(into, &called));
        let typed: Typed = match &tree.kind {
            ExpressionKind::Braces(elements) if &*called == "fragments" || wanted() == Some(Type::Map) => {
                self.fragments(elements, tree.span)?
            }
            _ => self.resolve(tree)?,
        };
        Ok(Selected { name: called, span: tree.span, typed })
    }
}
