//! `like`: `%` stands for any characters, `_` for one.

use std::str::Chars;

use crate::event_processing::runtime::{Fault, World};

/// What makes the next character of a pattern an ordinary one, where nothing else is said (as in Esper).
const ESCAPE: char = '\\';
/// So many comparisons of characters count as one evaluation.
const STEPS: u32 = 64;

/// Whether a text is like a pattern, from its beginning to its end. Upper and lower case differ.
///
/// It looks back only to the last `%`, so it takes at most as many steps as text and pattern have characters, multiplied; and they
/// count.
///
/// # Errors
/// When the step used up what it may.
pub(in crate::event_processing::runtime) fn matches(
    text: &str,
    pattern: &str,
    escape: Option<char>,
    world: &World<'_>,
) -> Result<bool, Fault> {
    let escape = escape.unwrap_or(ESCAPE);
    let (mut text, mut pattern) = (text.chars(), Pattern { rest: pattern.chars(), escape });
    // Where to go on when it fails: behind the last `%`, one character of the text later.
    let mut retry: Option<(Chars<'_>, Pattern<'_>)> = None;
    let mut steps = 0_u32;
    loop {
        steps += 1;
        if steps.is_multiple_of(STEPS) {
            world.spend()?;
        }
        let mut behind = pattern.clone();
        match behind.next() {
            Some(Token::Any) => {
                // Behind a `%` at the end everything fits.
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
            // At the end of the pattern it stands for itself.
            c if c == self.escape => Token::Exactly(self.rest.next().unwrap_or(c)),
            '%' => Token::Any,
            '_' => Token::One,
            c => Token::Exactly(c),
        })
    }
}
