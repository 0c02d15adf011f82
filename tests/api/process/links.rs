//! The links of the documents lead to files and headings.

use super::readme::{DOCUMENTS, in_project, read};

/// Returns the link targets of a text, without titles, blocks and code.
fn link_targets(text: &str) -> Vec<&str> {
    let outside_of_blocks = text.split("\n```").step_by(2);
    let behind_brackets = outside_of_blocks.flat_map(|part| part.split("](").skip(1));
    let links = behind_brackets.filter_map(|rest| rest.split_once(')'));
    links.map(|(link, _)| link.split_once(" \"").map_or(link, |(target, _)| target)).collect()
}

/// The documents of a folder.
fn documents_in(folder: &str) -> Vec<String> {
    let names = std::fs::read_dir(in_project(folder)).unwrap().map(|entry| entry.unwrap().file_name());
    let paths = names.map(|name| format!("{folder}/{}", name.to_string_lossy()));
    paths.filter(|path| path.ends_with(".md")).collect()
}

/// Returns whether a document has a heading with this anchor, as GitHub generates it.
fn has_anchor(text: &str, anchor: &str) -> bool {
    let kept = |c: &char| c.is_alphanumeric() || [' ', '-', '_'].contains(c);
    let anchor_of = |heading: &str| {
        let words: String = heading.trim().to_lowercase().chars().filter(kept).collect();
        words.replace(' ', "-")
    };
    text.lines()
        .filter(|line| line.starts_with('#'))
        .any(|line| anchor_of(line.trim_start_matches('#')) == anchor)
}

#[test]
fn links_of_the_documents_lead_somewhere() {
    let others = [
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "docs/glossary.md",
        "docs/releasing.md",
        "loadtest/README.md",
        "samples/README.md",
        "samples/dashboard/README.md",
        "samples/device-c/README.md",
        "samples/device-python/README.md",
        "samples/microservice-python/README.md",
        "sql/README.md",
        "tests/clients/README.md",
    ];
    let internals = [documents_in("docs/internals"), documents_in("docs/decisions")].concat();
    assert!(internals.len() > 20, "both folders are read");
    for path in DOCUMENTS.iter().chain(&others).copied().chain(internals.iter().map(String::as_str)) {
        let (text, file) = (read(path), in_project(path));
        for target in link_targets(&text).into_iter().filter(|target| !target.starts_with("http")) {
            let (name, anchor) = target.split_once('#').unwrap_or((target, ""));
            let there = if name.is_empty() { file.clone() } else { file.parent().unwrap().join(name) };
            assert!(there.exists(), "{path} links to {target}, which is not there");
            let anchored = anchor.is_empty() || has_anchor(&std::fs::read_to_string(&there).unwrap(), anchor);
            assert!(anchored, "{path} links to {target}, which has no such heading");
        }
    }
}
