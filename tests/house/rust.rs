//! Rust files, split into code and comments.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use crate::tree::{File, files, line_of};

/// A Rust file of the project.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) file: &'static File,
    /// The text with blanks in place of comments and of the content of literals. All offsets are those of the text.
    pub(crate) code: String,
    pub(crate) comments: Vec<Comment>,
    /// The lines that belong to raw strings, which cannot be broken.
    pub(crate) raw_lines: BTreeSet<usize>,
}

/// A comment that begins with two slashes.
#[derive(Debug)]
pub(crate) struct Comment {
    pub(crate) line: usize,
    /// The text from the slashes on.
    pub(crate) text: String,
    /// Whether the line has nothing else.
    pub(crate) is_alone: bool,
}

/// Returns all Rust files.
pub(crate) fn sources() -> &'static [Source] {
    static SOURCES: OnceLock<Vec<Source>> = OnceLock::new();
    SOURCES.get_or_init(|| files(".rs").map(split).collect())
}

/// Returns the files and directories of modules that are compiled only for tests.
fn test_modules() -> &'static BTreeSet<String> {
    static MODULES: OnceLock<BTreeSet<String>> = OnceLock::new();
    MODULES.get_or_init(|| {
        let declared = sources().iter().flat_map(|source| {
            test_items(&source.code).filter_map(|(begin, end)| declared_file(source, begin, end))
        });
        declared.collect()
    })
}

impl Source {
    /// Returns the code without items for tests; `None` for a file of tests.
    pub(crate) fn production(&self) -> Option<String> {
        let path = &self.file.path;
        let folders = path.match_indices('/').map(|(at, _)| &path[..=at]);
        let is_test = path.starts_with("tests/") || path.contains("/tests/") || path.contains("/examples/");
        if is_test || folders.chain([path.as_str()]).any(|part| test_modules().contains(part)) {
            return None;
        }
        let mut code = self.code.clone().into_bytes();
        for (begin, end) in test_items(&self.code) {
            blank(&mut code[begin..end]);
        }
        Some(String::from_utf8(code).expect("whole characters were blanked"))
    }
}

/// Returns the file, or the folder with a slash, of a declaration such as `mod tests;`.
fn declared_file(source: &Source, begin: usize, end: usize) -> Option<String> {
    let item = &source.code[begin..end];
    let name = item.split_once("mod ")?.1.strip_suffix(';')?;
    let (folder, file) = source.file.path.rsplit_once('/')?;
    if let Some((_, rest)) = source.file.text[begin..end].split_once("#[path = \"") {
        return Some(format!("{folder}/{}", rest.split_once('"')?.0));
    }
    let folder = match file {
        "mod.rs" | "lib.rs" | "main.rs" => folder.to_owned(),
        _ => source.file.path.strip_suffix(".rs")?.to_owned(),
    };
    let path = format!("{folder}/{name}.rs");
    Some(if files(".rs").any(|file| file.path == path) { path } else { format!("{folder}/{name}/") })
}

/// Returns the ranges of the items after `#[cfg(test)]`.
fn test_items(code: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    code.match_indices("#[cfg(test)]").map(|(begin, _)| (begin, end_of_item(code, begin)))
}

/// Returns the end of the item, field, variant or arm after the attribute that begins here.
fn end_of_item(code: &str, begin: usize) -> usize {
    let rest = code[begin..].trim_start_matches("#[cfg(test)]").trim_start();
    let word = rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '#').next().unwrap_or_default();
    let is_item =
        ["#", "pub", "fn", "mod", "use", "impl", "struct", "enum", "const", "static", "async", "let", "type"]
            .contains(&word);
    let mut depth = 0;
    for (at, byte) in code.bytes().enumerate().skip(begin) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b'}' if depth == 1 && is_item && word != "use" => return at + 1,
            b')' | b']' | b'}' if depth == 0 => return at,
            b')' | b']' | b'}' => depth -= 1,
            b';' if depth == 0 => return at + 1,
            b',' if depth == 0 && !is_item => return at + 1,
            _ => {}
        }
    }
    code.len()
}

/// Returns the offset of the brace that closes the one at `open`.
pub(crate) fn closing(code: &str, open: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// The kinds of text that are not code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Code,
    LineComment,
    BlockComment,
    Literal,
    RawString,
}

fn split(file: &'static File) -> Source {
    let text = &file.text;
    let mut code = text.clone().into_bytes();
    let (mut comments, mut raw_lines) = (Vec::new(), BTreeSet::new());
    let (mut at, mut line) = (0, 1);
    while at < code.len() {
        let (token, length) = token(text.as_bytes(), at);
        let end = (at + length).min(code.len());
        match token {
            Token::Code => {}
            Token::LineComment => {
                let is_alone = text[..at].rsplit('\n').next().is_none_or(|before| before.trim().is_empty());
                comments.push(Comment { line, text: text[at..end].to_owned(), is_alone });
            }
            Token::RawString => raw_lines.extend(line..=line + line_of(&text[at..end], end - at) - 1),
            Token::BlockComment | Token::Literal => {}
        }
        line += text.as_bytes()[at..end].iter().filter(|byte| **byte == b'\n').count();
        if token != Token::Code {
            blank(&mut code[at..end]);
        }
        at = end;
    }
    let code = String::from_utf8(code).expect("whole characters were blanked");
    Source { file, code, comments, raw_lines }
}

fn blank(bytes: &mut [u8]) {
    bytes.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
}

/// Returns the token that begins here, and its length in bytes.
fn token(bytes: &[u8], at: usize) -> (Token, usize) {
    let rest = &bytes[at..];
    let follows_word = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
    match rest {
        [b'/', b'/', ..] => (Token::LineComment, position(rest, b"\n").unwrap_or(rest.len())),
        [b'/', b'*', ..] => (Token::BlockComment, position(rest, b"*/").map_or(rest.len(), |end| end + 2)),
        [b'"', ..] => (Token::Literal, quoted(rest, b'"')),
        [b'\'', b'\\', ..] => (Token::Literal, quoted(rest, b'\'')),
        [b'\'', ..] => character(rest).map_or((Token::Code, 1), |length| (Token::Literal, length)),
        [b'r', b'"' | b'#', ..] if !follows_word => raw_string(rest, 1),
        [b'b' | b'c', b'r', b'"' | b'#', ..] if !follows_word => raw_string(rest, 2),
        _ => (Token::Code, 1),
    }
}

/// Returns the length of a literal that a quote ends; a backslash escapes the next byte.
fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != quote {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// Returns the length of a character in quotes; `None` for a lifetime.
fn character(rest: &[u8]) -> Option<usize> {
    let length = rest.get(1..)?.utf8_chunks().next()?.valid().chars().next()?.len_utf8();
    (rest.get(1 + length) == Some(&b'\'')).then_some(length + 2)
}

/// Returns the length of a raw string whose marks follow its letters; those of a raw identifier are code.
fn raw_string(rest: &[u8], letters: usize) -> (Token, usize) {
    let marks = rest[letters..].iter().take_while(|byte| **byte == b'#').count();
    if rest.get(letters + marks) != Some(&b'"') {
        return (Token::Code, letters);
    }
    let content = letters + marks + 1;
    let end = [b"\"".as_slice(), &rest[letters..letters + marks]].concat();
    (Token::RawString, position(&rest[content..], &end).map_or(rest.len(), |at| content + at + end.len()))
}

fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

#[test]
fn literals_and_comments_are_not_code() {
    let cases = [
        ("a; // b", "a;     "),
        ("a /* { */ b", "a         b"),
        (r#"f("{ \" }") x"#, "f(        ) x"),
        ("f('{', '\\'', 'ä')", "f(   ,     ,     )"),
        ("f<'a>(&'a str)", "f<'a>(&'a str)"),
        ("f(r#\"{ \" }\"#)", "f(          )"),
        ("r#type {", "r#type {"),
        ("for b in br\"{\" {", "for b in       {"),
    ];
    for (text, expected) in cases {
        let file = Box::leak(Box::new(File { path: "a.rs".to_owned(), text: text.to_owned() }));
        assert_eq!(split(file).code, expected, "{text}");
    }
}

#[test]
fn items_for_tests_end_where_they_end() {
    let cases = [
        ("#[cfg(test)]\nmod tests;\nfn f() {}", "\nfn f() {}"),
        ("#[cfg(test)]\nmod tests { fn g() {} }\nfn f() {}", "\nfn f() {}"),
        ("#[cfg(test)]\nuse a::{b, c};\nfn f() {}", "\nfn f() {}"),
        ("#[cfg(test)]\n#[path = \"a.rs\"]\nmod tests;\nfn f() {}", "\nfn f() {}"),
        ("enum E { A, #[cfg(test)] B(u8, u8), C }", " C }"),
        ("match e { #[cfg(test)] A => f(1, 2), B => 3 }", " B => 3 }"),
        ("struct S { #[cfg(test)] a: u8 }", "}"),
    ];
    for (code, rest) in cases {
        let (_, end) = test_items(code).next().expect("each has one");
        assert_eq!(&code[end..], rest, "{code}");
    }
}
