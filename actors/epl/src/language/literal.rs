//! Converts number and text literals to their values.

use super::Mistake;
use super::syntax::{ExpressionKind, Span};

/// Parses a number: an integer if it is written as one and fits into 64 bits, otherwise a double.
pub(super) fn number(written: &str, span: Span) -> Result<ExpressionKind, Mistake> {
    let digits = written.trim_end_matches(['l', 'L', 'f', 'F', 'd', 'D']);
    if digits.bytes().all(|byte| byte.is_ascii_digit())
        && !written.ends_with(['f', 'F', 'd', 'D'])
        && let Ok(integer) = digits.parse()
    {
        return Ok(ExpressionKind::Integer(integer));
    }
    match digits.parse::<f64>() {
        Ok(double) if double.is_finite() => Ok(ExpressionKind::Double(double)),
        _ => Err(Mistake::new(span, "the number is too large")),
    }
}

/// Returns the content of a quoted text, with escapes replaced.
pub(super) fn text(written: &str, span: Span) -> Result<String, Mistake> {
    let quote = written.chars().next().unwrap_or('\'');
    let inner = written.get(1..written.len().saturating_sub(1)).unwrap_or_default();
    let mut text = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(character) = rest.chars().next() {
        let length = match character {
            '\\' => escape(rest, &mut text).ok_or_else(|| wrong_escape(written, rest, span))?,
            _ => {
                text.push(character);
                // A quote within the text is doubled.
                character.len_utf8() * if character == quote { 2 } else { 1 }
            }
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    Ok(text)
}

/// Appends the character that an escape sequence stands for; returns the length of the sequence in bytes.
fn escape(rest: &str, text: &mut String) -> Option<usize> {
    let character = match rest.as_bytes().get(1)? {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'u' => return unicode(rest, text),
        quoted @ (b'\\' | b'\'' | b'"' | b'/') => char::from(*quoted),
        _ => return None,
    };
    text.push(character);
    Some(2)
}

/// Decodes `\u0041`, or a surrogate pair of two such sequences for a character above U+FFFF.
fn unicode(rest: &str, text: &mut String) -> Option<usize> {
    let first = code_unit(rest)?;
    if let Some(character) = char::from_u32(first) {
        text.push(character);
        return Some(6);
    }
    let second = code_unit(rest.get(6..)?)?;
    let character =
        char::decode_utf16([u16::try_from(first).ok()?, u16::try_from(second).ok()?]).next()?.ok()?;
    text.push(character);
    Some(12)
}

fn code_unit(rest: &str) -> Option<u32> {
    let digits = rest.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}

fn wrong_escape(written: &str, rest: &str, span: Span) -> Mistake {
    let shown: String = rest.chars().take(2).filter(|character| !character.is_control()).collect();
    // The closing quote is not part of the rest.
    let at = span.start + u32::try_from(written.len() - 1 - rest.len()).unwrap_or(0);
    let message =
        format!(r#"'{shown}' stands for nothing, expected \\, \', \", \/, \n, \t, \r, \b, \f or \uXXXX"#);
    Mistake::new(Span { start: at, end: at + 1 }, message)
}
