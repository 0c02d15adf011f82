//! Event-processing modules (docs/rules.md#event-processing-modules; ).

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use crate::body::{Body, MAX_SHORT_TEXT};
use crate::error::{Error, Result};
use crate::id::ModuleId;
use crate::links::Linked;
use crate::realtime::bayeux::Pattern;
use crate::realtime::bayeux::channel::Endpoint;
use crate::timestamp::Timestamp;

/// The members that only the server sets; they are ignored in bodies.
const SERVER_MEMBERS: [&str; 5] = ["id", "self", "lastModified", "switchedOff", "warnings"];

/// The status of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ModuleStatus {
    /// Its statements run.
    Deployed,
    /// The module is stored and keeps no state of earlier events.
    NotDeployed,
}

impl ModuleStatus {
    /// Parses the upper-case word.
    ///
    /// # Errors
    /// `Invalid` names the value and what is allowed.
    pub fn parse(word: &str) -> Result<Self> {
        match word {
            "DEPLOYED" => Ok(Self::Deployed),
            "NOT_DEPLOYED" => Ok(Self::NotDeployed),
            _ => Err(Error::invalid_value("status", word, "DEPLOYED, NOT_DEPLOYED")),
        }
    }

    /// Returns the word that clients read and write.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deployed => "DEPLOYED",
            Self::NotDeployed => "NOT_DEPLOYED",
        }
    }
}

/// A statement that was switched off because it retained too much, until the module is deployed again. The
/// other statements of the module keep running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementOff {
    /// The name of the statement.
    pub statement: String,
    /// The reason, for the author of the module.
    pub reason: String,
}

impl StatementOff {
    /// Returns a description of several statements, for audit records and alarms.
    pub fn shown(off: &[Self]) -> String {
        let one = |off: &Self| format!("statement '{}': {}", off.statement, off.reason);
        off.iter().map(one).collect::<Vec<_>>().join("; ")
    }
}

/// A module as it is stored and returned; its text is read apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// The id, assigned by the server; a new text gets a new id.
    pub id: ModuleId,
    /// The name, unique in the tenant; it is the first part of the module's channels.
    pub name: String,
    /// Whether the module is deployed.
    pub status: ModuleStatus,
    /// The time when its text, name or status last changed.
    pub last_modified: Timestamp,
    /// The statements that do not run although the module is deployed.
    pub switched_off: Vec<StatementOff>,
    /// Warnings about likely slips in the text, each with its position.
    pub warnings: Vec<String>,
}

impl Serialize for Linked<'_, Module> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value: module, links } = *self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &module.id)?;
        map.serialize_entry("lastModified", &module.last_modified)?;
        map.serialize_entry("name", &module.name)?;
        map.serialize_entry("self", &links.module(module.id))?;
        map.serialize_entry("status", &module.status)?;
        if !module.switched_off.is_empty() {
            map.serialize_entry("switchedOff", &module.switched_off)?;
        }
        if !module.warnings.is_empty() {
            map.serialize_entry("warnings", &module.warnings)?;
        }
        map.end()
    }
}

/// The body of `PUT /cep/modules/<id>` as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModulePatch {
    /// The new name.
    pub name: Option<String>,
    /// The new status, which deploys or undeploys the module.
    pub status: Option<ModuleStatus>,
}

impl ModulePatch {
    /// Parses the body. Members that the server sets are ignored.
    ///
    /// # Errors
    /// `Invalid` names an unknown member, because with a misspelt status a module would go on sending (C-19a), or the
    /// invalid one.
    pub fn parse(mut body: Body) -> Result<Self> {
        body.only(&["name", "status"], &SERVER_MEMBERS)?;
        let name = body.take_text("name", MAX_SHORT_TEXT)?;
        let status = body.take_text("status", MAX_SHORT_TEXT)?;
        let status = status.map(|word| ModuleStatus::parse(&word)).transpose()?;
        Ok(Self { name: name.map(|name| check_name(&name).map(|()| name)).transpose()?, status })
    }
}

/// Checks the name of a module, which is the first part of its channels (B-01, Q-05).
///
/// # Errors
/// `Invalid` names the reason.
pub fn check_name(name: &str) -> Result<()> {
    if name.is_empty() || name.contains(['/', '*']) || name.chars().any(char::is_control) {
        return Err(Error::invalid_value("name", name, "a name without '/', '*' and control characters"));
    }
    match Pattern::parse(Endpoint::Realtime, &format!("/{name}/*")) {
        Some(Pattern::Module { .. }) => Ok(()),
        _ => Err(Error::invalid_value(
            "name",
            name,
            "a name other than the first segments of platform channels",
        )),
    }
}
