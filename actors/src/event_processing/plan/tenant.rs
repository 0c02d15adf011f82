//! All modules of a tenant, planned against each other.
//!
//! A module is planned when everything it needs is declared; so their order does not matter, but for streams that two of them
//! declare otherwise: then the one that stands first wins. Schemas are known before anything is planned, so that two modules that
//! read from each other can be planned as long as schemas say what they read.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::catalog::Catalog;
use super::module::{Planner, declared_by};
use super::{ModulePlan, plan};
use crate::event_processing::language::syntax::{Module, Name, Pattern, SourceKind, StatementKind};
use crate::event_processing::language::{Mistake, parse};
use crate::event_processing::stream::{InputStream, OutputStream};
use crate::model::id::ModuleId;

/// What became of modules that were planned together.
#[derive(Debug, Default)]
pub(crate) struct Planned {
    pub(crate) plans: HashMap<ModuleId, Arc<ModulePlan>>,
    /// Those that are wrong, or do not go together with the others; and why, as their author is shown it.
    pub(crate) refused: HashMap<ModuleId, String>,
}

/// One of them.
struct Candidate<'a> {
    id: ModuleId,
    text: &'a str,
    module: Module,
    /// Streams that others must declare before it can be planned.
    needs: HashSet<Arc<str>>,
    /// Those after which it is planned, because they stand before it and want another type of one of its streams.
    after: HashSet<usize>,
}

/// How often the work may begin anew because of two that contradict each other; then whoever is planned first is right.
const MAX_ROUNDS: usize = 32;

/// Plans all modules of a tenant: id, name in force and text of each. Where two contradict each other the one that stands first in
/// the slice wins.
pub(crate) fn plan_all(texts: &[(ModuleId, Arc<str>, Arc<str>)]) -> Planned {
    let mut planned = Planned::default();
    let mut candidates = Vec::new();
    for (id, name, text) in texts {
        match parse(text) {
            Ok(mut module) => {
                module.name.text = name.clone();
                let (needs, after) = (needs(&module), HashSet::new());
                candidates.push(Candidate { id: *id, text, module, needs, after });
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
                drop(candidates[later].after.insert(first))
            }
            Attempt::Contradicted { first, .. } => {
                // Their contradictions have no end: the one that was not planned is told so.
                let candidate = &candidates[first];
                let message = "it contradicts another module, and needs one that contradicts it";
                left_out.insert(first, Mistake::new(candidate.module.name.span, message));
            }
        }
    };
    for (at, mistake) in left_out {
        planned.refused.insert(candidates[at].id, mistake.shown(candidates[at].text).to_string());
    }
    planned.plans = plans.into_iter().map(|(at, plan)| (candidates[at].id, Arc::new(plan))).collect();
    planned
}

/// What came of planning all that are left.
enum Attempt {
    /// All of them.
    Planned(BTreeMap<usize, ModulePlan>),
    /// These cannot be planned; what they declared must be forgotten by all others.
    LeftOut(HashMap<usize, Mistake>),
    /// `later` was planned before `first`, which does not go together with it.
    Contradicted { first: usize, later: usize },
}

fn attempt(candidates: &[Candidate<'_>], left_out: &HashMap<usize, Mistake>) -> Attempt {
    let mut waiting: Vec<usize> = (0..candidates.len()).filter(|at| !left_out.contains_key(at)).collect();
    let (mut catalog, mut owners) = schemas(candidates, &waiting);
    let (mut plans, mut wrong) = (BTreeMap::new(), HashMap::new());
    loop {
        let is_ready = |at: &usize| candidates[*at].needs.iter().all(|need| catalog.contains_key(need));
        let is_its_turn = |at: &usize| candidates[*at].after.iter().all(|first| !waiting.contains(first));
        let ready = waiting.iter().copied().filter(is_ready);
        // If all that is ready waits for what is not, turns are no more kept.
        let next = ready.clone().find(is_its_turn).or_else(|| ready.clone().next());
        // What is never ready is planned too: so its mistake is found.
        let Some(at) = next.or_else(|| waiting.first().copied()) else { break };
        waiting.retain(|other| *other != at);
        let candidate = &candidates[at];
        match plan(&candidate.module, &catalog) {
            Ok(plan) => {
                for (name, declared) in &plan.declares {
                    owners.entry(name.clone()).or_insert(at);
                    catalog.entry(name.clone()).or_insert_with(|| declared.clone());
                }
                plans.insert(at, plan);
            }
            Err(mistake) => match contradicted(candidate, at, &catalog, &owners, &plans) {
                Some(later) if !candidates[later].after.contains(&at) => {
                    return Attempt::Contradicted { first: at, later };
                }
                _ => drop(wrong.insert(at, mistake)),
            },
        }
    }
    if wrong.is_empty() { Attempt::Planned(plans) } else { Attempt::LeftOut(wrong) }
}

/// A module that stands later and was planned already, without whose streams this one could be.
fn contradicted(
    candidate: &Candidate<'_>,
    at: usize,
    catalog: &Catalog,
    owners: &HashMap<Arc<str>, usize>,
    plans: &BTreeMap<usize, ModulePlan>,
) -> Option<usize> {
    let own = declared_by(&candidate.module);
    let is_of_later =
        |name: &Arc<str>| owners.get(name).is_some_and(|owner| *owner > at && plans.contains_key(owner));
    let mut reduced = catalog.clone();
    reduced.retain(|name, _| !(own.contains(name) && is_of_later(name)));
    plan(&candidate.module, &reduced).ok()?;
    own.iter().filter(|name| is_of_later(name)).filter_map(|name| owners.get(name).copied()).min()
}

/// The schemas that can be known before anything is planned, and whose they are.
fn schemas(candidates: &[Candidate<'_>], among: &[usize]) -> (Catalog, HashMap<Arc<str>, usize>) {
    let (mut catalog, mut owners) = (Catalog::new(), HashMap::new());
    loop {
        let before = catalog.len();
        for at in among {
            for (name, declared) in schemas_of(&candidates[*at].module, &catalog) {
                if !catalog.contains_key(&name) {
                    owners.insert(name.clone(), *at);
                    catalog.insert(name, declared);
                }
            }
        }
        if catalog.len() == before {
            return (catalog, owners);
        }
    }
}

/// The schemas of a module whose types are known.
fn schemas_of(module: &Module, catalog: &Catalog) -> Catalog {
    let mut planner = Planner::new(module, catalog);
    for statement in &module.statements {
        if let StatementKind::CreateSchema { name, columns } = &statement.kind {
            // One that cannot be made now is a mistake of its module, told when that is planned.
            let _ = planner.create_schema(name, columns);
        }
    }
    planner.declares
}

/// The streams that a module reads and neither declares itself nor finds in the platform. What it could do without is none.
fn needs(module: &Module) -> HashSet<Arc<str>> {
    let (mut read, mut own) = (Vec::<&Name>::new(), declared_by(module));
    for statement in &module.statements {
        match &statement.kind {
            StatementKind::Select(select) => {
                for source in &select.sources {
                    match &source.kind {
                        SourceKind::Stream { name, .. } => read.push(name),
                        SourceKind::Pattern(pattern) => read_by(pattern, &mut read),
                    }
                }
            }
            StatementKind::CreateContext { partitions, .. } => {
                read.extend(partitions.iter().map(|one| &one.stream.name))
            }
            StatementKind::OnSet { trigger, .. } | StatementKind::OnDelete { trigger, .. } => {
                read.push(&trigger.name)
            }
            // One of the two is the window's own name.
            StatementKind::CreateWindow { first, second, .. } => {
                own.extend([first.text.clone(), second.text.clone()])
            }
            _ => {}
        }
    }
    let is_fixed = |name: &str| InputStream::of_name(name).is_some() || OutputStream::of_name(name).is_some();
    let read = read.into_iter().map(|name| &name.text);
    read.filter(|name| !own.contains(*name) && !is_fixed(name)).cloned().collect()
}

fn read_by<'m>(pattern: &'m Pattern, read: &mut Vec<&'m Name>) {
    match pattern {
        Pattern::Event { stream, .. } => read.push(stream),
        Pattern::Every(inner) | Pattern::Not(inner, _) => read_by(inner, read),
        Pattern::And(parts) | Pattern::Or(parts) | Pattern::FollowedBy(parts) => {
            parts.iter().for_each(|part| read_by(part, read));
        }
        Pattern::Interval(_) | Pattern::At(..) => {}
    }
}
