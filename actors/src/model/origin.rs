//! Who asked, how, and by what address: what travels with every write from the edge to the actors.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::event_processing::stream::Depth;
use crate::model::access::{Authority, Ownership};
use crate::model::links::Links;

/// The request behind a write.
#[derive(Debug, Clone)]
pub struct Origin {
    /// Name of the user; recorded as owner and in audit records.
    pub user: Arc<str>,
    /// What is stored and what is told.
    pub mode: ProcessingMode,
    /// By what right the caller writes.
    pub authority: Authority,
    /// Name of the application that sent the request, by its key (C-05).
    pub application: Option<Arc<str>>,
    /// Address of the request; links in the answer and in notifications start with it.
    pub links: Links,
    /// Set on what an event-processing module does.
    pub by_module: Option<ByModule>,
}

/// On what a module's write depends, and what it follows from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByModule {
    /// How deep in a chain of causes the write is; what it causes is told with this.
    pub(crate) depth: Depth,
    /// The number by which this process holds the modules of the tenant. The write is made only while that is so.
    pub(crate) fence: i64,
}

/// The user in audit records of what the server does by itself.
const SERVER: &str = "system";
/// The user in whose name modules write: owner of what they create.
const MODULES: &str = "cep";

impl Origin {
    /// What the server does by itself, on nobody's request. Links in notifications start with `links`.
    pub(crate) fn of_server(links: Links) -> Self {
        Self {
            user: SERVER.into(),
            mode: ProcessingMode::Persistent,
            authority: Authority::Role,
            application: None,
            links,
            by_module: None,
        }
    }

    /// What an event-processing module does: by right of the tenant, on nobody's request (M-04, Q-07). `depth` is that of what it
    /// causes, `fence` the number by which this process holds the modules of the tenant.
    pub(crate) fn of_module(links: Links, depth: Depth, fence: i64) -> Self {
        Self { user: MODULES.into(), by_module: Some(ByModule { depth, fence }), ..Self::of_server(links) }
    }

    /// By what right a write is made: what the rule of [`access`](crate::model::access) is asked with.
    pub(crate) fn by(&self) -> (&Authority, &str, Ownership) {
        (&self.authority, &self.user, Ownership::Counts)
    }

    /// On what a module's write depends besides; none for what clients do.
    pub(crate) fn fence(&self) -> Option<i64> {
        self.by_module.map(|module| module.fence)
    }

    /// Whether a write shows that the device lives: its own user made it, no application in its name, and it is stored
    /// (R-03, M-02). A key that no application has is no application (C-05).
    pub fn is_heartbeat(&self) -> bool {
        is_device_user(&self.user) && self.application.is_none() && self.mode.stores()
    }
}

/// What names of devices' users start with; the id of the device follows.
pub const DEVICE_USER: &str = "device_";

/// Whether a user is a device: `device_<external id>`, the owner of its object.
pub fn is_device_user(name: &str) -> bool {
    name.starts_with(DEVICE_USER)
}

/// The header `X-Platform-Processing-Mode` (M-01 to M-04).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProcessingMode {
    /// Stored and sent to real-time processing.
    #[default]
    Persistent,
    /// Real-time processing only.
    Transient,
    /// Stored, without notifications; measurements and events only.
    Quiescent,
    /// Modules only; measurements and events only.
    Cep,
}

impl ProcessingMode {
    /// Reads the header value, in any case (M-01).
    ///
    /// # Errors
    /// `Invalid` names the value and the four that are allowed.
    pub fn parse(text: &str) -> Result<Self> {
        let all = [Self::Persistent, Self::Transient, Self::Quiescent, Self::Cep];
        let is_it = |mode: &Self| mode.as_str().eq_ignore_ascii_case(text.trim());
        all.into_iter().find(is_it).ok_or_else(|| {
            Error::invalid_value("Processing-Mode", text, "PERSISTENT, TRANSIENT, QUIESCENT, CEP")
        })
    }

    /// The word of the header.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Persistent => "PERSISTENT",
            Self::Transient => "TRANSIENT",
            Self::Quiescent => "QUIESCENT",
            Self::Cep => "CEP",
        }
    }

    /// The mode for a resource that knows no notification-free writes: QUIESCENT counts as PERSISTENT, CEP is
    /// refused (M-03).
    ///
    /// # Errors
    /// `Invalid` for CEP.
    pub fn with_notifications(self) -> Result<Self> {
        match self {
            Self::Quiescent => Ok(Self::Persistent),
            Self::Cep => {
                Err(Error::invalid_value("Processing-Mode", "CEP", "PERSISTENT, TRANSIENT on this resource"))
            }
            other => Ok(other),
        }
    }

    /// The mode of a change of child references: QUIESCENT tells nobody, CEP is refused (M-03).
    ///
    /// # Errors
    /// `Invalid` for CEP.
    pub fn of_child_references(self) -> Result<Self> {
        match self {
            Self::Quiescent => Ok(self),
            other => other.with_notifications(),
        }
    }

    /// Whether a write in this mode is told to subscribers.
    pub fn notifies(self) -> bool {
        matches!(self, Self::Persistent | Self::Transient)
    }

    /// Whether a write in this mode reaches the database.
    pub fn stores(self) -> bool {
        matches!(self, Self::Persistent | Self::Quiescent)
    }
}
