//! Values of a flag that takes several known words with commas between them, such as `CRITICAL,MAJOR`. Shells complete
//! the words, and a wrong one is refused before a request is sent.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};

/// The words that a parameter allows.
#[derive(Debug, Clone)]
pub(super) struct Listed(pub(super) Vec<&'static str>);

/// Returns the words that the description of a parameter lists: those in capitals after its last colon.
pub(super) fn words(description: &'static str) -> Vec<&'static str> {
    let list = description.split_once("separated by commas").and_then(|(_, rest)| rest.rsplit_once(": "));
    let words: Vec<&str> =
        list.map_or(Vec::new(), |(_, list)| list.trim_end_matches('.').split(", ").collect());
    let is_word =
        |word: &&str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    if words.iter().all(is_word) { words } else { Vec::new() }
}

impl TypedValueParser for Listed {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        let text = StringValueParser::new().parse_ref(command, arg, value)?;
        let Some(wrong) = text.split(',').find(|word| !self.0.contains(word)) else { return Ok(text) };
        let mut error = Error::new(ErrorKind::InvalidValue).with_cmd(command);
        let flag = arg.map(ToString::to_string).unwrap_or_default();
        error.insert(ContextKind::InvalidArg, ContextValue::String(flag));
        error.insert(ContextKind::InvalidValue, ContextValue::String(wrong.to_owned()));
        let allowed = self.0.iter().map(ToString::to_string).collect();
        error.insert(ContextKind::ValidValue, ContextValue::Strings(allowed));
        Err(error)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().copied().map(PossibleValue::new)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_in_capitals_at_the_end() {
        let text = "Statuses, separated by commas or repeated: ACTIVE, ACKNOWLEDGED, CLEARED.";
        assert_eq!(words(text), ["ACTIVE", "ACKNOWLEDGED", "CLEARED"]);
        for other in
            ["Types, separated by commas or repeated.", "One of: A, B.", "Names, separated by commas: a, b."]
        {
            assert_eq!(words(other), [""; 0], "{other}");
        }
    }

    #[test]
    fn each_word_of_a_list_is_checked() {
        let command =
            || Command::new("x").arg(Arg::new("s").long("s").value_parser(Listed(vec!["MAJOR", "MINOR"])));
        let parsed = command().try_get_matches_from(["x", "--s", "MAJOR,MINOR"]).unwrap();
        assert_eq!(parsed.get_one::<String>("s").unwrap(), "MAJOR,MINOR");
        let refused = command().try_get_matches_from(["x", "--s", "MAJOR,MINER"]).unwrap_err().to_string();
        assert!(refused.contains("'MINER'") && refused.contains("MAJOR, MINOR"), "{refused}");
    }
}
