//! The streams between modules and the platform: changes in the tenant, and what the rows of output streams do
//!

use platform_model::id::ManagedObjectId;
use platform_model::origin::ProcessingMode;
use platform_model::realtime::input_stream::InputStream;
use platform_model::timestamp::Timestamp;

use platform_model::origin::Depth;
use std::sync::Arc;

use platform_model::realtime::change::PublishedChange;

/// The streams whose rows change the platform or reach external systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutputStream {
    /// Creates a managed object.
    CreateManagedObject,
    /// Changes a managed object.
    UpdateManagedObject,
    /// Deletes a managed object.
    DeleteManagedObject,
    /// Creates an event.
    CreateEvent,
    /// Changes an event.
    UpdateEvent,
    /// Deletes an event.
    DeleteEvent,
    /// Creates a measurement.
    CreateMeasurement,
    /// Deletes a measurement.
    DeleteMeasurement,
    /// Creates an operation.
    CreateOperation,
    /// Changes an operation.
    UpdateOperation,
    /// Creates an alarm.
    CreateAlarm,
    /// Changes an alarm.
    UpdateAlarm,
    /// Sends an email.
    SendEmail,
    /// Sends a text message.
    SendSms,
    /// Sends a push message.
    SendPush,
    /// Makes a phone call that speaks a text.
    SendSpeech,
    /// Sends an HTTP request.
    SendRequest,
    /// Sends an export by email.
    SendExport,
    /// Sends a dashboard by email.
    SendDashboard,
}

/// A change in the tenant or a response that arrived. It is shared by all modules and everything that retains
/// it.
#[derive(Debug)]
pub struct Input {
    /// The change or the response.
    pub occurrence: Occurrence,
    pub(crate) mode: ProcessingMode,
    /// The distance from the client request that caused the change. If modules wrote in between, `_origin` is "cep".
    pub depth: Depth,
    /// The approximate size in bytes, which counts against the memory limit of a module that retains it.
    pub weight: u32,
}

impl Input {
    /// Returns the stream of the input.
    ///
    /// # Panics
    /// Panics if the input belongs to no stream; see [`InputStream::of`].
    pub fn stream(&self) -> InputStream {
        match &self.occurrence {
            Occurrence::Changed(event) => InputStream::of(event),
            Occurrence::Deleted(deletion) => InputStream::of(&deletion.event),
            Occurrence::Response(_) => Some(InputStream::ResponseReceived),
        }
        .expect("only events of a stream become an input")
    }
}

/// The content of an input. It takes only two words, because a module may retain many.
#[derive(Debug)]
pub enum Occurrence {
    /// A creation or a change; it contains the object.
    Changed(PublishedChange),
    /// A deletion; [`Input::new`] converts the hub's event to it.
    Deleted(Box<Deletion>),
    /// The result of a request that a module sent.
    Response(Arc<Response>),
}

/// A deletion, of which only ids are known.
#[derive(Debug)]
pub struct Deletion {
    pub(crate) event: PublishedChange,
    /// The managed object that the deleted object concerned.
    pub source: ManagedObjectId,
}

/// The result of a `SendRequest`.
#[derive(Debug, Clone)]
pub struct Response {
    /// The status of the response. If it is 0, there was no response and the body contains the reason.
    pub status: u16,
    /// The body of the response.
    pub body: Arc<str>,
    /// The time at which the response arrived.
    pub creation_time: Timestamp,
    /// The managed object that the request named.
    pub source: Option<ManagedObjectId>,
}
