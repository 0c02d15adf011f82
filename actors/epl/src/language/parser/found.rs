//! Builds the message of a mistake: what the text contains at the position, what is allowed there, and what the
//! author probably meant.

use super::super::Mistake;
use super::super::lexer::Kind;
use super::Parser;

/// The maximum number of characters of a token that a message shows.
const SHOWN: usize = 40;

impl Parser<'_> {
    /// Returns the mistake that the current token is none of the tokens that were tried.
    pub(super) fn found(&mut self) -> Mistake {
        if let Kind::Wrong(wrong) = self.current.kind {
            return wrong.at(self.current.span);
        }
        let mut allowed: Vec<String> = Vec::new();
        for tried in std::mem::take(&mut self.tried) {
            let shown = if tried.contains(' ') { tried.to_owned() } else { format!("'{tried}'") };
            if !allowed.contains(&shown) {
                allowed.push(shown);
            }
        }
        let meant = match self.current.kind {
            Kind::Word => nearest(self.written(self.current.span), &allowed),
            _ => None,
        };
        let meant = meant.map(|word| format!("; did you mean {word}?")).unwrap_or_default();
        let message = format!("found {}, expected {}{meant}", self.shown_piece(), enumerate(&allowed));
        Mistake::new(self.current.span, message)
    }

    /// Returns the mistake that the current token is neither `what` (a description of several words) nor one of
    /// the tokens that were tried.
    pub(super) fn found_instead_of(&mut self, what: &'static str) -> Mistake {
        self.tried.insert(0, what);
        self.found()
    }

    fn shown_piece(&self) -> String {
        if self.current.kind == Kind::End {
            return "the end of the text".to_owned();
        }
        let written = self.written(self.current.span);
        let shown: String =
            written.chars().take(SHOWN).map(|next| if next.is_control() { ' ' } else { next }).collect();
        let rest = if written.chars().nth(SHOWN).is_some() { "…" } else { "" };
        match self.current.kind {
            Kind::Text | Kind::Escaped => format!("{shown}{rest}"),
            _ => format!("'{shown}{rest}'"),
        }
    }
}

/// Formats `a`, `a or b`, or `a, b or c`.
fn enumerate(allowed: &[String]) -> String {
    match allowed {
        [] => "nothing more".to_owned(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// Returns the keyword that differs from a word by one slip.
fn nearest<'a>(word: &str, allowed: &'a [String]) -> Option<&'a str> {
    let lower = word.to_ascii_lowercase();
    allowed.iter().map(String::as_str).find(|shown| is_near(&lower, shown.trim_matches('\'')))
}

/// Returns whether two words differ by one letter that is wrong, missing or superfluous, or by two swapped
/// letters.
pub(super) fn is_near(written: &str, keyword: &str) -> bool {
    if keyword.len() < 3 || !keyword.bytes().all(|byte| byte.is_ascii_alphabetic()) || !written.is_ascii() {
        return false;
    }
    let (written, keyword) = (written.as_bytes(), keyword.as_bytes());
    let same = written.iter().zip(keyword).take_while(|(a, b)| a == b).count();
    let (written, keyword) = (&written[same..], &keyword[same..]);
    match (written, keyword) {
        ([], []) => false,
        ([a, b, written @ ..], [c, d, keyword @ ..]) if (a, b) == (d, c) => written == keyword,
        _ => {
            let (fewer, fewer_of_keyword) = (written.get(1..), keyword.get(1..));
            fewer == Some(keyword)
                || fewer_of_keyword == Some(written)
                || (fewer.is_some() && fewer == fewer_of_keyword)
        }
    }
}
