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
fn several_mistakes_of_a_file_are_listed_with_their_lines() {
    let text = "name = \"x\"\n[[group]]\nname = \"meters\"\ncount = -5\ntransport = \"mqtt\"\n\
        [[phase]]\nname = \"p\"\nlasts = \"2s\"\n";
    let found = mistakes(text);
    assert_eq!(found[0], "2 mistakes", "{found:#?}");
    assert!(found[1].starts_with("x.toml:4: ") && found[1].contains("0 to 4294967295"), "{found:#?}");
    assert!(found[2].starts_with("x.toml:5: ") && found[2].contains("`json-poll`"), "{found:#?}");
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
