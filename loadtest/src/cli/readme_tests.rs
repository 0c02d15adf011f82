//! Tests that the commands in README.md are valid command lines of this program.

use clap::{CommandFactory as _, Parser as _};

use super::Program;

const README: &str = include_str!("../../README.md");

/// Splits a shell command into words; `"…"` is one word, `;` and `#` end the command.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut is_quoted) = (vec![String::new()], false);
    for c in command.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            ';' | '#' if !is_quoted => break,
            _ => words.last_mut().expect("there is one from the start").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns the arguments of the commands in the blocks of README.md.
fn commands() -> Vec<Vec<String>> {
    let blocks = README.split("\n```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("bash\n"));
    let lines: Vec<String> = blocks
        .flat_map(|block| block.replace("\\\n", "").lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let arguments = |line: &String| {
        let before =
            line.split_once("-p loadtest -- ").or_else(|| line.split_once("target/release/loadtest "));
        before.map(|(_, arguments)| words(arguments))
    };
    lines.iter().filter_map(arguments).collect()
}

#[test]
fn commands_of_the_readme_are_valid() {
    let commands = commands();
    assert!(commands.len() > 20, "the commands are found: {commands:?}");
    for command in commands {
        let words = ["loadtest"].into_iter().chain(command.iter().map(String::as_str));
        if let Err(error) = Program::try_parse_from(words) {
            panic!("{command:?}: {error}");
        }
    }
}

#[test]
fn every_scenario_is_in_the_readme() {
    for scenario in Program::command().get_subcommands() {
        let name = scenario.get_name();
        assert!(README.contains(&format!("`{name}`")), "{name} is not in README.md");
    }
}

#[test]
fn arguments_of_a_command_are_distinguished() {
    assert_eq!(
        words(r#"fleet --post-header "A: b"   --keep  # why; not"#),
        ["fleet", "--post-header", "A: b", "--keep"]
    );
    assert_eq!(words("fanout --url u; done"), ["fanout", "--url", "u"]);
}
