use super::*;

const SOURCE: &str = "module source;\ncreate schema Warm(t double);\n\
    insert into Warm select 20.0 as t from MeasurementCreated;\n";
const DEPENDENT: &str = "module dependent;\nselect w.t as t from Warm w;\n";
const OTHER: &str = "module other;\nselect 1 as n from EventCreated;\n";

fn time(text: &str) -> Timestamp {
    Timestamp::parse("time", text).unwrap()
}

fn then() -> Timestamp {
    time("2024-01-01T00:00:00.000Z")
}

fn now() -> Timestamp {
    time("2024-03-10T02:30:00.000Z")
}

fn new(id: i64, text: &str) -> NewModule {
    NewModule { id: ModuleId(id), text: text.into(), now: now() }
}

fn stored(id: i64, text: &str, status: ModuleStatus) -> StoredModule {
    let name = parse(text).unwrap().name.text.to_string();
    let module = Module {
        id: ModuleId(id),
        name,
        status,
        last_modified: then(),
        switched_off: vec![],
        warnings: vec![],
    };
    StoredModule { module, deployment: 1, text: text.into() }
}

fn deployed(id: i64, text: &str) -> StoredModule {
    stored(id, text, ModuleStatus::Deployed)
}

/// Returns the first deployment of a module.
fn first_of(id: i64) -> Deployment {
    Deployment { module: ModuleId(id), number: 1 }
}

fn too_much(statement: &str) -> StatementOff {
    StatementOff { statement: statement.into(), reason: "too much".into() }
}

/// Describes each change: its kind, its module, and the new state.
fn said(changes: &[ModuleChange]) -> Vec<String> {
    let said = |change: &ModuleChange| {
        let Module { id, name, status, .. } = change.module();
        let deed = match change {
            ModuleChange::Insert { inputs, .. } => format!("insert, reads {:b}", inputs.bits()),
            ModuleChange::Rename { before, .. } => format!("rename {before}"),
            ModuleChange::Deploy(_) => "deploy".into(),
            ModuleChange::Undeploy { reason: None, .. } => "undeploy".into(),
            ModuleChange::Undeploy { reason: Some(_), .. } => "switch off".into(),
            ModuleChange::Restart { reason, .. } => format!("restarted: {reason}"),
            ModuleChange::SwitchOff { off, .. } => format!("without {}", StatementOff::shown(off)),
            ModuleChange::Warn(module) => format!("warn {:?}", module.warnings),
            ModuleChange::Delete(_) => "delete".into(),
        };
        format!("{deed}: {id} {name} {status:?}")
    };
    changes.iter().map(said).collect()
}

fn to(status: ModuleStatus) -> ModulePatch {
    ModulePatch { name: None, status: Some(status) }
}

fn called(name: &str) -> ModulePatch {
    ModulePatch { name: Some(name.into()), status: None }
}

#[test]
fn text_is_deployed_under_its_name_with_what_it_reads() {
    let (changes, module) = deploy(&[deployed(1, SOURCE)], &new(2, OTHER), None).unwrap();

    assert_eq!(said(&changes), ["insert, reads 1000: 2 other Deployed"]);
    assert_eq!((module.id, &*module.name, module.last_modified), (ModuleId(2), "other", now()));
}

#[test]
fn invalid_text_is_rejected_with_the_position_of_its_error() {
    let refused = deploy(&[], &new(2, "module other;\nselect from EventCreated;\n"), None).unwrap_err();

    assert!(matches!(&refused, Error::Invalid(shown) if shown.contains("line 2")), "{refused}");
}

#[test]
fn name_of_a_module_that_does_not_run_is_taken_too() {
    let taken = [stored(1, OTHER, ModuleStatus::NotDeployed)];
    assert!(matches!(deploy(&taken, &new(2, OTHER), None), Err(Error::Duplicate { .. })));

    let both = [deployed(1, OTHER), deployed(2, SOURCE)];
    assert!(matches!(update(&both, ModuleId(2), &called("other"), now()), Err(Error::Duplicate { .. })));
}

#[test]
fn name_of_a_platform_channel_is_rejected() {
    let refused = deploy(&[], &new(2, "module alarms;\nselect 1 as n from EventCreated;\n"), None);
    assert!(matches!(refused, Err(Error::Invalid(_))));
}

#[test]
fn quota_of_modules_bounds_new_ones() {
    let one = |id| deployed(id, &format!("module m{id};\nselect 1 as n from EventCreated;\n"));
    let many: Vec<_> = (0..100).map(one).collect();

    let refused = deploy(&many, &new(200, OTHER), Some(100));
    assert!(matches!(refused, Err(Error::QuotaExceeded { name: "modules", allowed: 100, used: 100 })));
    assert!(deploy(&many, &new(200, OTHER), Some(101)).is_ok());
    assert!(replace(&many, ModuleId(7), &new(200, OTHER)).is_ok(), "it takes the place of another");
}

#[test]
fn module_that_needs_another_waits_for_it_to_be_deployed() {
    let idle = [stored(1, SOURCE, ModuleStatus::NotDeployed)];
    assert!(matches!(deploy(&idle, &new(2, DEPENDENT), None), Err(Error::Invalid(_))));

    assert!(deploy(&[deployed(1, SOURCE)], &new(2, DEPENDENT), None).is_ok());
}

#[test]
fn modules_that_need_a_removed_module_are_removed_and_others_stay() {
    let all = [deployed(1, SOURCE), deployed(2, DEPENDENT), deployed(3, OTHER)];
    let off = "switch off: 2 dependent NotDeployed";

    let undeployed = update(&all, ModuleId(1), &to(ModuleStatus::NotDeployed), now()).unwrap();
    assert_eq!(said(&undeployed.0), ["undeploy: 1 source NotDeployed", off]);

    let (deleted, _) = delete(&all, ModuleId(1), now()).unwrap();
    assert_eq!(said(&deleted), ["delete: 1 source Deployed", off]);

    let (switched_off, name) = switch_off(&all, first_of(1), "too much", now()).unwrap();
    assert_eq!(name.as_deref(), Some("source"));
    assert_eq!(said(&switched_off), ["switch off: 1 source NotDeployed", off]);
}

#[test]
fn replacement_that_declares_the_same_keeps_those_that_need_it() {
    let all = [deployed(1, SOURCE), deployed(2, DEPENDENT)];
    let same = SOURCE.replace("20.0", "30.0");
    let (kept, _) = replace(&all, ModuleId(1), &new(9, &same)).unwrap();
    assert_eq!(said(&kept), ["delete: 1 source Deployed", "insert, reads 1000000: 9 source Deployed"]);

    let (lost, _) = replace(&all, ModuleId(1), &new(9, OTHER)).unwrap();
    assert_eq!(said(&lost)[2], "switch off: 2 dependent NotDeployed");
}

#[test]
fn text_that_contradicts_deployed_modules_is_rejected_and_replaces_nothing() {
    let contradicting = "module other;\ncreate schema Warm(t string);\n";
    let all = [deployed(1, SOURCE), deployed(3, OTHER)];

    assert!(matches!(deploy(&all[..1], &new(9, contradicting), None), Err(Error::Invalid(_))));
    assert!(matches!(replace(&all, ModuleId(3), &new(9, contradicting)), Err(Error::Invalid(_))));
}

#[test]
fn module_that_is_renamed_in_its_deployment_stays_one_module() {
    let idle = [stored(1, OTHER, ModuleStatus::NotDeployed)];
    let patch = ModulePatch { name: Some("notes".into()), status: Some(ModuleStatus::Deployed) };

    let (changes, module) = update(&idle, ModuleId(1), &patch, now()).unwrap();

    assert_eq!(said(&changes), ["rename other: 1 notes NotDeployed", "deploy: 1 notes Deployed"]);
    assert_eq!((&*module.name, module.status), ("notes", ModuleStatus::Deployed));
}

#[test]
fn update_without_a_change_writes_nothing() {
    let all = [deployed(1, OTHER)];
    let patch = ModulePatch { name: Some("other".into()), status: Some(ModuleStatus::Deployed) };

    let (changes, module) = update(&all, ModuleId(1), &patch, now()).unwrap();

    assert_eq!((said(&changes).len(), module), (0, all[0].module.clone()));
}

#[test]
fn redeployed_module_is_not_switched_off_for_its_former_deployment() {
    let anew = StoredModule { deployment: 2, ..deployed(1, OTHER) };
    for found in [vec![anew], vec![stored(1, OTHER, ModuleStatus::NotDeployed)], vec![]] {
        let (changes, name) = switch_off(&found, first_of(1), "too much", now()).unwrap();
        assert_eq!((said(&changes).len(), name), (0, None));
        let (changes, name) = switch_off_statements(&found, first_of(1), &[too_much("a")]).unwrap();
        assert_eq!((said(&changes).len(), name), (0, None));
    }
}

#[test]
fn statements_that_are_switched_off_are_recorded_until_their_module_is_redeployed() {
    let (changes, name) =
        switch_off_statements(&[deployed(1, OTHER)], first_of(1), &[too_much("a")]).unwrap();
    assert_eq!(said(&changes), ["without statement 'a': too much: 1 other Deployed"]);
    assert_eq!(name.as_deref(), Some("other"));

    let without_a = StoredModule { module: changes[0].module().clone(), ..deployed(1, OTHER) };
    let (changes, _) = switch_off_statements(&[without_a], first_of(1), &[too_much("b")]).unwrap();
    assert_eq!(changes[0].module().switched_off, [too_much("a"), too_much("b")]);

    let module = Module { status: ModuleStatus::NotDeployed, ..changes[0].module().clone() };
    let (_, anew) = update(
        &[StoredModule { module, ..deployed(1, OTHER) }],
        ModuleId(1),
        &to(ModuleStatus::Deployed),
        now(),
    )
    .unwrap();
    assert_eq!(anew.switched_off, []);
}

#[test]
fn unknown_module_is_not_found() {
    let missing = ModuleId(7);
    let all = [deployed(1, OTHER)];
    for outcome in [
        update(&all, missing, &called("x"), now()),
        delete(&all, missing, now()),
        replace(&all, missing, &new(9, SOURCE)),
    ] {
        assert!(matches!(outcome, Err(Error::NotFound { .. })));
    }
}

const MISSPELT: &str =
    "module misspelt;\ninsert into CreateAlarms select event.text as text from EventCreated;\n";
const READER: &str = "module reader;\nselect text from CreateAlarms;\n";
const WARNING: &str =
    "nobody reads 'CreateAlarms', a stream of this module's own; is 'CreateAlarm' meant?, line 2, column 13";

#[test]
fn misspelt_output_stream_without_a_reader_causes_a_warning() {
    let (_, module) = deploy(&[], &new(1, MISSPELT), None).unwrap();
    assert_eq!(module.warnings, [WARNING]);
    let warned = StoredModule { module, ..deployed(1, MISSPELT) };

    let (changes, module) = deploy(std::slice::from_ref(&warned), &new(2, READER), None).unwrap();
    let expected = ["insert, reads 0: 2 reader Deployed", "warn []: 1 misspelt Deployed"];
    assert_eq!((said(&changes), module.warnings.len()), (expected.map(String::from).to_vec(), 0));

    let read = StoredModule { module: changes[1].module().clone(), ..deployed(1, MISSPELT) };
    let (changes, _) = delete(&[read, deployed(2, READER)], ModuleId(2), now()).unwrap();
    assert_eq!(said(&changes)[1], format!("warn [{WARNING:?}]: 1 misspelt Deployed"));
}

#[test]
fn redeployed_module_gets_the_warnings_of_its_new_plan() {
    let all = [stored(1, MISSPELT, ModuleStatus::NotDeployed)];
    let (_, module) = update(&all, ModuleId(1), &to(ModuleStatus::Deployed), now()).unwrap();
    assert_eq!(module.warnings, [WARNING]);
}
