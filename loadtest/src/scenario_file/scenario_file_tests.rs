//! Tests of scenario files: what is understood, where errors are, and how figures are judged and shown.

use std::path::Path;

use clap::Parser as _;
use serde_json::json;

use super::figure::FIGURES;
use super::outcome::{LoadOutcome, Outcome, PhaseOutcome, SCHEMA, Sample, VERSION};
use super::*;
use crate::cli::{Program, ProgramCommand, Scenario};

const FIRST: &str = include_str!("../../scenarios/first.toml");
const CHAOS: &str = include_str!("../../scenarios/chaos.toml");
const README: &str = include_str!("../../README.md");

fn common() -> Common {
    Program::parse_from(["loadtest", "explain", "--drain", "7"]).common
}

fn parse(text: &str) -> Result<ScenarioFile, String> {
    ScenarioFile::parse(Path::new("x.toml"), text, &common()).map_err(|error| error.to_string())
}

/// Returns the error for a file whose only load has these lines, from line 5 on.
fn error_of(lines: &str) -> String {
    parse(&format!("name = \"x\"\n[[phase]]\nname = \"p\"\n[[phase.load]]\n{lines}\n")).unwrap_err()
}

fn judge(sentence: &str, reports: &[serde_json::Value], samples: &[Sample]) -> (String, bool) {
    let judged = Threshold::parse(sentence).unwrap().judge(reports, samples);
    (judged.found, judged.holds)
}

#[test]
fn load_is_the_command_line_of_its_scenario() {
    let text = "name = \"x\"\n[[phase]]\nname = \"p\"\n[[phase.load]]\nscenario = \"fleet\"\ndevices = 7\nkind = \"event\"\nsettle = 1\n";
    let file = parse(text).unwrap();
    let load = &file.phases[0].loads[0];
    assert!(
        matches!(&load.arguments.scenario, Scenario::Fleet(fleet) if fleet.devices == 7 && fleet.dashboards == 50)
    );
    assert_eq!((load.arguments.common.settle, load.arguments.common.drain), (1, 7));
    assert_eq!(load.seconds, Some(32));
}

#[test]
fn errors_name_file_line_key_and_what_is_allowed() {
    assert_eq!(
        error_of("scenario = \"fleet\"\ndevices = 0"),
        "x.toml:6: invalid value '0' for '--devices <DEVICES>': 0 is not in 1..=100000"
    );
    assert_eq!(
        error_of("scenario = \"fleet\"\ndashboards = 2\nkind = \"alert\""),
        "x.toml:7: invalid value 'alert' for '--kind <KIND>' [possible values: alarm, event, measurement]"
    );
    let unknown = error_of("scenario = \"hold\"\npassword = \"x\"");
    assert!(
        unknown.starts_with("x.toml:6: password is not a setting of hold; it has clients, "),
        "{unknown}"
    );
    let scenario = error_of("scenario = \"flet\"");
    assert!(
        scenario.starts_with("x.toml:5: scenario = \"flet\" is not a scenario; it is one of fleet, "),
        "{scenario}"
    );
    assert_eq!(
        error_of("scenario = \"cluster\"\nserver-command = \"x\"\nkill = 3"),
        "x.toml:7: kill = 3: allowed are true and false"
    );
    assert!(error_of("devices = 3").starts_with("x.toml:4: a load needs a scenario: one of fleet, "));
    assert!(error_of("scenario = \"cluster\"").contains("--server-command"));
    assert!(error_of("scenario = [").starts_with("x.toml:"));
    assert!(parse("name = \"x\"\n").unwrap_err().starts_with("x.toml:1: there is no phase"));
    let threshold = "name = \"x\"\n[[phase]]\nname = \"p\"\nthresholds = [\n\"lots = 0\"]\n[[phase.load]]\nscenario = \"hold\"\n";
    let threshold = parse(threshold).unwrap_err();
    assert!(
        threshold.starts_with("x.toml:5: threshold \"lots = 0\": \"lots\" is not a figure; there are "),
        "{threshold}"
    );
}

#[test]
fn thresholds_are_sentences_with_units() {
    for sentence in [
        "p99 of notified ≤ 50ms",
        "max of posts < 1.5 s",
        "server memory <= 200MB",
        "server CPU <= 80%",
        "posts per second >= 90/s",
    ] {
        assert!(Threshold::parse(sentence).is_ok(), "{sentence}");
    }
    for sentence in [
        "lost",
        "lost = many",
        "p98 of posts < 1s",
        "posts < 1s",
        "p99 of lost = 0",
        "lost = 0ms",
        "server memory < 5",
        "lost = -1",
    ] {
        assert!(
            Threshold::parse(sentence).unwrap_err().starts_with(&format!("threshold {sentence:?}: ")),
            "{sentence}"
        );
    }
}

#[test]
fn figures_of_all_loads_are_judged() {
    let latency = |p99: f64| json!({"samples": 3, "p99_ms": p99});
    let reports = [
        json!({"deliveries": {"latency": latency(40.0), "per_second": 10.0}, "ledger": {"lost": 1},
               "posts": {"by_status": {"201": 5, "503": 2, "no response": 1}}}),
        json!({"delays": [{"kind": "told at another server", "latency": latency(60.0)}], "sessions": {"lost": 2},
               "steps": [{"late": 3}, {"late": 4}]}),
    ];
    assert_eq!(judge("p99 of notified <= 50ms", &reports, &[]), ("60.00 ms".to_owned(), false));
    assert_eq!(judge("p99 of notified <= 0.06s", &reports, &[]), ("60.00 ms".to_owned(), true));
    assert_eq!(judge("lost < 3", &reports, &[]), ("3".to_owned(), false));
    assert_eq!(judge("5xx = 2", &reports, &[]), ("2".to_owned(), true));
    let accepted = json!({"posts": {"by_status": {"201": 5}}});
    assert_eq!(judge("5xx = 0", &[accepted], &[]), ("0".to_owned(), true));
    assert_eq!(judge("late = 7", &reports, &[]), ("7".to_owned(), true));
    assert_eq!(judge("torn = 0", &reports, &[]), ("not measured".to_owned(), false));
    let empty = json!({"deliveries": {"latency": {"samples": 0, "p99_ms": 0.0}}});
    assert_eq!(judge("p99 of notified <= 50ms", &[empty], &[]), ("not measured".to_owned(), false));
    let sample = |memory, cpu| Sample { at: 0.0, server_memory: Some(memory), server_cpu_percent: cpu };
    let samples = [sample(3_000_000, None), sample(2_000_000, Some(10.0)), sample(1, Some(30.0))];
    assert_eq!(judge("server memory <= 3MB", &[], &samples), ("3.0 MB".to_owned(), true));
    assert_eq!(judge("server CPU < 20%", &[], &samples), ("20.0 %".to_owned(), false));
}

#[test]
fn every_figure_is_explained() {
    let all = explain(&[]).unwrap();
    for figure in &FIGURES {
        assert!(all.contains(figure.meaning) && figure.meaning.ends_with('.'), "{}", figure.name);
        let words: Vec<String> = figure.name.split(' ').map(str::to_owned).collect();
        assert!(explain(&words).unwrap().contains(figure.meaning));
    }
    assert!(explain(&["lots".to_owned()]).unwrap_err().to_string().contains("server memory"));
}

#[test]
fn check_says_what_a_file_does() {
    let text = explanation(&parse(FIRST).unwrap());
    assert!(text.starts_with("First scenario: 2 phases, one after the other.\n"), "{text}");
    assert!(text.contains("\nPhase 1, a fleet alone: at least 12 s\n"), "{text}");
    assert!(
        text.contains("    devices = 200 (Devices; each holds a long poll on its own alarms)\n"),
        "{text}"
    );
    assert!(text.contains("    p99 of notified <= 250ms\n"), "{text}");
}

#[test]
fn files_of_the_repository_and_of_the_readme_are_understood() {
    assert_eq!(parse(FIRST).unwrap().phases.len(), 2);
    assert_eq!(parse(FIRST).unwrap().clients(), 200 + 4 + 64);
    assert_eq!(parse(CHAOS).unwrap().phases.len(), 5);
    let in_readme = README.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert!(in_readme.lines().count() <= 20);
    assert_eq!(parse(in_readme).unwrap().phases.len(), 1);
}

fn outcome() -> Outcome {
    let sample = |at| Sample { at, server_memory: Some(5_000_000), server_cpu_percent: Some(7.0) };
    let judged = Threshold::parse("lost = 0").unwrap().judge(&[json!({"ledger": {"lost": 1}})], &[]);
    let load = LoadOutcome {
        scenario: "fleet".to_owned(),
        clean: true,
        error: None,
        report: serde_json::Value::Null,
        table: "it's <b>\u{1}".to_owned(),
    };
    let phase = PhaseOutcome {
        name: "a \"<script>\" & more".to_owned(),
        started: 0.0,
        ended: 2.0,
        clean: false,
        thresholds: vec![judged],
        loads: vec![load],
        samples: vec![sample(0.0), sample(1.0)],
    };
    Outcome {
        schema: SCHEMA,
        version: VERSION,
        name: "<x>".to_owned(),
        target: "127.0.0.1:1".to_owned(),
        clean: false,
        phases: vec![phase],
    }
}

#[test]
fn page_escapes_what_comes_from_outside_and_needs_no_other_file() {
    let page = html::page(&outcome());
    assert!(page.contains("<h1>&lt;x&gt;: <span class=\"missed\">NOT CLEAN</span></h1>"), "{page}");
    assert!(page.contains("a &quot;&lt;script&gt;&quot; &amp; more"), "{page}");
    assert!(page.contains("it&#39;s &lt;b&gt;\u{fffd}"), "{page}");
    assert!(page.contains("<td>lost = 0<td>1<td><span class=\"missed\">missed</span>"), "{page}");
    assert!(page.contains("<polyline points=\"0.0,20.0 450.0,20.0\"/>"), "{page}");
    for foreign in ["<script", "http", "src="] {
        assert!(!page.contains(foreign), "{foreign} in {page}");
    }
}

#[test]
fn junit_has_a_test_for_each_load_and_threshold() {
    let xml = junit::xml(&outcome());
    assert!(xml.contains("<testsuite name=\"a &quot;&lt;script&gt;&quot; &amp; more\" tests=\"2\" failures=\"1\" time=\"2.000\">"), "{xml}");
    assert!(xml.contains("<testcase name=\"load fleet\"/>"), "{xml}");
    assert!(xml.contains("<testcase name=\"lost = 0\"><failure>found 1</failure></testcase>"), "{xml}");
}

#[test]
fn json_names_its_form_and_version() {
    let json = serde_json::to_value(outcome()).unwrap();
    assert_eq!((&json["schema"], &json["version"]), (&json!("platform-loadtest-run"), &json!(1)));
    assert_eq!(
        json["phases"][0]["thresholds"][0],
        json!({"threshold": "lost = 0", "value": 1.0, "found": "1", "holds": false})
    );
    assert!(matches!(
        Program::parse_from(["loadtest", "run", "a.toml", "--json", "b"]).command,
        ProgramCommand::Run(_)
    ));
}
