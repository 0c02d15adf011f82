//! The results of completed operations, by fragment (H-08).

use std::borrow::Cow;

use platform_model::fragments::Fragments;
use platform_model::naming::naming;
use platform_model::timestamp::Timestamp;
use serde_json::value::RawValue;

use super::Arguments;
use super::json_object::raw;
use super::queue::QueuedOperation;
use crate::csv::kind::Kind;
use crate::csv::refusal::Refusal;

/// The result that a device reports for an operation it completed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Completion<'r> {
    /// `plat_Command`: the output of the command.
    Command(&'r str),
    /// `plat_RelayArray`: the current states of the relays.
    RelayArray(&'r [Cow<'r, str>]),
    /// `plat_CommunicationMode`: the mode is that of the operation.
    CommunicationMode,
    /// `plat_LogfileRequest`: the location of the log.
    LogfileRequest(&'r str),
    /// `plat_DownloadConfigFile`: the time of installation, if not now.
    DownloadConfigFile(Option<&'r str>),
}

/// The fragments of H-08, in its order.
const FRAGMENTS: [&str; 5] =
    ["Command", "RelayArray", "CommunicationMode", "LogfileRequest", "DownloadConfigFile"];

impl<'r> Completion<'r> {
    /// Parses the parameters after the first argument for a fragment. Returns `None` for a fragment without
    /// parameters, which are ignored, and when none were sent.
    ///
    /// # Errors
    /// `WrongNumber` for more than the fragment takes, `Kind` for an invalid time.
    pub(super) fn parse(fragment: &str, arguments: Arguments<'r>) -> Result<Option<Self>, Refusal> {
        let known = FRAGMENTS.into_iter().find(|known| naming().fragment(known) == fragment);
        match known {
            None | Some("RelayArray") => {}
            Some("CommunicationMode") => arguments.at_most(1)?,
            Some(_) => arguments.at_most(2)?,
        }
        let given = arguments.text(1);
        Ok(match known {
            Some("Command") => given.map(Self::Command),
            Some("RelayArray") => {
                Some(arguments.from(1)).filter(|states| !states.is_empty()).map(Self::RelayArray)
            }
            Some("CommunicationMode") => Some(Self::CommunicationMode),
            Some("LogfileRequest") => given.map(Self::LogfileRequest),
            Some("DownloadConfigFile") => Some(Self::DownloadConfigFile(arguments.of_kind(1, Kind::Date)?)),
            _ => None,
        })
    }

    /// Parses the parameters for an operation known by its id. Of several fragments the first of H-08 counts.
    ///
    /// # Errors
    /// Fails like [`Completion::parse`].
    pub(super) fn of_operation(
        operation: &QueuedOperation,
        arguments: Arguments<'r>,
    ) -> Result<Option<Self>, Refusal> {
        let mut fragments = FRAGMENTS.into_iter().map(|known| naming().fragment(known));
        match fragments.find(|fragment| operation.member(fragment).is_some()) {
            Some(fragment) => Self::parse(&fragment, arguments),
            None => Ok(None),
        }
    }

    /// Returns the member of the operation that changes: the requested values, extended by the result.
    pub(super) fn result(&self, operation: &QueuedOperation) -> Option<(String, Box<RawValue>)> {
        let (fragment, subject, member, given) = match self {
            Self::Command(given) => ("Command", "text", "result", given),
            Self::LogfileRequest(given) => ("LogfileRequest", "logFile", "file", given),
            _ => return None,
        };
        let name = naming().fragment(fragment);
        let asked = operation.member(&name)?;
        let mut members = members(asked).unwrap_or_else(|| {
            // The member is not an object, so its value is kept as the member it must have meant.
            let mut members = Fragments::default();
            members.set(subject, asked.to_owned());
            members
        });
        members.set(member, raw(*given));
        Some((name, raw(&members)))
    }

    /// Returns the fragment that the device gets; `None` if the operation lacks its values.
    pub(super) fn of_device(&self, operation: &QueuedOperation) -> Option<(String, Box<RawValue>)> {
        let asked = |fragment: &str| members(operation.member(&naming().fragment(fragment))?);
        match self {
            Self::RelayArray(states) => Some((naming().fragment("RelayArray"), raw(states))),
            Self::CommunicationMode => {
                let mode = member(&asked("CommunicationMode")?, "mode")?;
                Some((naming().fragment("CommunicationMode"), object([("mode", mode)])))
            }
            Self::DownloadConfigFile(time) => {
                let dump = naming().fragment("ConfigurationDump");
                let inside = asked("DownloadConfigFile").and_then(|download| member(&download, &dump));
                let id = inside.or_else(|| operation.member(&dump).map(ToOwned::to_owned));
                let id = member(&members(&id?)?, "id")?;
                let time = time.map_or_else(|| Timestamp::now().to_string(), ToOwned::to_owned);
                Some((dump, object([("id", id), ("time", raw(&time))])))
            }
            Self::Command(_) | Self::LogfileRequest(_) => None,
        }
    }
}

/// Returns the members of an object; `None` for another value.
fn members(value: &RawValue) -> Option<Fragments> {
    serde_json::from_str(value.get()).ok()
}

/// Returns a member that is not `null`.
fn member(members: &Fragments, name: &str) -> Option<Box<RawValue>> {
    members.get(name).filter(|raw| raw.get() != "null").map(ToOwned::to_owned)
}

fn object<const N: usize>(members: [(&str, Box<RawValue>); N]) -> Box<RawValue> {
    let mut object = Fragments::default();
    members.into_iter().for_each(|(name, value)| object.set(name, value));
    raw(&object)
}
