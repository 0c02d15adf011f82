//! The limits that an operator may set, as flags: one for each row of their table.

use std::ops::{Deref, DerefMut};

use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};
use platform_model::limits::{Limit, Limits, TABLE};

use super::quantity::{Unit, quantity};

/// The limits, read from flags.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LimitSettings(Limits);

impl Deref for LimitSettings {
    type Target = Limits;

    fn deref(&self) -> &Limits {
        &self.0
    }
}

impl DerefMut for LimitSettings {
    fn deref_mut(&mut self) -> &mut Limits {
        &mut self.0
    }
}

impl Args for LimitSettings {
    fn augment_args(command: Command) -> Command {
        command.next_help_heading("Limits").args(TABLE.iter().map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Returns the argument of a limit. The first paragraph of its documentation is the short help.
fn argument(limit: &'static Limit) -> Arg {
    let unit = Unit::of(limit.flag);
    let (short, long) = paragraphs(limit);
    let argument = Arg::new(limit.flag)
        .long(limit.flag)
        .env(format!("PLATFORM_{}", limit.flag.to_uppercase().replace('-', "_")))
        .value_name(unit.value_name())
        .help(short)
        .long_help(long)
        .value_parser(quantity(unit, limit.range.clone()));
    match limit.default {
        Some(default) => argument.default_value(unit.write(default)),
        None => argument,
    }
}

/// Returns the first paragraph of a limit's documentation, and the whole text.
fn paragraphs(limit: &Limit) -> (String, String) {
    let paragraphs: Vec<String> = limit
        .doc
        .split("\n\n")
        .map(|paragraph| paragraph.lines().map(str::trim).collect::<Vec<_>>().join(" ").trim().to_owned())
        .collect();
    (paragraphs[0].clone(), paragraphs.join("\n\n"))
}

impl FromArgMatches for LimitSettings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut limits = Self::default();
        limits.update_from_arg_matches(matches)?;
        Ok(limits)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for limit in TABLE {
            if let Some(value) = matches.get_one(limit.flag) {
                (limit.set)(self, *value);
            }
        }
        Ok(())
    }
}
