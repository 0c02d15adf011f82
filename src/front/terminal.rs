//! Text that others wrote, such as the name of a device, on the terminal of an operator.
//!
//! A terminal executes control sequences, and controls of the writing direction make a text look like another one. Both
//! are replaced wherever the output is a terminal, and in all that goes to standard error. A pipe or a file gets the
//! bytes as they came.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, IsTerminal, Write};

/// Returns whether a terminal would execute a character instead of showing it: control characters of ASCII and of
/// ISO 6429 (C1), and the controls of the writing direction (Unicode property Bidi_Control).
pub fn is_executed(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn is_dangerous(character: char) -> bool {
    is_executed(character) && !matches!(character, '\n' | '\t')
}

/// Replaces each character that a terminal would execute, except line ends and tabs.
pub fn harmless(text: &str) -> Cow<'_, str> {
    if text.contains(is_dangerous) { text.replace(is_dangerous, "\u{fffd}").into() } else { text.into() }
}

/// Escapes each character of a JSON text that a terminal would execute. The text means the same afterwards.
pub fn harmless_json(text: &str) -> Cow<'_, str> {
    // Outside of its strings a JSON text has none of these characters.
    if !text.contains(is_dangerous) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            c if is_dangerous(c) => escaped.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => escaped.push(c),
        }
    }
    escaped.into()
}

/// Writes a line to standard error.
pub fn say(line: impl fmt::Display) {
    writeln!(io::stderr(), "{}", harmless(&line.to_string())).ok();
}

/// Writes bytes to standard output.
///
/// # Errors
/// The output is closed or cannot be written.
pub fn print(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if out.is_terminal() {
        out.write_all(harmless(&String::from_utf8_lossy(bytes)).as_bytes())?;
    } else {
        out.write_all(bytes)?;
    }
    out.flush()
}

/// Standard error for lines of the log. Their colours are control sequences of ASCII, and all others of ASCII are
/// escaped already.
pub(crate) struct LogLines;

impl Write for LogLines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        io::stderr().write_all(log_line(line).as_ref())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

fn log_line(line: &[u8]) -> Cow<'_, [u8]> {
    let is_replaced = |c: char| !c.is_ascii() && is_executed(c);
    match std::str::from_utf8(line) {
        Ok(text) if text.contains(is_replaced) => text.replace(is_replaced, "\u{fffd}").into_bytes().into(),
        _ => line.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXECUTED: &str = "\u{1b}]0;owned\u{7}\u{8}\r\u{7f}\u{85}\u{9b}31m\u{61c}\u{200e}\u{200f}\u{202a}\u{202e}\
        \u{2066}\u{2069}\0";

    #[test]
    fn each_executed_character_is_replaced_and_all_others_stay() {
        let shown = harmless(EXECUTED);
        assert!(!shown.contains(is_executed), "{shown:?}");
        assert_eq!(shown.matches(|c: char| c.is_ascii_graphic()).collect::<String>(), "]0;owned31m");
        for text in ["", "größe 日本 𝒳", "two\nlines\tand a tab", "שלום", "a\u{200d}b"] {
            assert_eq!(harmless(text), text);
        }
    }

    #[test]
    fn json_means_the_same_after_the_escapes() {
        let value = serde_json::json!({"name": EXECUTED, "list": [EXECUTED]});
        for text in [value.to_string(), format!("{value:#}")] {
            let shown = harmless_json(&text);
            assert!(!shown.contains(is_dangerous), "{shown:?}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).expect("JSON"), value);
        }
    }

    #[test]
    fn line_of_the_log_keeps_its_colours_alone() {
        let shown = log_line("\u{1b}[33m WARN\u{1b}[0m größe\u{9b}31m\u{202e}\n".as_bytes()).into_owned();
        assert_eq!(
            String::from_utf8(shown).expect("text"),
            "\u{1b}[33m WARN\u{1b}[0m größe\u{fffd}31m\u{fffd}\n"
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_harmless_afterwards(text in "\\PC{0,8}[\\x00-\\x9f\\u{200e}-\\u{2069}]{0,8}\\PC{0,8}") {
            proptest::prop_assert!(!harmless(&text).contains(is_dangerous));
            let json = serde_json::json!(text);
            let shown = harmless_json(&json.to_string()).into_owned();
            proptest::prop_assert!(!shown.contains(is_dangerous));
            proptest::prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).expect("JSON"), json);
        }
    }
}
