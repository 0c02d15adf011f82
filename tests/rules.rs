//! Tests the rules of the API ([docs/rules.md](../docs/rules.md)): each cited code is defined there, each defined code
//! is cited, and the help of the commands cites none.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use platform_operator::cli;

const RULES: &str = "docs/rules.md";
/// The directories and files in which rules are cited.
const PLACES: [&str; 6] = ["src", "actors", "loadtest", "sql", "tests", "docs"];
/// Kinds of files that people read and write.
const KINDS: [&str; 6] = ["rs", "sql", "md", "html", "mjs", "toml"];
/// Directories with foreign or generated files only.
const FOREIGN: [&str; 2] = ["target", "node_modules"];

#[test]
fn every_cited_rule_is_defined_and_every_defined_rule_is_cited() {
    let defined = defined();
    let mut cited: BTreeMap<String, PathBuf> = BTreeMap::new();
    for (path, text) in texts() {
        for code in codes(&text) {
            cited.entry(code.to_owned()).or_insert_with(|| path.clone());
        }
    }
    assert!(cited.len() > 300, "only {} codes are cited: are all files read?", cited.len());

    let undefined: Vec<_> = cited.iter().filter(|(code, _)| !defined.contains(*code)).collect();
    let uncited: Vec<_> = defined.iter().filter(|code| !cited.contains_key(*code)).collect();

    assert!(undefined.is_empty(), "cited, but not defined in {RULES}: {undefined:?}");
    assert!(uncited.is_empty(), "defined in {RULES}, but cited nowhere: {uncited:?}");
}

#[test]
fn every_rule_is_defined_once_with_a_sentence_and_cites_rules_that_there_are() {
    let (text, defined) = (rules(), defined());

    let lines: Vec<&str> = text.lines().filter(|line| definition(line).is_some()).collect();

    assert_eq!(lines.len(), defined.len(), "a code is defined twice");
    for line in lines {
        let (code, sentence) = definition(line).expect("it is one");
        assert!(
            line.contains(&format!("<a id=\"{}\"></a>", code.to_lowercase())),
            "the link of {code}: {line}"
        );
        assert!(
            sentence.split(' ').count() > 3 && sentence.ends_with('.'),
            "{code} is no sentence: {sentence}"
        );
    }
    let unknown: Vec<_> = codes(&text).filter(|code| !defined.contains(*code)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn sections_that_are_cited_are_there() {
    let text = rules();
    let sections: BTreeSet<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("## ").or_else(|| line.strip_prefix("### ")))
        .map(anchor)
        .collect();
    let known = |anchor: &str| sections.contains(anchor) || defined().contains(&capital(anchor));
    let link = format!("{RULES}#");
    let mut links = 0;
    for (path, text) in texts() {
        for rest in text.split(&link).skip(1) {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(rest.len());
            assert!(known(&rest[..end]), "{link}{} in {}", &rest[..end], path.display());
            links += 1;
        }
    }
    assert!(links > 50, "only {links} links to sections: are all files read?");
}

#[test]
fn nothing_is_cited_that_is_not_in_the_project() {
    let absent = ["document 1", "document 2", "document 3", "ruling"];
    for (path, text) in texts() {
        let text = text.to_lowercase();
        let cited = absent.iter().find(|absent| text.contains(*absent));
        // Migrations must never change, so old citations may remain in them.
        let may = path.starts_with(root().join("sql/migrations"));
        assert!(may || cited.is_none(), "{} cites {cited:?}", path.display());
    }
}

#[test]
fn help_cites_no_rule() {
    let mut pages = 0;
    let program = cli::program();
    // Hundreds of processes would take seconds, so the parser of the program runs in this one.
    let help_of = |command: &[String], flag: &str| {
        let arguments = ["platform"].into_iter().chain(command.iter().map(String::as_str)).chain([flag]);
        let help = program.clone().try_get_matches_from(arguments).expect_err("help is requested");
        assert_eq!(help.exit_code(), 0, "{command:?} {flag}: {help}");
        help.to_string()
    };
    let mut commands = vec![Vec::new()];
    while let Some(command) = commands.pop() {
        let [short, long] = ["-h", "--help"].map(|flag| help_of(&command, flag));
        for (flag, page) in [("-h", &short), ("--help", &long)] {
            let cited: Vec<&str> = codes(page).collect();
            assert!(cited.is_empty(), "platform {} {flag} cites {cited:?}", command.join(" "));
            pages += 1;
        }
        let listed = long.lines().skip_while(|line| *line != "Commands:").skip(1);
        let listed = listed.take_while(|line| line.starts_with("  "));
        let names = listed.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
        commands.extend(names.map(|name| [command.clone(), vec![name.to_owned()]].concat()));
    }
    assert!(pages > 20, "only {pages} pages of help: are all commands found?");
}

#[test]
fn codes_are_distinguished_from_other_words() {
    let text =
        "U-10a, B-22/B-24 (W-17) A-01 to A-13; UTF-8 SHA-256 X-Id 2024-03-10 A-1 A-001 A-01b2 XA-01 a-01";
    assert_eq!(codes(text).collect::<Vec<_>>(), ["U-10a", "B-22", "B-24", "W-17", "A-01", "A-13"]);
}

fn rules() -> String {
    fs::read_to_string(root().join(RULES)).expect("the rules are there")
}

/// The codes that the rules define.
fn defined() -> BTreeSet<String> {
    rules().lines().filter_map(definition).map(|(code, _)| code.to_owned()).collect()
}

/// The code and the sentences of a line that defines a rule.
fn definition(line: &str) -> Option<(&str, &str)> {
    let (_, rest) = line.strip_prefix("- <a id=\"")?.split_once("</a>**")?;
    let (code, sentences) = rest.split_once("** ")?;
    is_code(code).then_some((code, sentences))
}

/// Returns all files that may cite rules, and their texts.
fn texts() -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    for place in PLACES {
        collect(&root().join(place), &mut files);
    }
    let beside = fs::read_dir(root()).expect("the project can be read");
    files.extend(beside.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_file()));
    files.retain(|path| is_read(path));
    let read = |path: PathBuf| fs::read_to_string(&path).ok().map(|text| (path, text));
    files.into_iter().filter_map(read).collect()
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory of the project") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        match path.is_dir() {
            true if FOREIGN.contains(&name) => {}
            true => collect(&path, files),
            false => files.push(path),
        }
    }
}

/// The file of rules and this test are not read: the test contains invented codes.
fn is_read(path: &Path) -> bool {
    let is_kind = path.extension().is_some_and(|kind| KINDS.iter().any(|known| kind == *known));
    (is_kind || path.ends_with(".env.example")) && !path.ends_with(RULES) && !path.ends_with("tests/rules.rs")
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the codes of rules in a text, such as `U-10a`.
fn codes(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).filter(|word| is_code(word))
}

fn is_code(word: &str) -> bool {
    match word.as_bytes() {
        [b'A'..=b'Z', b'-', tens, ones] | [b'A'..=b'Z', b'-', tens, ones, b'a'..=b'z'] => {
            tens.is_ascii_digit() && ones.is_ascii_digit()
        }
        _ => false,
    }
}

/// Returns the anchor of a section, which is derived from its title.
fn anchor(title: &str) -> String {
    let letters = title.chars().filter(|c| c.is_ascii_alphanumeric() || [' ', '-'].contains(c));
    letters.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// Returns the code that belongs to an anchor.
fn capital(anchor: &str) -> String {
    let mut letters = anchor.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}
