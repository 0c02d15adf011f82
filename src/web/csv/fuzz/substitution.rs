//! Tests of substitution against an implementation that copies a character at a time (S-24, S-26).

use std::borrow::Cow;

use proptest::prelude::*;
use serde_json::json;

use super::{SEARCH, pieces};
use crate::csv::refusal::Refusal;
use crate::csv::request_template::{RequestDefinition, RequestTemplate};

/// A character of the template, or the placeholder of an argument.
#[derive(Clone, Copy, PartialEq)]
enum Token {
    Character(char),
    Argument(usize),
}

/// Reads from left to right; arguments are numbered from `first` on.
fn tokens(text: &str, placeholder: &str, first: usize) -> Vec<Token> {
    let (mut rest, mut tokens, mut next) = (text, Vec::new(), first);
    while let Some(character) = rest.chars().next() {
        if !placeholder.is_empty() && rest.starts_with(placeholder) {
            tokens.push(Token::Argument(next));
            next += 1;
            rest = &rest[placeholder.len()..];
        } else {
            tokens.push(Token::Character(character));
            rest = &rest[character.len_utf8()..];
        }
    }
    tokens
}

fn encoded(value: &str, slash: bool) -> String {
    let mut text = String::new();
    for character in value.chars() {
        let replaced = character.is_ascii_control() || " \"#%<>&?+".contains(character);
        let kept = character.is_ascii() && !replaced && (character != '/' || !slash);
        if kept {
            text.push(character);
        } else {
            for byte in character.to_string().bytes() {
                text.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    text
}

fn uri_of(tokens: &[Token], arguments: &[String]) -> String {
    let mut text = String::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Character(character) => text.push(*character),
            Token::Argument(argument) => {
                let value = &arguments[*argument];
                let before = at > 0 && tokens[at - 1] == Token::Character('/');
                let behind = tokens.get(at + 1);
                let behind = behind.is_none_or(|next| "/?#".chars().any(|c| *next == Token::Character(c)));
                let in_path =
                    !tokens[..at].iter().any(|t| [Token::Character('?'), Token::Character('#')].contains(t));
                text += &encoded(value, before && behind && in_path && value.contains(".."));
            }
        }
    }
    text
}

fn body_of(tokens: &[Token], arguments: &[String]) -> String {
    let part = |token: &Token| match token {
        Token::Character(character) => character.to_string(),
        Token::Argument(argument) => arguments[*argument].clone(),
    };
    tokens.iter().map(part).collect()
}

fn template(uri: &str, placeholder: &str, body: &str) -> Option<RequestTemplate> {
    let stored = json!({
        "method": "POST", "resourceUri": uri, "contentType": "text/plain", "placeholder": placeholder,
        "templateString": body,
    });
    RequestDefinition::of_json(&stored)?.compile().ok()
}

/// `@` stands for the placeholder.
const TEXT: &[&str] = &[
    "@", "/@", "/@/", "?@", "%%", "%", "&", "$x", "/", "?", "#", "a", "=", "é", "..", "\"", "\n", "%%%", "//",
];
const VALUES: &[&str] = &[
    "%%", "%", "&", "$x", "/", "?", "#", "a", "é", "..", ".", "%2e", "\"", "\n", "+", "<", ">", " ",
    "\u{7f}", "\\", "{}",
];

#[test]
fn calls_are_those_of_plain_replacement() {
    let placeholder = proptest::sample::select(vec!["", "%%", "%", "&", "$x", "/", "a", "é", "?", "%%%"]);
    // Most values could escape from a path.
    let value = prop_oneof![
        2 => pieces(VALUES, 4).prop_map(|value| format!("{value}b")),
        2 => pieces(&["..", "/"], 3).prop_map(|value| format!("a{value}")),
        1 => pieces(&["..", "/", "a"], 4),
    ];
    let values = proptest::collection::vec(value, 40);
    let text = || pieces(TEXT, 9);
    let extra = prop_oneof![4 => Just(0_usize), 1 => 1..3_usize];
    SEARCH.check(&(text(), text(), placeholder, values, extra), |(uri, body, placeholder, values, extra)| {
        let own = |text: &str| text.replace('@', placeholder);
        let (uri, body) = (format!("/x{}", own(&uri)), format!("b{}", own(&body)));
        let Some(template) = template(&uri, placeholder, &body) else {
            prop_assert_eq!(placeholder, "/", "refused only when the first slash is a placeholder");
            return Ok(());
        };
        let in_uri = tokens(&uri, placeholder, 0);
        let count = in_uri.iter().filter(|token| matches!(token, Token::Argument(_))).count();
        let in_body = tokens(&body, placeholder, count);
        let count = count + in_body.iter().filter(|token| matches!(token, Token::Argument(_))).count();
        let mut arguments: Vec<String> = values.into_iter().take(count).collect();
        arguments.extend(std::iter::repeat_n(String::new(), extra));
        let borrowed: Vec<Cow<'_, str>> = arguments.iter().map(|text| text.as_str().into()).collect();
        let called = template.call(&borrowed).map(|call| (call.uri.into_owned(), call.body));

        let expected = match uri_of(&in_uri, &arguments) {
            _ if extra > 1 && count == 0 => Err(Some(Refusal::NoArguments)),
            _ if extra > 1 => Err(Some(Refusal::WrongNumber)),
            _ if arguments[..count].iter().any(String::is_empty) => Err(None),
            uri if uri.starts_with("//") => Err(Some(Refusal::Rest(actix_web::http::StatusCode::FORBIDDEN))),
            uri => Ok((uri, bytes::Bytes::from(body_of(&in_body, &arguments)))),
        };
        match (called, expected) {
            (Err(Refusal::Kind(..)), Err(None)) => {}
            (called, expected) => prop_assert_eq!(called.map_err(Some), expected),
        }
        Ok(())
    });
}

#[test]
fn any_number_of_arguments_is_a_call_or_a_refusal() {
    let arguments = proptest::collection::vec(pieces(VALUES, 3), 0..6);
    let words = proptest::collection::vec(
        proptest::sample::select(vec!["STRING", "UNSIGNED", "INTEGER", "NUMBER", "DATE", "NOW"]),
        1..5,
    );
    SEARCH.check(&(arguments, words), |(arguments, words)| {
        let stored = json!({
            "method": "GET", "resourceUri": format!("/x?{}", "%%".repeat(words.len())), "placeholder": "%%",
            "values": words,
        });
        let template = RequestDefinition::of_json(&stored).and_then(|template| template.compile().ok());
        let template = template.ok_or_else(|| TestCaseError::fail("no template"))?;
        let borrowed: Vec<Cow<'_, str>> = arguments.iter().map(|text| text.as_str().into()).collect();
        let taken = words.iter().filter(|word| **word != "NOW").count();
        let trailing_comma = arguments.len() == taken + 1 && arguments.last().is_some_and(String::is_empty);
        let counted = arguments.len() == taken || trailing_comma;
        match template.call(&borrowed) {
            Err(Refusal::NoArguments) => prop_assert!(taken == 0 && !counted),
            Err(Refusal::WrongNumber) => prop_assert!(taken > 0 && !counted),
            _ => prop_assert!(counted),
        }
        Ok(())
    });
}
