//! Determines where rows are inserted and whether they fit there.

use std::collections::HashMap;
use std::sync::Arc;

use platform_model::realtime::input_stream::InputStream;

use super::Target;
use super::catalog::{Declared, Manner, enumerate, is_small};
use super::expression::Expression;
use super::module::Planner;
use super::outputs;
use super::resolve::Typed;
use super::types::{self, describe};
use crate::language::Mistake;
use crate::language::syntax::{Name, Span};
use crate::stream::OutputStream;
use crate::value::{Columns, StreamType, Type};

/// A selected column.
#[derive(Debug)]
pub(super) struct Selected {
    pub(super) name: Arc<str>,
    pub(super) span: Span,
    pub(super) typed: Typed,
}

/// The columns of a statement's rows and the target of the rows.
#[derive(Debug)]
pub(super) struct Aim {
    pub(super) into: Option<Target>,
    pub(super) columns: Arc<Columns>,
    pub(super) select: Vec<Expression>,
    /// Whether the events of the only source are forwarded unchanged.
    pub(super) passes_on: bool,
}

impl Planner<'_> {
    /// Returns the type that a target column is known to have before the insert is planned.
    pub(super) fn wanted(&self, into: &Name, column: &str) -> Option<Type> {
        let of_rows = |columns: &Columns| Some(columns.0[columns.position(column)?].1.clone());
        if let Some(output) = OutputStream::of_name(&into.text) {
            return output.column(column).map(|column| column.type_.clone());
        }
        if let Some(window) = self.window(&into.text) {
            return match &self.windows[window].type_ {
                StreamType::Rows(columns) => of_rows(columns),
                StreamType::Input(_) => None,
            };
        }
        of_rows(&self.declares.get(&into.text).or_else(|| self.catalog.get(&into.text))?.columns)
    }

    /// Determines the target. `whole` is the type of the only source if the statement is `select *`.
    pub(super) fn aim(
        &mut self,
        into: Option<&Name>,
        selected: Vec<Selected>,
        whole: Option<&StreamType>,
    ) -> Result<Aim, Mistake> {
        let Some(into) = into else { return Ok(untouched(None, selected)) };
        if InputStream::of_name(&into.text).is_some() {
            let message =
                format!("nothing can be inserted into {}: it tells what happens in the platform", into.text);
            return Err(Mistake::new(into.span, message));
        }
        if let Some(output) = OutputStream::of_name(&into.text) {
            outputs::check(output, into, &selected)?;
            return Ok(untouched(Some(Target::Output(output)), selected));
        }
        if let Some(window) = self.window(&into.text) {
            return self.aim_at_window(window, into, selected, whole);
        }
        let declared = self.declare_by_insert(into, &selected)?;
        arranged(Target::Named(into.text.clone()), declared, into, selected, whole)
    }

    fn aim_at_window(
        &self,
        window: usize,
        into: &Name,
        selected: Vec<Selected>,
        whole: Option<&StreamType>,
    ) -> Result<Aim, Mistake> {
        match &self.windows[window].type_ {
            StreamType::Input(stream) if whole == Some(&StreamType::Input(*stream)) => {
                Ok(Aim { passes_on: true, ..untouched(Some(Target::Window(window)), selected) })
            }
            StreamType::Input(stream) => {
                let stream = stream.words().0;
                let message =
                    format!("'{}' holds events of {stream}: insert by 'select * from {stream}'", into.text);
                Err(Mistake::new(into.span, message))
            }
            StreamType::Rows(columns) => {
                let (columns, module) = (columns.clone(), self.name.clone());
                let declared = Declared { columns, manner: Manner::Schema, module };
                arranged(Target::Window(window), declared, into, selected, whole)
            }
        }
    }

    /// Declares a stream with the columns of the first insert, which may be in this or in another module.
    fn declare_by_insert(&mut self, into: &Name, selected: &[Selected]) -> Result<Declared, Mistake> {
        if let Some(declared) = self.declares.get(&into.text) {
            return Ok(declared.clone());
        }
        let declared = match self.catalog.get(&into.text) {
            Some(elsewhere) => elsewhere.clone(),
            None => {
                self.check_free(into)?;
                let columns = columns_of(selected);
                if !is_small(&columns) {
                    return Err(Mistake::new(into.span, "the columns hold rows of rows of too many columns"));
                }
                self.warn_of_stream(into);
                Declared { columns, manner: Manner::Insert, module: self.name.clone() }
            }
        };
        let own = Declared { module: self.name.clone(), ..declared.clone() };
        self.declares.insert(into.text.clone(), own);
        Ok(declared)
    }
}

fn untouched(into: Option<Target>, selected: Vec<Selected>) -> Aim {
    let columns = columns_of(&selected);
    let select = selected.into_iter().map(|one| one.typed.expression).collect();
    Aim { into, columns, select, passes_on: false }
}

fn columns_of(selected: &[Selected]) -> Arc<Columns> {
    Arc::new(Columns(selected.iter().map(|one| (one.name.clone(), one.typed.type_.clone())).collect()))
}

/// Returns the rows with the columns in the order of the target. Events that have these columns already are
/// forwarded unchanged.
fn arranged(
    target: Target,
    declared: Declared,
    into: &Name,
    selected: Vec<Selected>,
    whole: Option<&StreamType>,
) -> Result<Aim, Mistake> {
    let passes_on = matches!(whole, Some(StreamType::Rows(rows)) if *rows == declared.columns);
    let select = arrange(&declared, into, selected)?;
    Ok(Aim { into: Some(target), columns: declared.columns, select, passes_on })
}

/// Arranges the selected columns in the order of the stream's columns. Omitted columns are null where that is
/// allowed.
fn arrange(declared: &Declared, into: &Name, selected: Vec<Selected>) -> Result<Vec<Expression>, Mistake> {
    let Declared { columns, manner, module } = declared;
    let mut arranged: Vec<Option<Expression>> = columns.0.iter().map(|_| None).collect();
    let places: HashMap<&str, usize> =
        columns.0.iter().enumerate().map(|(at, (name, _))| (&**name, at)).collect();
    for Selected { name, span, typed } in selected {
        let stream = || format!("'{}' (module {module})", into.text);
        let at = places.get(&*name).copied().ok_or_else(|| {
            let known = enumerate(columns.0.iter().map(|(name, _)| name));
            Mistake::new(span, format!("no column '{name}' of {}; there are {known}", stream()))
        })?;
        let wanted = &columns.0[at].1;
        let given = describe(&typed.type_);
        arranged[at] = Some(types::fit(typed, wanted).ok_or_else(|| {
            Mistake::new(span, format!("'{name}' of {} is {}, this is {given}", stream(), describe(wanted)))
        })?);
    }
    let missing =
        columns.0.iter().zip(&arranged).filter(|(_, value)| value.is_none()).map(|((name, _), _)| name);
    let missing: Vec<_> = missing.collect();
    if *manner == Manner::Insert && !missing.is_empty() {
        let message =
            format!("others insert {} too into '{}' (module {module})", enumerate(missing), into.text);
        return Err(Mistake::new(into.span, message));
    }
    Ok(arranged.into_iter().map(|value| value.unwrap_or_else(|| Typed::null().expression)).collect())
}
