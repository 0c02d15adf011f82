//! Which measurements are meant: query parameters of the collection (G-04).

use crate::model::id::ManagedObjectId;
use crate::model::page::TimeOrder;
use crate::model::timestamp::Timestamp;

/// Filters of the collection; used to list, count and delete alike (G-01).
#[derive(Debug, Clone)]
pub struct MeasurementFilter {
    /// Of this source.
    pub source: Option<ManagedObjectId>,
    /// Taken at or after.
    pub date_from: Option<Timestamp>,
    /// Taken before or at.
    pub date_to: Option<Timestamp>,
    /// Of this type.
    pub type_: Option<String>,
    /// With a top-level member of this name, of whatever kind.
    pub fragment_type: Option<String>,
    /// With a member of this name that holds at least one series.
    pub value_fragment_type: Option<String>,
    /// With this series in that member.
    pub value_fragment_series: Option<String>,
    /// Oldest first unless reverted (G-05).
    pub order: TimeOrder,
}

impl MeasurementFilter {
    /// Whether it asks for more than source and time: for what a shape tells.
    pub(crate) fn asks_for_shape(&self) -> bool {
        self.type_.is_some() || self.fragment_type.is_some() || self.value_fragment_type.is_some()
    }

    /// `<fragment>.<series>`, as shapes know it.
    pub(crate) fn value_series(&self) -> Option<String> {
        let (fragment, series) = (self.value_fragment_type.as_ref()?, self.value_fragment_series.as_ref()?);
        Some(format!("{fragment}.{series}"))
    }
}
