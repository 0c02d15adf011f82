//! Sentences of comments.

/// A sentence of a comment.
#[derive(Debug)]
pub(crate) struct Sentence {
    pub(crate) line: usize,
    /// The words in lower case, with `,` where the sentence pauses. Code is one word.
    pub(crate) words: Vec<String>,
    pub(crate) text: String,
}

/// The mark of code among the words.
const CODE: &str = "`";

/// Splits comments into sentences. Each comment is a line number, a kind (such as `///`) and the text after it; a
/// paragraph goes on as long as lines and kinds do.
pub(crate) fn sentences<'a>(comments: impl Iterator<Item = (usize, &'a str, &'a str)>) -> Vec<Sentence> {
    let mut found = Vec::new();
    let mut block: Vec<(usize, &str)> = Vec::new();
    let (mut last, mut in_code) = ((0, ""), false);
    for (line, kind, text) in comments {
        if last != (line - 1, kind) {
            of_block(&mut block, &mut found);
            in_code = false;
        }
        last = (line, kind);
        let text = text.trim();
        if text.starts_with("```") {
            in_code = !in_code;
            of_block(&mut block, &mut found);
        } else if in_code || text.is_empty() || text.starts_with(['#', '|']) {
            of_block(&mut block, &mut found);
        } else if let Some(item) = item(text) {
            of_block(&mut block, &mut found);
            block.push((line, item));
        } else {
            block.push((line, text));
        }
    }
    of_block(&mut block, &mut found);
    found
}

/// Returns the text of an item of a list.
fn item(text: &str) -> Option<&str> {
    let numbered = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = if numbered.len() < text.len() { numbered.strip_prefix(". ") } else { None };
    numbered.or_else(|| text.strip_prefix("- ")).or_else(|| text.strip_prefix("* "))
}

fn of_block(block: &mut Vec<(usize, &str)>, found: &mut Vec<Sentence>) {
    let words: Vec<(usize, String)> = block
        .drain(..)
        .flat_map(|(line, text)| split(text).into_iter().map(move |word| (line, word)))
        .collect();
    let mut begin = 0;
    for at in 0..words.len() {
        if words.get(at + 1).is_none_or(|(_, next)| ends(&words[at].1, next)) {
            found.push(sentence(&words[begin..=at]));
            begin = at + 1;
        }
    }
}

/// Splits at blanks, but not within backticks.
fn split(text: &str) -> Vec<String> {
    let mut in_code = false;
    let is_gap = |c: char| {
        in_code ^= c == '`';
        c == ' ' && !in_code
    };
    text.split(is_gap).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn ends(word: &str, next: &str) -> bool {
    let word = word.trim_end_matches([')', '"', '\'', '*']);
    let next = next.trim_start_matches(['(', '"', '\'', '*', '[']);
    word.ends_with(['.', '?', '!', ':'])
        && !matches!(word, "e.g." | "i.e." | "etc." | "vs.")
        && next.starts_with(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '`' || c == '<')
}

fn sentence(parts: &[(usize, String)]) -> Sentence {
    let mut words = Vec::new();
    for (_, part) in parts {
        let word = part.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        if part.trim_start_matches(['(', '[', '"', '\'', '*']).starts_with(CODE) {
            words.push(CODE.to_owned());
        } else if !word.is_empty() {
            words.push(word);
        }
        let pauses = part.trim_end_matches(['"', '\'', '*', ')']).ends_with([',', ';', ':']);
        if pauses || matches!(part.as_str(), "—" | "–") {
            words.push(",".to_owned());
        }
    }
    while words.last().is_some_and(|word| word == ",") {
        words.pop();
    }
    let text: Vec<&str> = parts.iter().map(|(_, part)| part.as_str()).collect();
    Sentence { line: parts[0].0, words, text: text.join(" ") }
}
