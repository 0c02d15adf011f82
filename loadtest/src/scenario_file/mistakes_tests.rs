//! Tests of the lists of mistakes in scenario files.

use std::path::Path;

use clap::Parser as _;

use super::ScenarioFile;
use crate::cli::Program;

fn mistakes(text: &str) -> Vec<String> {
    let common = Program::parse_from(["loadtest", "explain"]).common;
    let error = ScenarioFile::parse(Path::new("x.toml"), text, &common).unwrap_err().to_string();
    error.lines().map(str::to_owned).collect()
}

#[test]
fn all_mistakes_of_a_file_are_listed_with_their_lines() {
    let text = r#"name = "x"
sed = 7

[[group]]
name = "meters"
count = -5
transport = "mqtt"
takes = "soon"
alarms = "often"

[[group]]
name = "gates"
count = 2
transport = "rest"
listens = "alarms"
measurements = 3

[[dashboard]]
watches = ["operations"]

[[phase]]
name = "p"
lasts = "100000000h"
thresholds = [
  "lots = 0",
  "p98 of posts <= 1s",
]
[phase.rates.meters]
alrms = 3
"#;
    let found = mistakes(text);
    let lines: Vec<&str> = found[1..].iter().map(|line| line.split(": ").next().unwrap()).collect();
    let mut expected = [2, 6, 7, 8, 9, 15, 19, 23, 25, 26, 29].map(|line| format!("x.toml:{line}"));
    let mut sorted = lines.clone();
    sorted.sort_unstable();
    expected.sort_unstable();
    assert_eq!(sorted, expected, "{found:#?}");
    assert_eq!(found[0], "11 mistakes");
    let named = |part: &str| assert!(found.iter().any(|line| line.contains(part)), "{part}: {found:#?}");
    named("expected a whole number from 0 to 4294967295");
    named("`json-poll`");
    named("devices of transport rest receive nothing");
    named("at most 31 days");
}

#[test]
fn consequences_of_a_mistake_are_not_listed() {
    let text = "name = \"x\"\n[[group]]\nname = \"g\"\ncount = 2\ntransport = \"rest\"\nalarms = \"often\"\n\
        [[dashboard]]\n[[phase]]\nname = \"p\"\nlasts = \"2s\"\nthresholds = [\"p99 of notified <= 1s\"]\n";
    let found = mistakes(text);
    assert!(found.len() == 1 && found[0].starts_with("x.toml:6: "), "{found:?}");
    let text =
        "name = \"x\"\n[[group]]\nname = \"g\"\ncount = \"many\"\n[[phase]]\nname = \"p\"\nlasts = \"2s\"\n";
    let found = mistakes(text);
    assert!(found.len() == 1 && found[0].starts_with("x.toml:4: "), "{found:?}");
}
