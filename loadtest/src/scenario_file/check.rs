//! Explains a scenario file in plain words.

use super::consumers;
use super::load::Load;
use super::{Phase, ScenarioFile};
use crate::population::plan::{ACTS, Act, Dashboards, Fault, Group, Listens, PhasePlan, Plan, Transport};
use crate::protocol::object_kind::ObjectKind;

/// Returns the explanation of what `run` does with this file.
pub(crate) fn explanation(file: &ScenarioFile) -> String {
    let count = file.phases.len();
    let phases =
        if count == 1 { "1 phase".to_owned() } else { format!("{count} phases, one after the other") };
    let mut text = format!("{}: {phases}.\n", file.name);
    if let Some(plan) = &file.plan {
        text += &of_plan(plan);
    }
    for (number, phase) in (0..).zip(&file.phases) {
        let happens = file.plan.as_ref().map(|plan| (plan, &plan.phases[number]));
        text += &format!("\nPhase {}, {}{}\n", number + 1, phase.name, duration(phase));
        text += &happens.map(|(plan, happens)| of_phase(plan, happens)).unwrap_or_default();
        phase.loads.iter().for_each(|load| text += &in_words(load));
        let of_what = if file.plan.is_some() { "nothing is lost" } else { "each load is clean" };
        if phase.thresholds.is_empty() {
            text += &format!("  Clean if {of_what}; there are no thresholds.\n");
        } else {
            text += &format!("  Clean if {of_what}, and\n");
            phase.thresholds.iter().for_each(|threshold| text += &format!("    {}\n", threshold.in_words()));
        }
    }
    text
}

fn duration(phase: &Phase) -> String {
    if !phase.lasts.is_zero() {
        return format!(": {} s", phase.lasts.as_secs_f64());
    }
    let longest = phase.loads.iter().filter_map(|load| load.seconds).max();
    longest.map_or(String::new(), |seconds| format!(": at least {seconds} s"))
}

fn of_plan(plan: &Plan) -> String {
    let mut text = String::new();
    match &plan.servers {
        Some(servers) => {
            let database = if servers.database_url.is_some() {
                "the PostgreSQL of database-url"
            } else {
                "a PostgreSQL of their own"
            };
            text += &format!(
                "It starts {} servers with `{}`, at port {} and those after it, on {database}.\n",
                servers.count, servers.command, servers.port
            );
        }
        None => text += "It loads the server at --url.\n",
    }
    if !plan.tenants.is_empty() {
        text += &format!("It creates the tenants {}, as the user of --user.\n", plan.tenants.join(", "));
    }
    plan.groups.iter().for_each(|group| text += &of_group(plan, group));
    plan.dashboards.iter().for_each(|dashboards| text += &of_dashboards(plan, dashboards));
    plan.consumers.iter().for_each(|of_name| text += &consumers::explained(plan, of_name));
    let back = if plan.reads_back { "Everything that was accepted is read back at the end. " } else { "" };
    text + back + "Devices, users and tenants are removed then, unless --keep is set.\n"
}

fn objects(objects: &[ObjectKind]) -> String {
    let name = |object: &ObjectKind| {
        let named = ACTS.iter().find(|(_, act)| *act == Act::Post(*object));
        named.map_or("", |(name, _)| *name)
    };
    objects.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn transports(transports: &[Transport]) -> String {
    transports.iter().map(|transport| transport.name()).collect::<Vec<_>>().join(", ")
}

fn of_tenant(plan: &Plan, tenant: Option<usize>) -> String {
    tenant.map_or(String::new(), |tenant| format!(" of tenant {}", plan.tenants[tenant]))
}

fn of_group(plan: &Plan, group: &Group) -> String {
    let hears = match &group.listens {
        _ if group.transports == [Transport::Rest] => "subscribe to nothing".to_owned(),
        Listens::Operations => {
            format!("execute operations, each in {} s", group.takes.as_secs_f64())
        }
        Listens::Objects(own) => format!("subscribe to their own {}", objects(own)),
    };
    let filter = group.filter.as_ref().map_or(String::new(), |filter| format!(" with the filter {filter:?}"));
    let modes: Vec<String> = group
        .modes
        .iter()
        .map(|(mode, weight)| format!("{} ({weight})", format!("{mode:?}").to_uppercase()))
        .collect();
    let modes = if group.modes.len() > 1 {
        format!("; modes with their weights: {}", modes.join(", "))
    } else {
        String::new()
    };
    let together = match group.per_post {
        1 => String::new(),
        rows => format!("; each post of measurements has {rows}"),
    };
    let acknowledges = if group.acknowledges { " with acknowledgements" } else { "" };
    format!(
        "  {}: {} devices{}, {}{acknowledges}, {hears}{filter}{modes}{together}\n",
        group.name,
        group.count,
        of_tenant(plan, group.tenant),
        transports(&group.transports)
    )
}

fn of_dashboards(plan: &Plan, dashboards: &Dashboards) -> String {
    let devices = match dashboards.filters {
        0 => "all devices".to_owned(),
        filters => format!("the devices that one of {filters} filters matches"),
    };
    format!(
        "  {}: {} clients{}, {}, which see the {} of {devices}\n",
        dashboards.name,
        dashboards.count,
        of_tenant(plan, dashboards.tenant),
        transports(&dashboards.transports),
        objects(&dashboards.watches)
    )
}

fn of_phase(plan: &Plan, phase: &PhasePlan) -> String {
    let mut text = String::new();
    for stream in &phase.streams {
        let name = ACTS.iter().find(|(_, act)| *act == stream.act).map_or("", |(name, _)| *name);
        let total = stream.curve.count(phase.lasts.as_secs_f64(), phase.lasts.as_secs_f64());
        text +=
            &format!("  {}: {name}, {} ({total:.0} in all)\n", plan.groups[stream.group].name, stream.curve);
    }
    for (name, curve) in &phase.online {
        text +=
            &format!("  {name}: clients with a session, {}\n", curve.to_string().replace(" each second", ""));
    }
    phase.faults.iter().for_each(|fault| text += &of_fault(fault));
    text
}

fn of_fault(fault: &Fault) -> String {
    let (name, meaning) = fault.what.words();
    let times = match fault.every {
        Some(every) => format!("after {} and then every {every}", fault.at),
        None => format!("after {}", fault.at),
    };
    let lasts =
        if fault.lasts.is_zero() { String::new() } else { format!(" for {} s", fault.lasts.as_secs_f64()) };
    let of =
        fault.of.as_ref().map_or(String::new(), |of| format!(" of {:.0} % of {}", 100.0 * of.share, of.name));
    format!("  {name}{of} {times}{lasts}. {meaning}\n")
}

fn in_words(load: &Load) -> String {
    let mut text = format!("  {}: {}\n", load.scenario, load.about);
    for setting in &load.settings {
        text += &format!("    {} = {} ({})\n", setting.key, setting.value, setting.meaning);
    }
    text
}
