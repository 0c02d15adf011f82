//! Publications of writes, in the form in which one server passes them to the others.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::data::operation::Operation;
use crate::id::ManagedObjectId;
use crate::links::Links;
use crate::origin::{Depth, Origin, ProcessingMode};
use crate::realtime::bayeux::Resource;
use crate::realtime::change::PublishedChange;
use crate::realtime::session_move::SessionMove;

/// The origin of a publication: it determines the receivers, and carries the depth and the links that they see.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Cause {
    /// The processing mode of the write.
    pub mode: ProcessingMode,
    /// The distance from the request of a client; see [`Depth`].
    #[serde(default)]
    pub depth: Depth,
    /// The address of the request.
    pub links: Links,
}

impl Cause {
    /// The cause of publications about a write with this origin.
    pub fn of(origin: &Origin) -> Self {
        let depth = origin.by_module.map(|module| module.depth).unwrap_or_default();
        Self { mode: origin.mode, depth, links: origin.links.clone() }
    }

    /// The cause of a publication without a request behind it, for example a step of a bulk run or an action of the
    /// server itself.
    pub fn persistent(links: &Links) -> Self {
        Self { mode: ProcessingMode::Persistent, depth: Depth::default(), links: links.clone() }
    }

    /// The cause for the part of a write that has no mode without notifications: QUIESCENT counts as PERSISTENT
    /// (M-03).
    pub fn notifying(self) -> Self {
        match self.mode {
            ProcessingMode::Quiescent => Self { mode: ProcessingMode::Persistent, ..self },
            _ => self,
        }
    }
}

/// A publication of a write to the sessions and the modules of its tenant.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Publication {
    /// A change of an object. Modules and the sessions with matching subscriptions receive it.
    Change {
        /// The object whose channel carries it.
        source: ManagedObjectId,
        /// The change.
        change: PublishedChange,
        /// The cause of the change.
        cause: Cause,
    },
    /// A change of an object that only modules receive (M-04).
    ModulesOnly {
        /// The object that the change is about.
        source: ManagedObjectId,
        /// The change.
        change: PublishedChange,
        /// The cause of the change.
        cause: Cause,
    },
    /// A new operation. Modules, the matching sessions and the agents that execute it receive it (B-04).
    Queued {
        /// The operation, with the name and the external ids of its device.
        operation: Arc<Operation>,
        /// The agents that execute it.
        agents: Vec<ManagedObjectId>,
        /// The cause of the operation.
        cause: Cause,
    },
    /// A row of a module's statement (B-05).
    Row {
        /// The name of the module.
        module: Arc<str>,
        /// The name of the statement.
        statement: Arc<str>,
        /// The row, a JSON object.
        json: String,
    },
    /// Links were added or removed, so that objects belong to other families (B-19b).
    LinksChanged,
    /// A session moves at this point.
    SessionMoves(SessionMove),
}

impl Publication {
    /// Returns the entry of the journal about this publication: the kind and the object of its channel, and the member
    /// `data` of its message. Publications that no session receives, and those that nothing stores, have none.
    pub fn journal_entry(&self) -> Option<(Resource, ManagedObjectId, String)> {
        let (source, change, cause) = match self {
            Self::Change { source, change, cause } => (*source, change.clone(), cause),
            Self::Queued { operation, cause, .. } => {
                let alone = Arc::new(Operation::clone(operation).alone());
                (operation.device, PublishedChange::OperationCreated(alone), cause)
            }
            Self::ModulesOnly { .. } | Self::Row { .. } | Self::LinksChanged | Self::SessionMoves(_) => {
                return None;
            }
        };
        let content = || String::from_utf8_lossy(&change.content(&cause.links)).into_owned();
        cause.mode.notifies().then(|| (change.resource(), source, content()))
    }
}
