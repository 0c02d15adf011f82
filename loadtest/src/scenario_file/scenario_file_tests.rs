//! Tests of scenario files: parsing, positions of errors, and how figures are judged and shown.

use std::path::Path;

use clap::Parser as _;
use serde_json::json;

use super::figure::FIGURES;
use super::outcome::{LoadOutcome, Mark, Outcome, PhaseOutcome, SCHEMA, VERSION};
use super::pulse::GeneratorDelay;
use super::sample::Sample;
use super::*;
use crate::cli::{Program, ProgramCommand, Scenario};
use crate::population::plan::Mode;
use crate::traffic::schedule::curve::Curve;

const FIRST: &str = include_str!("../../scenarios/first.toml");
const CHAOS: &str = include_str!("../../scenarios/chaos.toml");
const SOAK: &str = include_str!("../../scenarios/soak.toml");
const FLEET: &str = include_str!("../../scenarios/fleet.toml");
const FILTERS: &str = include_str!("../../scenarios/filters.toml");
const HOLD: &str = include_str!("../../scenarios/hold.toml");
const DURABILITY: &str = include_str!("../../scenarios/durability.toml");
const DATA: &str = include_str!("../../scenarios/data.toml");
const INVENTORY: &str = include_str!("../../scenarios/inventory.toml");
const DAY: &str = include_str!("../../scenarios/day.toml");
const CONSUMERS: &str = include_str!("../../scenarios/consumers.toml");
const CONSUMER_CHAOS: &str = include_str!("../../scenarios/consumer-chaos.toml");
const LOAD: &str = "name = \"x\"\n[[phase]]\nname = \"p\"\n[[phase.load]]\nscenario = \"fanout\"\nclients = 7\nkind = \
    \"event\"\nsettle = 1\n";
const README: &str = include_str!("../../README.md");

pub(super) fn common() -> Common {
    Program::parse_from(["loadtest", "explain", "--drain", "7"]).common
}

pub(super) fn parse(text: &str) -> Result<ScenarioFile, String> {
    ScenarioFile::parse(Path::new("x.toml"), text, &common()).map_err(|error| error.to_string())
}

/// Returns the error for a file whose only load has these lines, from line 5 on.
fn error_of(lines: &str) -> String {
    parse(&format!("name = \"x\"\n[[phase]]\nname = \"p\"\n[[phase.load]]\n{lines}\n")).unwrap_err()
}

fn judge(sentence: &str, reports: &[serde_json::Value], samples: &[Sample]) -> (String, bool) {
    let judged = Threshold::parse(sentence).unwrap().judge(reports, samples, None);
    (judged.found, judged.holds)
}

#[test]
fn load_is_the_command_line_of_its_scenario() {
    let file = parse(LOAD).unwrap();
    let load = &file.phases[0].loads[0];
    assert!(
        matches!(&load.arguments.scenario, Scenario::Fanout(fanout) if fanout.clients == 7 && fanout.rate == 200)
    );
    assert_eq!((load.arguments.common.settle, load.arguments.common.drain), (1, 7));
    assert_eq!(load.seconds, Some(22));
}

#[test]
fn errors_name_file_line_key_and_allowed_values() {
    assert_eq!(
        error_of("scenario = \"fanout\"\nclients = 0"),
        "x.toml:6: invalid value '0' for '--clients <CLIENTS>': 0 is not in 1..=100000"
    );
    assert_eq!(
        error_of("scenario = \"fanout\"\nclients = 2\nkind = \"alert\""),
        "x.toml:7: invalid value 'alert' for '--kind <KIND>' [possible values: alarm, event, measurement]"
    );
    let unknown = error_of("scenario = \"fanout\"\npassword = \"x\"");
    assert!(
        unknown.starts_with("x.toml:6: password is not a setting of fanout; it has clients, "),
        "{unknown}"
    );
    let scenario = error_of("scenario = \"flet\"");
    assert!(
        scenario.starts_with("x.toml:5: scenario = \"flet\" is not a scenario; it is one of fanout, "),
        "{scenario}"
    );
    assert_eq!(
        error_of("scenario = \"reconnect\"\nwithin = 3\nwithout-users = 3"),
        "x.toml:7: without-users = 3: allowed are true and false"
    );
    assert!(error_of("devices = 3").starts_with("x.toml:4: a load needs a scenario: one of fanout, "));
    assert!(error_of("scenario = \"inventory-fill\"").contains("--database-url"));
    assert!(error_of("scenario = [").starts_with("x.toml:"));
    assert!(parse("name = \"x\"\n").unwrap_err().starts_with("x.toml:1: there is no phase"));
    let threshold = "name = \"x\"\n[[phase]]\nname = \"p\"\nthresholds = [\n\"lots = 0\"]\n[[phase.load]]\nscenario \
        = \"fanout\"\n";
    let threshold = parse(threshold).unwrap_err();
    assert!(
        threshold.starts_with("x.toml:5: threshold \"lots = 0\": \"lots\" is not a figure; there are "),
        "{threshold}"
    );
}

#[test]
fn latency_is_not_judged_if_the_generator_was_late_by_as_much() {
    let report = serde_json::json!({
        "posts": {"latency": {"samples": 100, "histogram_us": "2945000:99 3100000:1", "max_ms": 3100.0}},
        "ledger": {"lost": 2}, "kept": {"late": 133},
    });
    let delay = |ms| Some(GeneratorDelay { at: 7.0, ms });
    for (sentence, delay, generator_late_ms) in [
        ("p99 of posts <= 500ms", delay(3000.0), Some(3000.0)),
        ("p99 of posts <= 500ms", delay(2400.0), None),
        ("p99 of posts <= 500ms", None, None),
        ("late <= 50", delay(60.0), Some(60.0)),
        ("lost = 0", delay(3000.0), None),
    ] {
        let judged = Threshold::parse(sentence).unwrap().judge(std::slice::from_ref(&report), &[], delay);
        assert_eq!((judged.holds, judged.generator_late_ms), (false, generator_late_ms), "{sentence}");
        assert_eq!(judged.found.contains("not judged"), generator_late_ms.is_some(), "{}", judged.found);
    }
    let judged = Threshold::parse("max of posts <= 4s").unwrap().judge(&[report], &[], delay(3000.0));
    assert_eq!((judged.holds, judged.generator_late_ms), (true, None));
}

#[test]
fn figures_of_all_loads_are_judged() {
    let latency = |p99: f64| json!({"samples": 3, "histogram_us": format!("1000:2 {}:1", p99 * 1000.0)});
    let reports = [
        json!({"deliveries": {"latency": latency(40.0), "per_second": 10.0}, "ledger": {"lost": 1},
               "posts": {"by_status": {"201": 5, "503": 2, "no response": 1}}}),
        json!({"deliveries": {"latency": latency(60.0)}, "sessions": {"lost": 2}, "kept": {"late": 2},
               "steps": [{"late": 3}, {"late": 4}]}),
    ];
    assert_eq!(judge("p99 of notified <= 50ms", &reports, &[]), ("60.00 ms".to_owned(), false));
    assert_eq!(judge("p99 of notified <= 0.06s", &reports, &[]), ("60.00 ms".to_owned(), true));
    assert_eq!(judge("p66.6 of notified <= 1ms", &reports, &[]), ("1.00 ms".to_owned(), true));
    assert_eq!(judge("p66.7 of notified <= 1ms", &reports, &[]), ("60.00 ms".to_owned(), false));
    assert_eq!(judge("lost < 3", &reports, &[]), ("3".to_owned(), false));
    assert_eq!(judge("5xx = 2", &reports, &[]), ("2".to_owned(), true));
    let accepted = json!({"posts": {"by_status": {"201": 5}}});
    assert_eq!(judge("5xx = 0", &[accepted], &[]), ("0".to_owned(), true));
    assert_eq!(judge("late = 9", &reports, &[]), ("9".to_owned(), true));
    assert_eq!(judge("torn = 0", &reports, &[]), ("not measured".to_owned(), false));
    let empty = json!({"deliveries": {"latency": {"samples": 0, "p99_ms": 0.0}}});
    assert_eq!(judge("p99 of notified <= 50ms", &[empty], &[]), ("not measured".to_owned(), false));
    let samples = [sample(0.0, 3_000_000.0), sample(60.0, 2_000_000.0), sample(120.0, 1_000_000.0)];
    assert_eq!(judge("server memory <= 3MB", &[], &samples), ("3.0 MB".to_owned(), true));
    assert_eq!(judge("server CPU < 20%", &[], &samples), ("30.0 %".to_owned(), false));
    assert_eq!(judge("server memory growth <= 1MB/h", &[], &samples), ("-60.0 MB/h".to_owned(), true));
}

fn sample(at: f64, memory: f64) -> Sample {
    let values = [("server_memory", memory), ("server_cpu_percent", 30.0), ("notified_p99_ms", 7.0 + at)];
    Sample { at, values: values.map(|(name, value)| (name.to_owned(), value)).into() }
}

#[test]
fn every_figure_is_explained() {
    let all = explain(&[]).unwrap();
    for figure in &FIGURES {
        assert!(all.contains(figure.meaning) && figure.meaning.ends_with('.'), "{}", figure.name);
        let words: Vec<String> = figure.name.split(' ').map(str::to_owned).collect();
        assert!(explain(&words).unwrap().contains(figure.meaning));
    }
    for word in ["kill", "rate", "server memory", "clean"] {
        let words: Vec<String> = word.split(' ').map(str::to_owned).collect();
        assert!(explain(&words).unwrap().starts_with(&format!("{word}\n    ")), "{word}");
    }
    assert!(explain(&["lots".to_owned()]).unwrap_err().to_string().contains("server memory"));
}

#[test]
fn check_explains_a_file() {
    let text = explanation(&parse(FIRST).unwrap());
    for line in [
        "First scenario: 2 phases, one after the other.\nIt loads the server at --url.\n",
        "  trackers: 100 devices, json-poll, web-socket, csv-poll, execute operations, each in 0.2 s\n",
        "\nPhase 2, a busy one: 20 s\n",
        "  meters: measurements, 40 each second at first, changing evenly to 200 (2400 in all)\n",
        "  cut-connections of 50 % of control room after 10 s. Clients lose their connections",
        "    late <= 50\n",
    ] {
        assert!(text.contains(line), "{line:?} not in\n{text}");
    }
    let text = explanation(&parse(LOAD).unwrap());
    assert!(text.contains("\nPhase 1, p: at least 22 s\n"), "{text}");
    assert!(text.contains("    clients = 7 (Clients)\n"), "{text}");
}

#[test]
fn files_of_the_repository_and_of_the_readme_are_valid() {
    let clients = |text: &str| parse(text).unwrap().clients();
    assert_eq!([FIRST, CHAOS, SOAK, DAY].map(clients), [104, 66, 84, 4010]);
    assert_eq!([FLEET, HOLD, DURABILITY, DATA, INVENTORY].map(clients), [10_050, 18_000, 0, 0, 0]);
    assert_eq!([CONSUMERS, CONSUMER_CHAOS, FILTERS].map(clients), [109, 4, 5100]);
    let in_readme: Vec<&str> =
        README.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(in_readme[0].lines().count() <= 20);
    for text in in_readme {
        // The feeder of an example is beside the files of the repository.
        let file = ScenarioFile::parse(Path::new("scenarios/x.toml"), text, &common());
        assert!(!file.unwrap().phases.is_empty());
    }
}

/// A file with a group and a phase, and with these lines after line 7.
fn with_group(lines: &str) -> Result<ScenarioFile, String> {
    parse(&format!(
        "name = \"x\"\n[[group]]\nname = \"g\"\ncount = 3\n[[phase]]\nname = \"p\"\nlasts = \"20s\"\n{lines}\n"
    ))
}

#[test]
fn group_has_its_rates_in_each_phase_unless_the_phase_has_others() {
    let text = "name = \"x\"\nseed = 7\n[[group]]\nname = \"g\"\ncount = 3\nalarms = 2\nevents = 3\nmodes = { \
        TRANSIENT = 1, PERSISTENT = 3 }\n[[phase]]\nname = \"a\"\nlasts = \"1min\"\n[[phase]]\nname = \"b\"\nlasts = \
        \"1s\"\n[phase.rates.g]\nevents = \"5..9\"\n";
    let plan = parse(text).unwrap().plan.unwrap();
    let curves =
        |phase: usize| plan.phases[phase].streams.iter().map(|stream| stream.curve).collect::<Vec<_>>();
    assert_eq!(curves(0), [Curve::Constant(2.0), Curve::Constant(3.0)]);
    assert_eq!(curves(1), [Curve::Constant(2.0), Curve::Ramp(5.0, 9.0)]);
    assert_eq!((plan.seed, plan.phases[0].lasts.as_secs()), (7, 60));
    assert_eq!(plan.groups[0].modes, [(Mode::Persistent, 3), (Mode::Transient, 1)]);
}

#[test]
fn errors_of_groups_and_faults_name_the_line_and_the_allowed_values() {
    for (lines, error) in [
        ("[phase.rates.h]\nevents = 1", "x.toml:8: rates of \"h\": there is no such group"),
        (
            "[phase.rates.g]\nmails = 1",
            "x.toml:9: rates of \"g\": \"mails\" is not a key here; allowed are alarms, events, measurements,",
        ),
        (
            "[phase.rates.g]\nevents = \"fast\"",
            "x.toml:9: rates of \"g\": events = \"fast\": \"fast\" is not a rate; write a number",
        ),
        (
            "[[phase.fault]]\nwhat = \"kill\"\nat = \"1s\"",
            "x.toml:8: kill needs servers that this run starts: write [servers]",
        ),
        (
            "[[phase.fault]]\nwhat = \"reconnect-storm\"\nof = \"g\"\nevery = \"9s..5s\"",
            "x.toml:11: every = \"9s..5s\": allowed is a time such as \"10s\", or a random one such as \"5s..9s\"",
        ),
        (
            "[[phase.fault]]\nwhat = \"reconnect-storm\"\nof = \"g\"\nat = \"15s..21s\"",
            "x.toml:11: reconnect-storm: it would never be done in a phase of 20 s",
        ),
        (
            "[[group]]\nname = \"h\"\ncount = 1\nper-post = 0",
            "x.toml:11: group \"h\": per-post = 0: allowed are whole numbers from 1 to 1000",
        ),
        (
            "[[group]]\nname = \"h\"\ncount = 1\ntransport = \"csv-poll\"\nper-post = 2",
            "x.toml:12: group \"h\": devices of transport csv-poll send one row in each post",
        ),
        ("[phase.online]\ng = \"0..4\"", "x.toml:9: online of \"g\": there are only 3 clients"),
        (
            "[phase.online]\nh = 1",
            "x.toml:9: online: there are no group, no dashboards and no consumers \"h\"; there are g",
        ),
        ("[phase.online]\ng = \"some\"", "x.toml:9: online of \"g\": \"some\" is not a rate; write a number"),
        (
            "[[group]]\nname = \"h\"\ncount = 1\ntransport = \"rest\"\nonline = 1",
            "x.toml:12: group \"h\": online = 1: devices of transport rest have no session",
        ),
        (
            "[[phase.fault]]\nwhat = \"cut-connections\"\nat = \"1s\"",
            "x.toml:8: cut-connections needs `of`: there are g",
        ),
        (
            "[[phase.fault]]\nwhat = \"slow-readers\"\nof = \"g\"\nat = \"1s\"",
            "x.toml:8: slow-readers needs `lasts`",
        ),
        (
            "[[phase.fault]]\nwhat = \"reconnect-storm\"\nof = \"g\"",
            "x.toml:8: reconnect-storm needs `at` or `every`",
        ),
        (
            "[[phase.fault]]\nwhat = \"reconnect-storm\"\nof = \"g\"\nat = \"21s\"",
            "x.toml:11: reconnect-storm: it would never be done in a phase of 20 s",
        ),
        ("[[phase.fault]]\nwhat = \"flood\"", "x.toml:9: what = \"flood\": allowed are \"kill\", "),
        ("[[phase]]\nname = \"q\"", "x.toml:8: phase \"q\": it needs `lasts`, such as \"30s\""),
        (
            "[[group]]\nname = \"g\"\ncount = 1",
            "x.toml:9: group \"g\": there are two groups, [[dashboard]]s or [[consumer]]s \"g\"",
        ),
        (
            "[[group]]\nname = \"h\"\ncount = 0",
            "x.toml:10: group \"h\": count = 0: allowed are whole numbers from 1 to 100000",
        ),
        (
            "[[group]]\nname = \"h\"\ncount = 1\ntransport = \"rest\"\noperations = 1",
            "x.toml:12: group \"h\": operations need devices that listen",
        ),
        (
            "[[group]]\nname = \"h\"\ncount = 1\nlistens = \"mails\"",
            "x.toml:11: group \"h\": listens = \"mails\": allowed are \"alarms\"",
        ),
        (
            "[[group]]\nname = \"h\"\ncount = 1\ntenant = \"acme\"",
            "x.toml:11: group \"h\": tenant = \"acme\": there is no [[tenant]]",
        ),
        (
            "[[dashboard]]\ntransport = \"rest\"",
            "x.toml:9: dashboard: transport = \"rest\": allowed are \"json-poll\", \"web-socket\"",
        ),
        (
            "[servers]\ncommand = \"x\"\ncount = 17",
            "x.toml:10: servers: count = 17: allowed are whole numbers from 1 to 16",
        ),
    ] {
        let found = with_group(lines).map(|_| ()).unwrap_err();
        assert!(found.starts_with(error), "{found}");
    }
    assert!(with_group("").is_ok());
    let plan = with_group("[phase.online]\ng = \"0..3\"").unwrap().plan.unwrap();
    assert_eq!(plan.phases[0].online, [("g".to_owned(), Curve::Ramp(0.0, 3.0))]);
}

pub(super) fn outcome() -> Outcome {
    let judged = Threshold::parse("lost = 0").unwrap().judge(&[json!({"ledger": {"lost": 1}})], &[], None);
    let load = LoadOutcome {
        scenario: "fleet".to_owned(),
        clean: true,
        error: None,
        report: json!({"posts": {"latency": {"curve_ms": vec![1.0; 14]}}}),
        table: "it's <b>\u{1}".to_owned(),
    };
    let phase = PhaseOutcome {
        generator_delay: None,
        name: "a \"<script>\" & more".to_owned(),
        started: 0.0,
        ended: 2.0,
        clean: false,
        thresholds: vec![judged],
        loads: vec![load],
        samples: vec![sample(0.0, 5e6), sample(1.0, 5e6)],
    };
    Outcome {
        schema: SCHEMA,
        version: VERSION,
        name: "<x>".to_owned(),
        target: "127.0.0.1:1".to_owned(),
        phases: vec![phase],
        happened: vec![Mark { at: 0.5, what: "kill of <server> 0".to_owned() }],
        ..Outcome::default()
    }
}

#[test]
fn page_escapes_foreign_text_and_needs_no_other_file() {
    let page = html::page(&outcome());
    assert!(page.contains("<h1>&lt;x&gt;: <span class=\"missed\">NOT CLEAN</span></h1>"), "{page}");
    assert!(page.contains("a &quot;&lt;script&gt;&quot; &amp; more"), "{page}");
    assert!(page.contains("it&#39;s &lt;b&gt;\u{fffd}"), "{page}");
    assert!(page.contains("<td>lost = 0<td>1<td><span class=\"missed\">missed</span>"), "{page}");
    assert!(page.contains("<li>a &quot;&lt;script&gt;&quot; &amp; more: lost = 0, but it was 1."), "{page}");
    assert!(
        page.contains("aria-label=\"memory, MB\"") && page.contains("aria-label=\"ms by percentile\""),
        "{page}"
    );
    assert!(page.contains("<td>a<td class=\"number\">0.5 s<td>kill of &lt;server&gt; 0"), "{page}");
    for foreign in ["<script", "http", "src="] {
        assert!(!page.contains(foreign), "{foreign} in {page}");
    }
}

#[test]
fn json_names_its_form_and_version() {
    let json = serde_json::to_value(outcome()).unwrap();
    assert_eq!((&json["schema"], &json["version"]), (&json!("platform-loadtest-run"), &json!(2)));
    assert_eq!(
        json["phases"][0]["thresholds"][0],
        json!({"threshold": "lost = 0", "value": 1.0, "found": "1", "holds": false})
    );
    assert!(matches!(
        Program::parse_from(["loadtest", "run", "a.toml", "--json", "b"]).command,
        ProgramCommand::Run(_)
    ));
}

#[test]
fn filters_are_explained_and_need_sessions() {
    let file = |group: &str| {
        format!(
            "name = \"x\"\n[[group]]\nname = \"g\"\ncount = 2\nalarms = 1\n{group}\n[[dashboard]]\ncount = 9\n\
             filters = 3\n[[phase]]\nname = \"p\"\nlasts = \"9s\"\n"
        )
    };
    let text = explanation(&parse(&file("listens = \"alarms\"\nfilter = \"has(id)\"")).unwrap());
    assert!(text.contains("subscribe to their own alarms with the filter \"has(id)\""), "{text}");
    assert!(text.contains("see the alarms of the devices that one of 3 filters matches"), "{text}");
    let refused = parse(&file("transport = \"rest\"\nfilter = \"has(id)\"")).unwrap_err();
    assert!(refused.contains("receive nothing, so they have no `filter`"), "{refused}");
}
