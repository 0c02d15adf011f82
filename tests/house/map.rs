//! The map of the modules in ARCHITECTURE.md or docs/internals/map.md: a block of text below a heading that ends in
//! "map", with a section for each crate.

use std::collections::BTreeSet;

use crate::imports::{House, houses};
use crate::tree::{File, Violation, files, root};

const PLACES: [&str; 2] = ["ARCHITECTURE.md", "docs/internals/map.md"];

/// The lines of a crate in the map.
struct Section<'a> {
    line: usize,
    /// The words that are paths, with their lines.
    paths: Vec<(usize, &'a str)>,
}

pub(crate) fn violations() -> Vec<Violation> {
    let documents = files(".md").filter(|file| PLACES.contains(&file.path.as_str()));
    let Some((file, begin, block)) =
        documents.filter_map(|file| find_map(file).map(|(line, text)| (file, line, text))).next()
    else {
        let text = format!(
            "there is no map: a heading that ends in \"map\" and a block ```text in {}",
            PLACES.join(" or ")
        );
        return vec![Violation::new(PLACES[0], 1, text)];
    };
    let mut violations = Vec::new();
    for house in houses() {
        let folder = format!("{}/", house.folder);
        let Some(section) = section(&folder, begin, block) else {
            violations.push(Violation::new(
                &file.path,
                begin,
                format!("the map has no line that begins with {folder}"),
            ));
            continue;
        };
        violations.extend(compare(file, house, &section));
    }
    violations
}

fn compare(file: &File, house: &House, section: &Section) -> Vec<Violation> {
    let mut violations = Vec::new();
    let shown: BTreeSet<&str> = section.paths.iter().map(|(_, path)| *path).collect();
    for module in &house.modules {
        if !shown.contains(format!("{module}.rs").as_str()) && !shown.contains(format!("{module}/").as_str())
        {
            let text = format!("the map of {} lacks the module {module}", house.folder);
            violations.push(Violation::new(&file.path, section.line, text));
        }
    }
    for (line, path) in &section.paths {
        let exists = |folder: &str| root().join(folder).join(path).exists();
        if !exists(house.folder) && !exists("") {
            let text = format!("{path} of the map exists neither in {} nor in the project", house.folder);
            violations.push(Violation::new(&file.path, *line, text));
        }
    }
    violations
}

/// Returns the line and the text of the map.
fn find_map(file: &File) -> Option<(usize, &str)> {
    let text = &file.text;
    let is_heading = |line: &str| line.starts_with('#') && line.to_lowercase().ends_with("map");
    let heading = text.lines().find(|line| is_heading(line))?;
    let begin = text.find(&format!("{heading}\n"))?;
    let block = begin + text[begin..].find("```text\n")? + "```text\n".len();
    let end = block + text[block..].find("```")?;
    Some((crate::tree::line_of(text, block), &text[block..end]))
}

/// Returns the lines from the one that begins with the folder up to the next one that begins with a word.
fn section<'a>(folder: &str, begin: usize, block: &'a str) -> Option<Section<'a>> {
    let lines = block.lines().enumerate().map(|(number, line)| (begin + number, line));
    let mut lines =
        lines.skip_while(|(_, line)| line.split_whitespace().next() != Some(folder) || line.starts_with(' '));
    let (line, first) = lines.next()?;
    let rest = lines.take_while(|(_, line)| !line.starts_with(|c: char| c.is_alphanumeric()));
    let own = (line, first.split_once(folder).map_or("", |(_, rest)| rest));
    let words =
        [own].into_iter().chain(rest).flat_map(|(line, text)| paths(text).map(move |path| (line, path)));
    Some(Section { line, paths: words.collect() })
}

/// Returns the words of a line that are paths of files or folders.
fn paths(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '/' | '.' | '-')));
    words
        .map(|word| word.trim_end_matches('.'))
        .filter(|word| word.len() > 1 && (word.ends_with(".rs") || word.ends_with('/')))
}
