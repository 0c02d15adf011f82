//! `like`: `%` stands for any characters, `_` for one.

use std::str::Chars;

use crate::runtime::{Fault, World};

/// The default escape character, which makes the next character of a pattern an ordinary one (as in Esper).
const ESCAPE: char = '\\';
/// The number of character comparisons that count as one evaluation.
const STEPS: u32 = 64;

/// Returns whether the whole text matches a pattern. The comparison is case-sensitive.
///
/// It backtracks only to the last `%`, so the number of steps is at most the product of the lengths of text and
/// pattern; the steps count towards the budget.
///
/// # Errors
/// A [`Fault`] when the step used up its budget.
pub(in crate::runtime) fn matches(
    text: &str,
    pattern: &str,
    escape: Option<char>,
    world: &World<'_>,
) -> Result<bool, Fault> {
    let escape = escape.unwrap_or(ESCAPE);
    let (mut text, mut pattern) = (text.chars(), Pattern { rest: pattern.chars(), escape });
    // Where to resume after a mismatch: behind the last `%`, one character further in the text.
    let mut retry: Option<(Chars<'_>, Pattern<'_>)> = None;
    let mut steps = 0_u32;
    loop {
        steps += 1;
        if steps.is_multiple_of(STEPS) {
            world.evaluations.spend()?;
        }
        let mut behind = pattern.clone();
        match behind.next() {
            Some(Token::Any) => {
                // A `%` at the end of the pattern matches any rest.
                if behind.clone().next().is_none() {
                    return Ok(true);
                }
                pattern = behind;
                retry = Some((text.clone(), pattern.clone()));
                continue;
            }
            token => {
                let mut after = text.clone();
                let fits = match (token, after.next()) {
                    (None, None) => return Ok(true),
                    (Some(Token::One), Some(_)) => true,
                    (Some(Token::Exactly(wanted)), Some(found)) => wanted == found,
                    (Some(_), None) => return Ok(false),
                    (None, Some(_)) | (Some(Token::Any), Some(_)) => false,
                };
                if fits {
                    (text, pattern) = (after, behind);
                    continue;
                }
            }
        }
        let Some((from, behind)) = &mut retry else { return Ok(false) };
        from.next();
        (text, pattern) = (from.clone(), behind.clone());
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    /// `%`.
    Any,
    /// `_`.
    One,
    Exactly(char),
}

#[derive(Clone)]
struct Pattern<'p> {
    rest: Chars<'p>,
    escape: char,
}

impl Iterator for Pattern<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        Some(match self.rest.next()? {
            // An escape character at the end of the pattern stands for itself.
            c if c == self.escape => Token::Exactly(self.rest.next().unwrap_or(c)),
            '%' => Token::Any,
            '_' => Token::One,
            c => Token::Exactly(c),
        })
    }
}
