//! Decides the result of a change of a module from all modules of the tenant: the change itself, and the modules that
//! do not run any more because of it.

use std::sync::Arc;

use platform_epl::language::parse;
use platform_epl::plan::tenant::{Planned, plan_all};
use platform_model::error::{Error, Noun, Result};
use platform_model::id::ModuleId;
use platform_model::realtime::input_stream::InputStreams;
use platform_model::realtime::module::{Module, ModulePatch, ModuleStatus, StatementOff, check_name};
use platform_model::tenancy::tenant::TenantLimit;
use platform_model::timestamp::Timestamp;
use platform_store::applications::modules::changes::{ModuleChange, StoredModule};

use crate::event_processing::module_actor::Deployment;

/// The input for planning a module: its id, the name in force, its text.
pub(crate) type Text = (ModuleId, Arc<str>, Arc<str>);

/// The rows to change, and the requested module as it is afterwards.
pub(crate) type Decided = Result<(Vec<ModuleChange>, Module)>;

/// A text to be deployed under a new id.
#[derive(Debug, Clone)]
pub(crate) struct NewModule {
    pub(crate) id: ModuleId,
    pub(crate) text: Arc<str>,
    pub(crate) now: Timestamp,
}

/// Deploys a text, unless the tenant has as many modules as it may have (Z-20).
///
/// # Errors
/// `Invalid` shows the first mistake of the text; `QuotaExceeded`; `Duplicate` for a name that is in use.
pub(crate) fn deploy(stored: &[StoredModule], new: &NewModule, most: Option<u64>) -> Decided {
    let (name, used) = (TenantLimit::Modules.as_str(), stored.len() as u64);
    if let Some(allowed) = most.filter(|most| used >= *most) {
        return Err(Error::QuotaExceeded { name, allowed, used });
    }
    insert(stored, new, Vec::new())
}

/// Deploys a text in place of another module, which is removed.
///
/// # Errors
/// The errors of [`deploy`]; `NotFound` when the module does not exist.
pub(crate) fn replace(stored: &[StoredModule], old: ModuleId, new: &NewModule) -> Decided {
    let (old, others) = split(stored, old)?;
    insert(&others, new, vec![ModuleChange::Delete(old.module)])
}

/// Renames, deploys or undeploys a module. A property that already has the requested value stays as it is.
///
/// # Errors
/// `NotFound`; `Duplicate` for a name that is in use; `Invalid` shows why a module cannot be deployed.
pub(crate) fn update(stored: &[StoredModule], id: ModuleId, patch: &ModulePatch, now: Timestamp) -> Decided {
    let (StoredModule { mut module, text, .. }, others) = split(stored, id)?;
    let mut changes = Vec::new();
    if let Some(name) = patch.name.as_ref().filter(|name| **name != module.name) {
        check_free(&others, name)?;
        let before = std::mem::replace(&mut module.name, name.clone());
        module.last_modified = now;
        changes.push(ModuleChange::Rename { module: module.clone(), before });
    }
    let Some(status) = patch.status.filter(|status| *status != module.status) else {
        return Ok((changes, module));
    };
    (module.status, module.last_modified) = (status, now);
    let deployed = status == ModuleStatus::Deployed;
    let candidate = deployed.then(|| (id, module.name.as_str().into(), text.clone()));
    let planned = planned(&others, candidate);
    if deployed {
        accepted(&planned, id)?;
        module.switched_off.clear();
        module.warnings = planned.warnings(id, &text);
        changes.push(ModuleChange::Deploy(module.clone()));
    } else {
        changes.push(ModuleChange::Undeploy { module: module.clone(), reason: None })
    }
    changes.extend(changes_of_others(&others, &planned, now));
    Ok((changes, module))
}

/// Deletes a module.
///
/// # Errors
/// `NotFound`.
pub(crate) fn delete(stored: &[StoredModule], id: ModuleId, now: Timestamp) -> Decided {
    let (StoredModule { module, .. }, others) = split(stored, id)?;
    let mut changes = vec![ModuleChange::Delete(module.clone())];
    if module.status == ModuleStatus::Deployed {
        changes.extend(changes_of_others(&others, &planned(&others, None), now));
    }
    Ok((changes, module))
}

/// Undeploys a module that cannot continue, and those that depend on it. Returns its name, unless it was
/// undeployed or redeployed meanwhile; then it does not change.
///
/// # Errors
/// None.
pub(crate) fn switch_off(
    stored: &[StoredModule],
    deployment: Deployment,
    reason: &str,
    now: Timestamp,
) -> Result<(Vec<ModuleChange>, Option<String>)> {
    let (own, others): (Vec<_>, Vec<_>) = stored.iter().cloned().partition(|one| is_from(one, deployment));
    let Some(StoredModule { module, .. }) = own.into_iter().next() else { return Ok((Vec::new(), None)) };
    let name = module.name.clone();
    let module = Module { status: ModuleStatus::NotDeployed, last_modified: now, ..module };
    let mut changes = vec![ModuleChange::Undeploy { module, reason: Some(reason.to_owned()) }];
    changes.extend(changes_of_others(&others, &planned(&others, None), now));
    Ok((changes, Some(name)))
}

/// Records statements that were switched off, while their module continues. Returns its name, unless it was
/// undeployed or redeployed meanwhile.
///
/// # Errors
/// None.
pub(crate) fn switch_off_statements(
    stored: &[StoredModule],
    deployment: Deployment,
    off: &[StatementOff],
) -> Result<(Vec<ModuleChange>, Option<String>)> {
    let Some(StoredModule { module, .. }) = stored.iter().find(|one| is_from(one, deployment)) else {
        return Ok((Vec::new(), None));
    };
    let (mut module, off) = (module.clone(), off.to_vec());
    module.switched_off.extend(off.iter().cloned());
    let name = module.name.clone();
    Ok((vec![ModuleChange::SwitchOff { module, off }], Some(name)))
}

/// Records that a module restarted and may have missed events. Returns its name, unless it was undeployed or
/// redeployed meanwhile.
///
/// # Errors
/// None.
pub(crate) fn restarted(
    stored: &[StoredModule],
    deployment: Deployment,
    reason: &str,
) -> Result<(Vec<ModuleChange>, Option<String>)> {
    let Some(StoredModule { module, .. }) = stored.iter().find(|one| is_from(one, deployment)) else {
        return Ok((Vec::new(), None));
    };
    let change = ModuleChange::Restart { module: module.clone(), reason: reason.to_owned() };
    Ok((vec![change], Some(module.name.clone())))
}

fn insert(others: &[StoredModule], new: &NewModule, mut changes: Vec<ModuleChange>) -> Decided {
    let NewModule { id, text, now } = new;
    let parsed = parse(text).map_err(|mistake| Error::Invalid(mistake.shown(text).to_string()))?;
    let name = parsed.name.text;
    check_name(&name)?;
    check_free(others, &name)?;
    let planned = planned(others, Some((*id, name.clone(), text.clone())));
    let inputs = accepted(&planned, *id)?;
    let module = Module {
        id: *id,
        name: name.to_string(),
        status: ModuleStatus::Deployed,
        last_modified: *now,
        switched_off: Vec::new(),
        warnings: planned.warnings(*id, text),
    };
    changes.push(ModuleChange::Insert { module: module.clone(), text: text.clone(), inputs });
    changes.extend(changes_of_others(others, &planned, *now));
    Ok((changes, module))
}

/// Separates one module from the others.
fn split(stored: &[StoredModule], id: ModuleId) -> Result<(StoredModule, Vec<StoredModule>)> {
    let (one, others): (Vec<_>, Vec<_>) = stored.iter().cloned().partition(|one| one.module.id == id);
    Ok((one.into_iter().next().ok_or_else(|| Error::not_found(Noun::Module, id))?, others))
}

fn check_free(others: &[StoredModule], name: &str) -> Result<()> {
    if others.iter().any(|other| other.module.name == name) {
        Err(Error::Duplicate { noun: Noun::Module, key: name.to_owned() })
    } else {
        Ok(())
    }
}

/// Plans the deployed modules together with one more, which comes last, so that a conflict is its mistake.
fn planned(others: &[StoredModule], candidate: Option<Text>) -> Planned {
    let deployed = others.iter().filter(|other| other.module.status == ModuleStatus::Deployed);
    let texts = deployed.map(to_plan).chain(candidate);
    plan_all(&texts.collect::<Vec<_>>())
}

/// Returns the input streams of a module, or its mistake when it cannot be planned.
fn accepted(planned: &Planned, id: ModuleId) -> Result<InputStreams> {
    if let Some(mistake) = planned.refused.get(&id) {
        return Err(Error::Invalid(mistake.clone()));
    }
    let plan = planned.plans.get(&id).ok_or_else(|| Error::unavailable("the module was not planned"))?;
    Ok(plan.inputs)
}

/// Returns the changes of the other modules: those that cannot run any more, and those whose warnings changed.
fn changes_of_others(others: &[StoredModule], planned: &Planned, now: Timestamp) -> Vec<ModuleChange> {
    let change = |other: &StoredModule| {
        let mut module = other.module.clone();
        if let Some(mistake) = planned.refused.get(&module.id) {
            (module.status, module.last_modified) = (ModuleStatus::NotDeployed, now);
            let reason = Some(format!("it needs another module that changed: {mistake}"));
            return Some(ModuleChange::Undeploy { module, reason });
        }
        planned.plans.get(&module.id)?;
        module.warnings = planned.warnings(module.id, &other.text);
        (module.warnings != other.module.warnings).then_some(ModuleChange::Warn(module))
    };
    others.iter().filter_map(change).collect()
}

/// Returns whether a module is deployed, and still by this deployment.
fn is_from(stored: &StoredModule, deployment: Deployment) -> bool {
    let own = Deployment { module: stored.module.id, number: stored.deployment };
    stored.module.status == ModuleStatus::Deployed && own == deployment
}

/// Returns the input for planning a module.
pub(crate) fn to_plan(stored: &StoredModule) -> Text {
    (stored.module.id, stored.module.name.as_str().into(), stored.text.clone())
}

#[cfg(test)]
mod tests;
