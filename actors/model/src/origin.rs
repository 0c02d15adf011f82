//! The origin of a write: user, processing mode, authority and address. It travels with the write to the actors.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::access::{Accessor, Authority, Ownership};
use crate::error::{Error, Noun, Result};
use crate::idempotency::IdempotencyKey;
use crate::links::Links;
use crate::precondition::Precondition;

/// The request behind a write.
#[derive(Debug, Clone)]
pub struct Origin {
    /// The name of the user, recorded as owner and in audit records.
    pub user: Arc<str>,
    /// The processing mode, which determines what is stored and who is notified.
    pub mode: ProcessingMode,
    /// The authority with which the caller writes.
    pub authority: Authority,
    /// The name of the application whose key the request contains (C-05).
    pub application: Option<Arc<str>>,
    /// The address of the request; links in the response and in notifications start with it.
    pub links: Links,
    /// The revisions that the object may have (C-23).
    pub precondition: Option<Precondition>,
    /// The key of a request that takes effect once (C-24).
    pub key: Option<Arc<IdempotencyKey>>,
    /// The module that makes the write, if an event-processing module does.
    pub by_module: Option<ByModule>,
}

/// The properties of a module's write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByModule {
    /// The depth of the write in a chain of causes, which its notifications carry on.
    pub depth: Depth,
    /// The fence with which this process holds the modules of the tenant. The write succeeds only while this is true.
    pub fence: i64,
}

/// The distance of an event from the client request that caused it, which limits endless chains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Depth {
    /// The number of statements in the chain, each feeding the next.
    pub statements: u8,
    /// The number of module writes in the chain, each causing the next.
    pub writes: u8,
}

impl Depth {
    /// Returns the maximum of both numbers, for something that is made from several events.
    pub fn max(self, other: Self) -> Self {
        Self { statements: self.statements.max(other.statements), writes: self.writes.max(other.writes) }
    }
}

/// The user in audit records of the server's own actions.
const SERVER: &str = "system";
/// The user on whose behalf modules write, who owns what they create.
const MODULES: &str = "cep";

impl Origin {
    /// Returns the origin of the server's own actions, which no request causes. Links in notifications start with
    /// `links`.
    pub fn of_server(links: Links) -> Self {
        Self {
            user: SERVER.into(),
            mode: ProcessingMode::Persistent,
            authority: Authority::Role,
            application: None,
            links,
            precondition: None,
            key: None,
            by_module: None,
        }
    }

    /// Returns the origin of an event-processing module's actions, which no request causes and which have the authority
    /// of the tenant (M-04, Q-07). `depth` is the depth of their consequences, `fence` that with which this process
    /// holds the modules of the tenant.
    pub fn of_module(links: Links, depth: Depth, fence: i64) -> Self {
        Self { user: MODULES.into(), by_module: Some(ByModule { depth, fence }), ..Self::of_server(links) }
    }

    /// Returns the caller, in the form that the [`access`](crate::access) rule takes.
    pub fn accessor(&self) -> Accessor<'_> {
        Accessor { authority: &self.authority, user: &self.user, ownership: Ownership::Counts }
    }

    /// Checks that an object has a revision that the request allows (C-23).
    ///
    /// # Errors
    /// `PreconditionFailed`.
    pub fn check_revision(&self, noun: Noun, id: impl ToString, revision: i64) -> Result<()> {
        self.precondition.as_ref().map_or(Ok(()), |condition| condition.check(noun, id, revision))
    }

    /// Returns the fence of a module's write; `None` for writes of clients.
    pub fn fence(&self) -> Option<i64> {
        self.by_module.map(|module| module.fence)
    }

    /// Returns whether a write shows that the device is alive: its own user made it, without an application, and it is
    /// stored (R-03, M-02). A key that belongs to no application does not count as an application (C-05).
    pub fn is_heartbeat(&self) -> bool {
        is_device_user(&self.user) && self.application.is_none() && self.mode.stores()
    }
}

/// The prefix of the names of device users; the id of the device follows.
pub const DEVICE_USER: &str = "device_";

/// Returns whether a user is a device: `device_<external id>`, the owner of its object.
pub fn is_device_user(name: &str) -> bool {
    name.starts_with(DEVICE_USER)
}

/// The processing mode from the header `X-Platform-Processing-Mode` (M-01 to M-04).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum ProcessingMode {
    /// The write is stored and sent to real-time processing.
    #[default]
    Persistent,
    /// The write is sent to real-time processing only.
    Transient,
    /// The write is stored without notifications; only for measurements and events.
    Quiescent,
    /// The write is sent to modules only; only for measurements and events.
    Cep,
}

impl ProcessingMode {
    /// Parses the header value, in any case (M-01).
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

    /// Returns the word of the header.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Persistent => "PERSISTENT",
            Self::Transient => "TRANSIENT",
            Self::Quiescent => "QUIESCENT",
            Self::Cep => "CEP",
        }
    }

    /// Returns the mode for a resource whose writes always notify: QUIESCENT counts as PERSISTENT, and CEP is rejected
    /// (M-03).
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

    /// Returns the mode of a change of child references: QUIESCENT notifies nobody, and CEP is rejected (M-03).
    ///
    /// # Errors
    /// `Invalid` for CEP.
    pub fn of_child_references(self) -> Result<Self> {
        match self {
            Self::Quiescent => Ok(self),
            other => other.with_notifications(),
        }
    }

    /// Returns whether a write in this mode notifies subscribers.
    pub fn notifies(self) -> bool {
        matches!(self, Self::Persistent | Self::Transient)
    }

    /// Returns whether a write in this mode is stored.
    pub fn stores(self) -> bool {
        matches!(self, Self::Persistent | Self::Quiescent)
    }
}
