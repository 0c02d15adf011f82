//! The columns of the output streams, whose rows change the platform or reach external systems.

use super::catalog::enumerate;
use super::enumerations::{ALARM_STATUSES, OPERATION_STATUSES, SEVERITIES};
use super::expression::Expression;
use super::targets::Selected;
use super::types::describe;
use crate::language::Mistake;
use crate::language::syntax::Name;
use crate::stream::OutputStream;
use crate::value::{Type, Value};

/// A column of an output stream.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OutputColumn {
    pub name: &'static str,
    pub type_: Type,
    pub demand: Demand,
}

/// Whether a column is required.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Demand {
    Mandatory,
    Optional,
}

const fn needs(name: &'static str, type_: Type) -> OutputColumn {
    OutputColumn { name, type_, demand: Demand::Mandatory }
}

const fn may(name: &'static str, type_: Type) -> OutputColumn {
    OutputColumn { name, type_, demand: Demand::Optional }
}

static CREATE_MANAGED_OBJECT: [OutputColumn; 6] = [
    may("type", Type::Text),
    may("name", Type::Text),
    may("owner", Type::Text),
    may("childAssets", Type::List),
    may("childDevices", Type::List),
    may("fragments", Type::Map),
];
static UPDATE_MANAGED_OBJECT: [OutputColumn; 7] = [
    needs("id", Type::Id),
    may("type", Type::Text),
    may("name", Type::Text),
    may("owner", Type::Text),
    may("childAssets", Type::List),
    may("childDevices", Type::List),
    may("fragments", Type::Map),
];
static ID: [OutputColumn; 1] = [needs("id", Type::Id)];
static CREATE_EVENT: [OutputColumn; 5] = [
    needs("type", Type::Text),
    needs("text", Type::Text),
    needs("time", Type::Time),
    needs("source", Type::Id),
    may("fragments", Type::Map),
];
static UPDATE_EVENT: [OutputColumn; 6] = [
    needs("id", Type::Id),
    may("type", Type::Text),
    may("text", Type::Text),
    may("time", Type::Time),
    may("source", Type::Id),
    may("fragments", Type::Map),
];
static CREATE_MEASUREMENT: [OutputColumn; 4] = [
    needs("type", Type::Text),
    needs("time", Type::Time),
    needs("source", Type::Id),
    may("fragments", Type::Map),
];
static CREATE_OPERATION: [OutputColumn; 3] =
    [needs("status", Type::Text), needs("deviceId", Type::Id), may("fragments", Type::Map)];
static UPDATE_OPERATION: [OutputColumn; 3] =
    [needs("id", Type::Id), may("status", Type::Text), may("fragments", Type::Map)];
static CREATE_ALARM: [OutputColumn; 7] = [
    needs("type", Type::Text),
    needs("severity", Type::Text),
    needs("status", Type::Text),
    needs("text", Type::Text),
    needs("time", Type::Time),
    needs("source", Type::Id),
    may("fragments", Type::Map),
];
static UPDATE_ALARM: [OutputColumn; 8] = [
    needs("id", Type::Id),
    may("type", Type::Text),
    may("severity", Type::Text),
    may("status", Type::Text),
    may("text", Type::Text),
    may("time", Type::Time),
    may("source", Type::Id),
    may("fragments", Type::Map),
];
static SEND_EMAIL: [OutputColumn; 6] = [
    needs("receiver", Type::Text),
    needs("subject", Type::Text),
    needs("text", Type::Text),
    needs("replyTo", Type::Text),
    may("cc", Type::Text),
    may("bcc", Type::Text),
];
static SEND_SMS: [OutputColumn; 3] =
    [needs("receiver", Type::Text), needs("text", Type::Text), may("deviceId", Type::Id)];
static SEND_PUSH: [OutputColumn; 3] =
    [needs("type", Type::Text), needs("message", Type::Text), needs("deviceId", Type::Id)];
static SEND_SPEECH: [OutputColumn; 8] = [
    needs("phoneNumber", Type::Text),
    needs("textToSpeech", Type::Text),
    needs("deviceId", Type::Id),
    needs("attempts", Type::Integer),
    needs("timeout", Type::Integer),
    needs("alarmId", Type::Id),
    may("questionText", Type::Text),
    may("acknowledgeButton", Type::Any),
];
static SEND_REQUEST: [OutputColumn; 7] = [
    needs("url", Type::Text),
    needs("method", Type::Text),
    may("body", Type::Map),
    may("authorization", Type::Text),
    may("contentType", Type::Text),
    may("headers", Type::Map),
    may("source", Type::Id),
];
static SEND_EXPORT: [OutputColumn; 4] = [
    needs("enabledSources", Type::Any),
    may("subject", Type::Text),
    may("text", Type::Text),
    may("receiver", Type::Text),
];

impl OutputStream {
    /// All output streams by name.
    pub(crate) const NAMES: [(&'static str, Self); 19] = [
        ("CreateManagedObject", Self::CreateManagedObject),
        ("UpdateManagedObject", Self::UpdateManagedObject),
        ("DeleteManagedObject", Self::DeleteManagedObject),
        ("CreateEvent", Self::CreateEvent),
        ("UpdateEvent", Self::UpdateEvent),
        ("DeleteEvent", Self::DeleteEvent),
        ("CreateMeasurement", Self::CreateMeasurement),
        ("DeleteMeasurement", Self::DeleteMeasurement),
        ("CreateOperation", Self::CreateOperation),
        ("UpdateOperation", Self::UpdateOperation),
        ("CreateAlarm", Self::CreateAlarm),
        ("UpdateAlarm", Self::UpdateAlarm),
        ("SendEmail", Self::SendEmail),
        ("SendSms", Self::SendSms),
        ("SendPush", Self::SendPush),
        ("SendSpeech", Self::SendSpeech),
        ("SendRequest", Self::SendRequest),
        ("SendExport", Self::SendExport),
        ("SendDashboard", Self::SendDashboard),
    ];

    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|(known, _)| *known == name).map(|(_, stream)| stream)
    }

    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        Self::NAMES.into_iter().map(|(name, _)| name)
    }

    pub(crate) fn name(self) -> &'static str {
        Self::NAMES.into_iter().find(|(_, known)| *known == self).map_or("", |(name, _)| name)
    }

    /// Returns the columns of the stream. `SendDashboard` has none: it accepts any columns because nothing of
    /// it is written.
    pub(crate) fn columns(self) -> &'static [OutputColumn] {
        match self {
            Self::CreateManagedObject => &CREATE_MANAGED_OBJECT,
            Self::UpdateManagedObject => &UPDATE_MANAGED_OBJECT,
            Self::DeleteManagedObject | Self::DeleteEvent | Self::DeleteMeasurement => &ID,
            Self::CreateEvent => &CREATE_EVENT,
            Self::UpdateEvent => &UPDATE_EVENT,
            Self::CreateMeasurement => &CREATE_MEASUREMENT,
            Self::CreateOperation => &CREATE_OPERATION,
            Self::UpdateOperation => &UPDATE_OPERATION,
            Self::CreateAlarm => &CREATE_ALARM,
            Self::UpdateAlarm => &UPDATE_ALARM,
            Self::SendEmail => &SEND_EMAIL,
            Self::SendSms => &SEND_SMS,
            Self::SendPush => &SEND_PUSH,
            Self::SendSpeech => &SEND_SPEECH,
            Self::SendRequest => &SEND_REQUEST,
            Self::SendExport => &SEND_EXPORT,
            Self::SendDashboard => &[],
        }
    }

    pub(super) fn column(self, name: &str) -> Option<&'static OutputColumn> {
        self.columns().iter().find(|column| column.name == name)
    }

    /// Returns the permitted words of a column that has a fixed set of them.
    fn words(self, column: &str) -> &'static [&'static str] {
        match (self, column) {
            (Self::CreateAlarm | Self::UpdateAlarm, "severity") => SEVERITIES,
            (Self::CreateAlarm | Self::UpdateAlarm, "status") => ALARM_STATUSES,
            (Self::CreateOperation | Self::UpdateOperation, "status") => OPERATION_STATUSES,
            _ => &[],
        }
    }
}

/// Checks that the selected columns can be inserted into the stream.
///
/// # Errors
/// Returns a mistake if a name is not a column, if a value has the wrong type, or if a required column is
/// missing.
pub(super) fn check(stream: OutputStream, into: &Name, selected: &[Selected]) -> Result<(), Mistake> {
    if stream == OutputStream::SendDashboard {
        return Ok(());
    }
    for one in selected {
        let column = stream.column(&one.name).ok_or_else(|| {
            let known = enumerate(stream.columns().iter().map(|column| column.name));
            Mistake::new(one.span, format!("no column '{}' of {}; there are {known}", one.name, into.text))
        })?;
        if !fits(column, &one.typed.type_) {
            let (wanted, given) = (describe(&column.type_), describe(&one.typed.type_));
            return Err(Mistake::new(
                one.span,
                format!("'{}' of {} is {wanted}, this is {given}", one.name, into.text),
            ));
        }
        check_words(&one.typed.expression, stream.words(&one.name)).map_err(|word| {
            let known = enumerate(stream.words(&one.name));
            Mistake::new(one.span, format!("no {} '{word}'; there are {known}", one.name))
        })?;
    }
    let is_missing = |column: &&OutputColumn| {
        column.demand == Demand::Mandatory && selected.iter().all(|one| *one.name != *column.name)
    };
    let missing: Vec<_> = stream.columns().iter().filter(is_missing).map(|column| column.name).collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(Mistake::new(into.span, format!("{} also needs {}", into.text, enumerate(missing))))
    }
}

/// Returns whether the write can convert a value to the column's type: a date from text or milliseconds; an id
/// from its text, its number or the object with that id; a list of ids from a single id. Headers may be given
/// as lines, and a body as text.
fn fits(column: &OutputColumn, value: &Type) -> bool {
    match (&column.type_, value) {
        (Type::Any, _) | (_, Type::Any) => true,
        (Type::Time, Type::Text | Type::Integer) => true,
        (Type::Id, Type::Text | Type::Integer | Type::Object(_)) => true,
        (Type::List, Type::Id | Type::Text) | (Type::Text, Type::Id) => true,
        (Type::Map, Type::Text | Type::List) => matches!(column.name, "headers" | "body"),
        (column, value) => column == value,
    }
}

/// Checks literal texts and returns the first one that is not among the words as an error.
fn check_words<'e>(expression: &'e Expression, words: &[&str]) -> Result<(), &'e str> {
    match expression {
        Expression::Literal(Value::Text(text)) if !words.is_empty() && !words.contains(&&**text) => Err(text),
        Expression::Case { branches, otherwise } => {
            let mut values = branches.iter().map(|(_, value)| value).chain(otherwise.as_deref());
            values.try_for_each(|value| check_words(value, words))
        }
        _ => Ok(()),
    }
}
