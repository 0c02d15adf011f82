//! Plans a module, statement by statement. Each statement sees the declarations above it.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use platform_model::realtime::input_stream::{InputStream, InputStreams};

use super::catalog::{Catalog, enumerate};
use super::resolve::Access;
use super::warnings::Warning;
use super::{ContextPlan, ModulePlan, StatementKind, StatementPlan, Stream, VariablePlan, WindowPlan};
use crate::language::Mistake;
use crate::language::syntax::{self, Module, Name, Span, VariableKind};
use crate::stream::OutputStream;
use crate::value::{Columns, StreamType};

/// The maximum number of expression nodes of a module, counting a declared expression again at each use,
/// because every node occupies memory as long as the module runs.
const MAX_PARTS: usize = 100_000;

/// An expression that the module declares.
#[derive(Debug, Clone)]
pub(super) struct Declaration<'a> {
    pub(super) type_: Option<crate::value::Type>,
    pub(super) parameters: &'a [Name],
    pub(super) body: &'a syntax::Expression,
}

/// The state while a module is planned: what the statements so far have declared.
#[derive(Debug)]
pub(super) struct Planner<'a> {
    pub(super) name: Arc<str>,
    /// The index of the statement that is being planned.
    pub(super) at: usize,
    pub(super) catalog: &'a Catalog,
    /// The streams that the module declares anywhere in its text. They take precedence over the streams of
    /// other modules.
    own: HashSet<Arc<str>>,
    pub(super) declares: Catalog,
    uses: Catalog,
    pub(super) variables: Vec<VariablePlan>,
    kinds: Vec<VariableKind>,
    variable_places: HashMap<Arc<str>, usize>,
    pub(super) windows: Vec<WindowPlan>,
    window_places: HashMap<Arc<str>, usize>,
    pub(super) contexts: Vec<ContextPlan>,
    pub(super) context_places: HashMap<Arc<str>, usize>,
    pub(super) expressions: HashMap<Arc<str>, Declaration<'a>>,
    streams: Vec<Stream>,
    stream_places: HashMap<Arc<str>, usize>,
    inputs: InputStreams,
    pub(super) looks_up: Cell<bool>,
    pub(super) warnings: RefCell<Vec<Warning>>,
    parts: Cell<usize>,
}

/// A stream that a statement reads.
#[derive(Debug, Clone)]
pub(super) struct ReadStream {
    /// An index into the module's streams.
    pub(super) place: usize,
    pub(super) type_: StreamType,
    pub(super) access: Access,
}

/// Plans a module against the catalog of the tenant's other modules.
///
/// # Errors
/// Returns the first mistake: an unknown name, incompatible types, or a stream that another module declares
/// differently.
pub fn plan(module: &Module, catalog: &Catalog) -> Result<ModulePlan, Mistake> {
    let mut planner = Planner::new(module, catalog);
    let mut statements = Vec::with_capacity(module.statements.len());
    for (at, statement) in module.statements.iter().enumerate() {
        planner.at = at;
        let kind = planner.statement(statement)?;
        statements.push(StatementPlan { name: statement.name.text.clone(), kind });
    }
    Ok(ModulePlan {
        statements,
        variables: planner.variables,
        windows: planner.windows,
        contexts: planner.contexts,
        streams: planner.streams,
        inputs: planner.inputs,
        declares: planner.declares,
        uses: planner.uses,
        warnings: planner.warnings.into_inner(),
        looks_up: planner.looks_up.get(),
    })
}

/// Returns the streams that a module declares: its schemas, and the streams it inserts into that are neither
/// windows nor built-in streams.
pub(super) fn declared_by(module: &Module) -> HashSet<Arc<str>> {
    let declared = module.statements.iter().filter_map(|statement| match &statement.kind {
        syntax::StatementKind::CreateSchema { name, .. } => Some(name),
        syntax::StatementKind::Select(select) => select.into.as_ref(),
        _ => None,
    });
    declared.map(|name| name.text.clone()).filter(|name| OutputStream::of_name(name).is_none()).collect()
}

impl<'a> Planner<'a> {
    pub(super) fn new(module: &Module, catalog: &'a Catalog) -> Self {
        Self {
            name: module.name.text.clone(),
            at: 0,
            catalog,
            own: declared_by(module),
            declares: Catalog::new(),
            uses: Catalog::new(),
            variables: Vec::new(),
            kinds: Vec::new(),
            variable_places: HashMap::new(),
            windows: Vec::new(),
            window_places: HashMap::new(),
            contexts: Vec::new(),
            context_places: HashMap::new(),
            expressions: HashMap::new(),
            streams: Vec::new(),
            stream_places: HashMap::new(),
            inputs: InputStreams::default(),
            looks_up: Cell::new(false),
            warnings: RefCell::default(),
            parts: Cell::new(MAX_PARTS),
        }
    }

    fn statement(&mut self, statement: &'a syntax::Statement) -> Result<StatementKind, Mistake> {
        use syntax::StatementKind as Tree;
        match &statement.kind {
            Tree::Select(select) => return Ok(StatementKind::Select(Box::new(self.select(select)?))),
            Tree::OnSet { trigger, assignments } => return self.set(trigger, assignments),
            Tree::OnDelete { trigger, window, alias, condition } => {
                return self.delete(trigger, window, alias.as_ref(), condition.as_ref());
            }
            Tree::CreateSchema { name, columns } => self.create_schema(name, columns)?,
            Tree::CreateContext { name, partitions } => self.create_context(name, partitions)?,
            Tree::CreateVariable { kind, type_, name, value } => {
                self.create_variable(*kind, type_, name, value.as_ref())?;
            }
            Tree::CreateWindow { first, view, second } => self.create_window(first, view, second)?,
            Tree::CreateExpression { type_, name, parameters, body } => {
                self.create_expression(type_.as_ref(), name, parameters, body)?;
            }
        }
        Ok(StatementKind::Declaration)
    }

    /// Counts expression nodes against the limit.
    pub(super) fn spend(&self, parts: usize, span: Span) -> Result<(), Mistake> {
        let left = self.parts.get().checked_sub(parts).ok_or_else(|| {
            Mistake::new(
                span,
                format!("a module has at most {MAX_PARTS} parts of expressions, with declared ones put in"),
            )
        })?;
        self.parts.set(left);
        Ok(())
    }

    pub(super) fn variable(&self, name: &str) -> Option<usize> {
        self.variable_places.get(name).copied()
    }

    pub(super) fn variable_names(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(|variable| &*variable.name)
    }

    pub(super) fn variable_kind(&self, variable: usize) -> VariableKind {
        self.kinds[variable]
    }

    pub(super) fn add_variable(&mut self, kind: VariableKind, variable: VariablePlan) {
        self.variable_places.insert(variable.name.clone(), self.variables.len());
        self.variables.push(variable);
        self.kinds.push(kind);
    }

    pub(super) fn window(&self, name: &str) -> Option<usize> {
        self.window_places.get(name).copied()
    }

    pub(super) fn add_window(&mut self, window: WindowPlan) {
        self.window_places.insert(window.name.clone(), self.windows.len());
        self.windows.push(window);
    }

    pub(super) fn has_expression(&self, name: &str) -> bool {
        self.expressions.contains_key(name)
    }

    pub(super) fn expression(&self, name: &str) -> Option<Declaration<'a>> {
        self.expressions.get(name).cloned()
    }

    /// Returns the index of a stream among the streams of the module, and adds it if necessary.
    pub(super) fn read(&mut self, name: &Name) -> Result<ReadStream, Mistake> {
        let (stream, type_, access) = match self.window(&name.text) {
            Some(window) => (Stream::Window(window), self.windows[window].type_.clone(), Access::ByIndex),
            None => {
                let (type_, access) = self.known_type(name)?.ok_or_else(|| self.no_stream(name))?;
                let stream = match &type_ {
                    StreamType::Input(stream) => {
                        self.inputs.insert(*stream);
                        Stream::Input(*stream)
                    }
                    StreamType::Rows(columns) => Stream::Named(name.text.clone(), columns.clone()),
                };
                (stream, type_, access)
            }
        };
        let place = *self.stream_places.entry(name.text.clone()).or_insert(self.streams.len());
        if place == self.streams.len() {
            self.streams.push(stream);
        }
        Ok(ReadStream { place, type_, access })
    }

    /// Returns the type that a window can be created from.
    pub(super) fn declared_type(&mut self, name: &Name) -> Option<StreamType> {
        let is_open = self.own.contains(&name.text) && !self.declares.contains_key(&name.text);
        if is_open { None } else { self.known_type(name).ok().flatten().map(|(type_, _)| type_) }
    }

    /// Returns the event type of a stream or schema. Named windows are neither.
    pub(super) fn known_type(&mut self, name: &Name) -> Result<Option<(StreamType, Access)>, Mistake> {
        if let Some(input) = InputStream::of_name(&name.text) {
            return Ok(Some((StreamType::Input(input), Access::ByIndex)));
        }
        if let Some(output) = OutputStream::of_name(&name.text) {
            let columns =
                output.columns().iter().map(|column| (Arc::from(column.name), column.type_.clone()));
            let columns = Arc::new(Columns(columns.collect()));
            return Ok(Some((StreamType::Rows(columns), Access::ByName)));
        }
        if let Some(declared) = self.declares.get(&name.text) {
            return Ok(Some((StreamType::Rows(declared.columns.clone()), Access::ByIndex)));
        }
        if self.own.contains(&name.text) {
            let message = format!(
                "'{}' is declared further below; what is read stands above, if need be by 'create schema'",
                name.text
            );
            return Err(Mistake::new(name.span, message));
        }
        Ok(self.catalog.get(&name.text).map(|declared| {
            self.uses.insert(name.text.clone(), declared.clone());
            (StreamType::Rows(declared.columns.clone()), Access::ByIndex)
        }))
    }

    /// Checks that a name is free for a stream or window.
    pub(super) fn check_free(&self, name: &Name) -> Result<(), Mistake> {
        let taken =
            if InputStream::of_name(&name.text).is_some() || OutputStream::of_name(&name.text).is_some() {
                "a stream of the platform"
            } else if self.window(&name.text).is_some() {
                "a window of this module"
            } else if self.declares.contains_key(&name.text) {
                "a stream of this module"
            } else {
                return Ok(());
            };
        Err(Mistake::new(name.span, format!("'{}' is {taken} already", name.text)))
    }

    fn no_stream(&self, name: &Name) -> Mistake {
        let own = self
            .declares
            .keys()
            .chain(self.window_places.keys())
            .chain(self.catalog.keys())
            .map(|name| &**name);
        let inputs = InputStream::ALL.iter().map(|stream| stream.words().0);
        let mut own: Vec<_> = own.collect();
        own.sort_unstable();
        own.dedup();
        let declared =
            if own.is_empty() { String::new() } else { format!(", and declared {}", enumerate(own)) };
        Mistake::new(
            name.span,
            format!("no stream '{}'; there are {}{declared}", name.text, enumerate(inputs)),
        )
    }
}
