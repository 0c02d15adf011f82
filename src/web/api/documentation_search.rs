//! `/docs/search`: sections of the documentation that contain all words of a question. The build makes the index, so
//! the search works without a connection to anybody else, and its page has no scripts.

use std::fmt::Write as _;
use std::sync::LazyLock;

use platform_content::{SEARCH_INDEX, inflated};
use serde::Deserialize;

/// The maximum number of characters of a question that are read.
const LONGEST: usize = 200;
/// The maximum number of words that are searched for.
const MOST_WORDS: usize = 8;
/// The maximum number of sections that are shown.
const MOST_SHOWN: usize = 30;
/// The number of bytes that are shown before the first word that was found, and after it.
const BEFORE: usize = 60;
const AFTER: usize = 160;

static SECTIONS: LazyLock<Vec<Searched>> = LazyLock::new(|| {
    let sections: Vec<Section> =
        serde_json::from_str(&inflated(SEARCH_INDEX)).expect("the build wrote the index");
    sections.into_iter().map(Searched::of).collect()
});

/// A section as the build describes it.
#[derive(Deserialize)]
struct Section {
    address: String,
    title: String,
    page: String,
    text: String,
}

/// A section with its texts in lower case. Only ASCII letters are changed, so that positions are the same.
struct Searched {
    shown: Section,
    title: String,
    page: String,
    text: String,
}

impl Searched {
    fn of(shown: Section) -> Self {
        let [title, page, text] =
            [&shown.title, &shown.page, &shown.text].map(|text| text.to_ascii_lowercase());
        Self { shown, title, page, text }
    }

    /// Returns how well the section fits; `None` if a word is missing.
    fn score(&self, words: &[String]) -> Option<u32> {
        let of_word = |word: &String| {
            let (in_title, in_text) = (found(&self.title, word), found(&self.text, word));
            let score = match (in_title, in_text) {
                (Some(Place::Start), _) if self.title == *word => 100,
                (Some(Place::Start), _) => 30,
                (Some(Place::Within), _) => 15,
                (None, Some(Place::Start)) => 4,
                (None, Some(Place::Within)) => 1,
                (None, None) => 0,
            };
            let score = score + if found(&self.page, word).is_some() { 5 } else { 0 };
            (score > 0).then_some(score)
        };
        words.iter().map(of_word).sum()
    }

    /// Returns the part of the text around the first word that is in it.
    fn excerpt(&self, words: &[String]) -> String {
        let first = words.iter().filter_map(|word| self.text.find(word)).min().unwrap_or(0);
        let text = &self.shown.text;
        let (from, to) = (first.saturating_sub(BEFORE), (first + AFTER).min(text.len()));
        let (from, to) = (text.ceil_char_boundary(from), text.floor_char_boundary(to));
        let [before, after] =
            [(from > 0, "…"), (to < text.len(), "…")].map(|(cut, sign)| if cut { sign } else { "" });
        format!("{before}{}{after}", marked(&text[from..to], words))
    }
}

/// The place of a word in a text.
enum Place {
    /// A word of the text begins with it.
    Start,
    /// It is within a word.
    Within,
}

fn found(text: &str, word: &str) -> Option<Place> {
    let mut places = text.match_indices(word).peekable();
    places.peek()?;
    let starts = |(at, _): (usize, &str)| !text[..at].ends_with(|c: char| c.is_alphanumeric());
    Some(if places.any(starts) { Place::Start } else { Place::Within })
}

/// Returns the part of a question that is read.
pub(super) fn bounded(question: &str) -> String {
    question.chars().take(LONGEST).collect()
}

/// Returns the words of a question in lower case.
fn words_of(question: &str) -> Vec<String> {
    let words = question.split_whitespace().take(MOST_WORDS);
    words.map(str::to_ascii_lowercase).collect()
}

/// Returns the sections that contain all words of a question as HTML, the best first.
pub(super) fn results(question: &str) -> String {
    let words = words_of(question);
    if words.is_empty() {
        return "<p>Which words do you look for? A section is found if it contains all of them.</p>"
            .to_owned();
    }
    let mut found: Vec<_> =
        SECTIONS.iter().filter_map(|section| Some((section.score(&words)?, section))).collect();
    // The sort is stable: sections that fit equally well stay in the order of the pages.
    found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    let shown = escaped(&words.join(" "));
    let mut html = match found.len() {
        1 => format!("<p role=\"status\">One section contains: {shown}</p>\n"),
        0 => format!("<p role=\"status\">No section contains all of: {shown}</p>\n"),
        count => format!("<p role=\"status\">{count} sections contain: {shown}</p>\n"),
    };
    html.push_str("<ol>\n");
    for (_, section) in found.iter().take(MOST_SHOWN) {
        let Section { address, title, page, .. } = &section.shown;
        let (title, page) = (escaped(title), escaped(page));
        let page = if title == page { String::new() } else { format!(" ({page})") };
        writeln!(html, "<li><a href=\"{address}\">{title}</a>{page}<br>{}</li>", section.excerpt(&words))
            .expect("writing to memory does not fail");
    }
    html + "</ol>\n"
}

/// Returns a text as HTML in which the words are marked.
fn marked(text: &str, words: &[String]) -> String {
    let lower = text.to_ascii_lowercase();
    let (mut html, mut at) = (String::new(), 0);
    while let Some((start, length)) = words
        .iter()
        .filter_map(|word| lower[at..].find(word.as_str()).map(|found| (at + found, word.len())))
        .min_by_key(|(start, length)| (*start, std::cmp::Reverse(*length)))
    {
        let end = start + length;
        write!(html, "{}<mark>{}</mark>", escaped(&text[at..start]), escaped(&text[start..end]))
            .expect("writing to memory does not fail");
        at = end;
    }
    html + &escaped(&text[at..])
}

/// Returns a text with the characters that HTML reserves as entities.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the addresses that a search finds, the best first.
    fn addresses(question: &str) -> Vec<String> {
        let html = results(question);
        html.split("<li><a href=\"")
            .skip(1)
            .filter_map(|rest| Some(rest.split('"').next()?.to_owned()))
            .collect()
    }

    #[test]
    fn search_finds_operations_members_rules_settings_and_guides() {
        for (question, place) in [
            ("raise an alarm", "/docs/api/alarms#createAlarm"),
            ("firstOccurrenceTime", "/docs/api/alarms#Alarm"),
            ("c-07b", "/docs/rules#c-07b"),
            ("C-07B", "/docs/rules#c-07b"),
            ("tenant-sub-tenants", "/docs/settings"),
            ("dynamic group query", "/docs/guide/inventory"),
            ("role_smartrule_admin", "/docs/roles#ROLE_SMARTRULE_ADMIN"),
            ("request header fields too large", "/docs/errors#status"),
        ] {
            let found = addresses(question);
            assert!(found.iter().take(8).any(|address| address.starts_with(place)), "{question}: {found:?}");
        }
        assert_eq!(addresses("c-07b")[0], "/docs/rules#c-07b");
    }

    #[test]
    fn section_lacks_no_word_of_the_question() {
        assert!(addresses("alarm nosuchword").is_empty());
        assert!(results("nosuchword").contains("No section contains all of: nosuchword"));
        assert!(results("  ").contains("Which words"));
    }

    #[test]
    fn question_is_shown_as_text_whatever_it_contains() {
        for question in
            ["<script>alert(1)</script>", "\"><img src=x>", "a & b", &bounded(&"<".repeat(5000)), "ü\u{0}ﬁ😀"]
        {
            let html = results(question);
            assert!(!html.contains("<script") && !html.contains("<img") && html.len() < 40_000, "{html}");
        }
    }

    #[test]
    fn words_are_marked_and_the_rest_is_escaped() {
        assert_eq!(marked("a <b> B <i>", &["b".into()]), "a &lt;<mark>b</mark>&gt; <mark>B</mark> &lt;i&gt;");
        assert_eq!(marked("ÄÖ alarm", &["alarm".into()]), "ÄÖ <mark>alarm</mark>");
    }
}
