//! Plans all modules of a tenant against each other.
//!
//! A module is planned when everything it needs is declared, so the order of the modules does not matter. The
//! exception is a stream that two modules declare differently: the first of them wins. Schemas are collected
//! before anything is planned, so two modules can read from each other if schemas declare what they read.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use platform_model::id::ModuleId;
use platform_model::realtime::input_stream::InputStream;

use super::catalog::Catalog;
use super::module::{Planner, declared_by};
use super::{ModulePlan, plan, types};
use crate::language::syntax::{Module, Name, Pattern, SourceKind, Statement, StatementKind, TypeName};
use crate::language::{Mistake, parse};
use crate::stream::OutputStream;

/// The result of planning the modules of a tenant together.
#[derive(Debug, Default)]
pub struct Planned {
    /// The plans of the modules that are valid.
    pub plans: HashMap<ModuleId, Arc<ModulePlan>>,
    /// The modules that are invalid or conflict with others, with the message for their author.
    pub refused: HashMap<ModuleId, String>,
}

impl Planned {
    /// Returns warnings about likely slips in a module with this text, given the other modules.
    pub fn warnings(&self, id: ModuleId, text: &str) -> Vec<String> {
        self.plans.get(&id).map_or_else(Vec::new, |plan| plan.warnings(text, self.plans.values()))
    }
}

/// A module that is to be planned.
struct Candidate<'a> {
    id: ModuleId,
    text: &'a str,
    module: Module,
    /// Streams that must be declared before the module can be planned. One stream of each group suffices.
    needs: Vec<Vec<Arc<str>>>,
    /// All streams that the module names. The result of planning depends only on these.
    mentions: HashSet<Arc<str>>,
    /// The modules that must be planned before this one: they come earlier and declare one of its streams
    /// differently.
    after: HashSet<usize>,
    /// The last result, with the declarations at that time of the streams that the module mentions.
    last: RefCell<Option<(Catalog, Outcome)>>,
}

type Outcome = Result<Arc<ModulePlan>, Mistake>;

impl<'a> Candidate<'a> {
    fn new(id: ModuleId, text: &'a str, module: Module) -> Self {
        let (mentions, needs) = (mentions(&module), needs(&module));
        Self { id, text, module, needs, mentions, after: HashSet::new(), last: RefCell::new(None) }
    }

    /// Plans the module, unless nothing it depends on has changed since the last time.
    fn plan(&self, catalog: &Catalog) -> Outcome {
        let mentioned = |name: &Arc<str>| Some((name.clone(), catalog.get(name)?.clone()));
        let seen: Catalog = self.mentions.iter().filter_map(mentioned).collect();
        let mut last = self.last.borrow_mut();
        if let Some((before, outcome)) = last.as_ref()
            && *before == seen
        {
            return outcome.clone();
        }
        let outcome = plan(&self.module, catalog).map(Arc::new);
        *last = Some((seen, outcome.clone()));
        outcome
    }
}

/// The maximum number of restarts because of conflicting modules. After that, the module that is planned first
/// wins.
const MAX_ROUNDS: usize = 32;

/// Plans all modules of a tenant, given as id, effective name and text. If two modules conflict, the earlier
/// one in the slice wins.
pub fn plan_all(texts: &[(ModuleId, Arc<str>, Arc<str>)]) -> Planned {
    let mut planned = Planned::default();
    let mut candidates = Vec::new();
    for (id, name, text) in texts {
        match parse(text) {
            Ok(mut module) => {
                module.name.text = name.clone();
                candidates.push(Candidate::new(*id, text, module));
            }
            Err(mistake) => drop(planned.refused.insert(*id, mistake.shown(text).to_string())),
        }
    }
    let mut left_out = HashMap::new();
    let mut rounds = 0;
    let plans = loop {
        rounds += 1;
        match attempt(&candidates, &left_out) {
            Attempt::Planned(plans) => break plans,
            Attempt::LeftOut(wrong) => left_out.extend(wrong),
            Attempt::Contradicted { first, later } if rounds < MAX_ROUNDS => {
                candidates[later].after.insert(first);
            }
            Attempt::Contradicted { first, .. } => {
                // The conflicts cannot be resolved, so the module that was not planned is rejected.
                let candidate = &candidates[first];
                let message = "it contradicts another module, and needs one that contradicts it";
                left_out.insert(first, Mistake::new(candidate.module.name.span, message));
            }
        }
    };
    for (at, mistake) in left_out {
        planned.refused.insert(candidates[at].id, mistake.shown(candidates[at].text).to_string());
    }
    planned.plans = plans.into_iter().map(|(at, plan)| (candidates[at].id, plan)).collect();
    planned
}

/// The result of an attempt to plan all remaining modules.
enum Attempt {
    /// All modules are planned.
    Planned(BTreeMap<usize, Arc<ModulePlan>>),
    /// These modules cannot be planned. The others must be planned again without their declarations.
    LeftOut(HashMap<usize, Mistake>),
    /// The module `later` declared its streams before `first`, which conflicts with them.
    Contradicted { first: usize, later: usize },
}

fn attempt(candidates: &[Candidate<'_>], left_out: &HashMap<usize, Mistake>) -> Attempt {
    let mut waiting: Vec<usize> = (0..candidates.len()).filter(|at| !left_out.contains_key(at)).collect();
    let (mut catalog, mut owners) = schemas(candidates, &waiting);
    let (mut plans, mut wrong) = (BTreeMap::new(), HashMap::new());
    loop {
        let is_ready = |at: &usize| {
            candidates[*at].needs.iter().all(|need| need.iter().any(|name| catalog.contains_key(name)))
        };
        let is_its_turn = |at: &usize| candidates[*at].after.iter().all(|first| !waiting.contains(first));
        let ready = waiting.iter().copied().filter(is_ready);
        // If every ready module waits for one that is not ready, the order is ignored.
        let next = ready.clone().find(is_its_turn).or_else(|| ready.clone().next());
        // Modules that never become ready are planned too, to find their mistakes.
        let tried: Vec<usize> = next.map_or_else(|| waiting.clone(), |next| vec![next]);
        if tried.is_empty() {
            break;
        }
        let outcomes = tried.into_iter().map(|at| (at, candidates[at].plan(&catalog)));
        let outcomes: Vec<_> = outcomes.collect();
        let good = outcomes.iter().find_map(|(at, outcome)| Some((*at, outcome.as_ref().ok()?.clone())));
        if let Some((at, plan)) = good {
            waiting.retain(|other| *other != at);
            for (name, declared) in &plan.declares {
                owners.entry(name.clone()).or_insert(at);
                catalog.entry(name.clone()).or_insert_with(|| declared.clone());
            }
            plans.insert(at, plan);
            continue;
        }
        for (at, mistake) in outcomes.into_iter().filter_map(|(at, outcome)| Some((at, outcome.err()?))) {
            waiting.retain(|other| *other != at);
            match contradicted(&candidates[at], at, &catalog, &owners) {
                Some(later) if !candidates[later].after.contains(&at) => {
                    return Attempt::Contradicted { first: at, later };
                }
                _ => drop(wrong.insert(at, mistake)),
            }
        }
    }
    if wrong.is_empty() { Attempt::Planned(plans) } else { Attempt::LeftOut(wrong) }
}

/// Returns a module that comes later, has already declared its streams and prevents this one from being
/// planned.
fn contradicted(
    candidate: &Candidate<'_>,
    at: usize,
    catalog: &Catalog,
    owners: &HashMap<Arc<str>, usize>,
) -> Option<usize> {
    let own = declared_by(&candidate.module);
    let is_of_later = |name: &Arc<str>| owners.get(name).is_some_and(|owner| *owner > at);
    let mut reduced = catalog.clone();
    reduced.retain(|name, _| !(own.contains(name) && is_of_later(name)));
    plan(&candidate.module, &reduced).ok()?;
    own.iter().filter(|name| is_of_later(name)).filter_map(|name| owners.get(name).copied()).min()
}

/// Returns the schemas that can be known before anything is planned, with the module that owns each.
fn schemas(candidates: &[Candidate<'_>], among: &[usize]) -> (Catalog, HashMap<Arc<str>, usize>) {
    let (mut catalog, mut owners) = (Catalog::new(), HashMap::new());
    loop {
        let before = catalog.len();
        // A module that must wait for others declares nothing yet.
        for at in among.iter().filter(|at| candidates[**at].after.is_empty()) {
            for (name, declared) in schemas_of(&candidates[*at].module, &catalog) {
                owners.entry(name.clone()).or_insert(*at);
                catalog.entry(name).or_insert(declared);
            }
        }
        if catalog.len() == before {
            return (catalog, owners);
        }
    }
}

/// Returns the schemas of a module whose types are known.
fn schemas_of(module: &Module, catalog: &Catalog) -> Catalog {
    let mut planner = Planner::new(module, catalog);
    for statement in &module.statements {
        if let StatementKind::CreateSchema { name, columns } = &statement.kind {
            // A schema that cannot be created is a mistake of its module, which is reported when the module is
            // planned.
            let _ = planner.create_schema(name, columns);
        }
    }
    planner.declares
}

/// Returns the streams that a module names but that neither it nor the platform declares. Streams that it does
/// not strictly need are excluded.
fn needs(module: &Module) -> Vec<Vec<Arc<str>>> {
    let own = declared_by(module);
    let is_fixed = |name: &str| InputStream::of_name(name).is_some() || OutputStream::of_name(name).is_some();
    let is_schema = |name: &Arc<str>| {
        let schema = |kind: &StatementKind| match kind {
            StatementKind::CreateSchema { name: schema, .. } => schema.text == *name,
            _ => false,
        };
        module.statements.iter().any(|statement| schema(&statement.kind))
    };
    let windows = windows(module);
    let is_of_window = |name: &Arc<str>| windows.iter().any(|window| window.contains(name));
    let alone = names(module).filter(|name| !own.contains(name) && !is_fixed(name) && !is_of_window(name));
    let alone: HashSet<_> = alone.collect();
    // One of the two names is the window itself, into which rows are inserted as into a stream.
    let is_known = |window: &&Vec<Arc<str>>| {
        window.iter().any(|name| is_fixed(name) || is_schema(name))
            || window.iter().all(|name| own.contains(name))
    };
    let open = windows.iter().filter(|window| !is_known(window)).cloned();
    alone.into_iter().map(|name| vec![name]).chain(open).collect()
}

/// Returns all streams that a module names.
fn mentions(module: &Module) -> HashSet<Arc<str>> {
    names(module).chain(declared_by(module)).chain(windows(module).into_iter().flatten()).collect()
}

/// Returns both names of each named window.
fn windows(module: &Module) -> Vec<Vec<Arc<str>>> {
    let names = |statement: &Statement| match &statement.kind {
        StatementKind::CreateWindow { first, second, .. } => {
            Some(vec![first.text.clone(), second.text.clone()])
        }
        _ => None,
    };
    module.statements.iter().filter_map(names).collect()
}

/// Returns the names of the streams that a module reads and of its types.
fn names(module: &Module) -> impl Iterator<Item = Arc<str>> {
    let mut read = Vec::<&Name>::new();
    for statement in &module.statements {
        match &statement.kind {
            StatementKind::Select(select) => select.sources.iter().for_each(|source| match &source.kind {
                SourceKind::Stream { name, .. } => read.push(name),
                SourceKind::Pattern(pattern) => read_by(pattern, &mut read),
            }),
            StatementKind::CreateContext { partitions, .. } => {
                read.extend(partitions.iter().map(|one| &one.stream.name));
            }
            StatementKind::OnSet { trigger, .. } | StatementKind::OnDelete { trigger, .. } => {
                read.push(&trigger.name)
            }
            StatementKind::CreateSchema { columns, .. } => {
                read.extend(columns.iter().filter_map(|(_, type_)| stream_of(type_)));
            }
            StatementKind::CreateVariable { type_, .. } => read.extend(stream_of(type_)),
            StatementKind::CreateExpression { type_, .. } => read.extend(type_.as_ref().and_then(stream_of)),
            StatementKind::CreateWindow { .. } => {}
        }
    }
    read.into_iter().map(|name| name.text.clone())
}

/// Returns the stream that a type name refers to, if it is not a built-in type of EPL.
fn stream_of(type_: &TypeName) -> Option<&Name> {
    (!type_.is_list && types::of_word(type_).is_none()).then_some(&type_.name)
}

fn read_by<'m>(pattern: &'m Pattern, read: &mut Vec<&'m Name>) {
    match pattern {
        Pattern::Event { stream, .. } => read.push(stream),
        Pattern::Every(inner) | Pattern::Not(inner, _) => read_by(inner, read),
        Pattern::Until { repeated, end } => [repeated, end].into_iter().for_each(|part| read_by(part, read)),
        Pattern::And(parts) | Pattern::Or(parts) | Pattern::FollowedBy(parts) => {
            parts.iter().for_each(|part| read_by(part, read));
        }
        Pattern::Interval(_) | Pattern::At(..) => {}
    }
}
