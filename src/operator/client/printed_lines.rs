//! Command lines that the documentation and the help print: each is one that the program accepts.

use std::collections::HashSet;

use super::commands::commands;
use super::nouns::nouns;

fn complete() -> clap::Command {
    let mut command = clap::Command::new("platform").subcommands(commands());
    command.build();
    command
}

/// Splits a line at spaces outside quotes.
fn words_of(line: &str) -> Vec<String> {
    let (mut words, mut quote) = (vec![String::new()], None);
    for character in line.trim().chars() {
        match (character, quote) {
            ('"' | '\'', None) => quote = Some(character),
            (end, Some(begun)) if end == begun => quote = None,
            (' ', None) => words.push(String::new()),
            (other, _) => words.last_mut().unwrap().push(other),
        }
    }
    words.into_iter().filter(|word| !word.is_empty()).collect()
}

#[test]
fn examples_of_the_help_are_command_lines() {
    for noun in nouns() {
        let examples = noun.examples.replace("\\\n", " ");
        for line in examples.lines().flat_map(|line| line.split(" | ")) {
            let words = words_of(line);
            let parsed = complete().try_get_matches_from(&words);
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
        }
    }
}

#[test]
fn pages_of_the_reference_have_a_command_line_for_each_operation_that_has_a_command() {
    let mut found = 0;
    for (path, html) in platform_content::pages().filter(|(path, _)| path.starts_with("api/")) {
        for section in html.split("<h2 id=\"").skip(1) {
            let id = section.split('"').next().unwrap();
            let verb = nouns().flat_map(|noun| noun.verbs.iter().map(move |verb| (noun, verb)));
            let verb = verb.into_iter().find(|(_, (_, operation))| *operation == id);
            let line =
                section.split_once("<pre class=\"cli\">").and_then(|(_, rest)| rest.split_once("</pre>"));
            assert_eq!(line.is_some(), verb.is_some(), "{path}#{id}");
            let (Some((line, _)), Some((noun, (verb, _)))) = (line, verb) else { continue };
            let line =
                line.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
            assert!(
                line.starts_with(&format!("platform {} {}", noun.name, verb.name())),
                "{path}#{id}: {line}"
            );
            let parsed = complete().try_get_matches_from(words_of(&line));
            assert!(parsed.is_ok(), "{path}#{id}: {line}\n{}", parsed.unwrap_err());
            found += 1;
        }
    }
    // Several commands may use one operation, whose page shows one of them.
    let known: HashSet<&str> = nouns().flat_map(|noun| noun.verbs).map(|(_, operation)| *operation).collect();
    assert_eq!(found, known.len(), "operations with a command that are on the pages");
}
