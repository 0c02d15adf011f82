//! The index by which a page of managed objects is read in order.

use platform_model::devices::managed_object::ManagedObjectFilter;
use platform_model::id::ManagedObjectId;

/// The index that a scan uses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScanIndex {
    /// The list of ids.
    Ids,
    /// The links of a child, of one kind.
    Parents(&'static str, ManagedObjectId),
    /// The objects of a type.
    Type,
    /// The objects of an owner.
    Owner,
    /// All objects of the tenant.
    All,
}

impl ScanIndex {
    pub(crate) fn of(filter: &ManagedObjectFilter) -> Self {
        let [device, asset, addition] = parents_of(filter);
        match filter {
            ManagedObjectFilter { ids: Some(_), .. } => Self::Ids,
            _ if device.1.or(asset.1).or(addition.1).is_some() => {
                let (kind, child) = [device, asset, addition]
                    .into_iter()
                    .find_map(|(kind, child)| Some((kind, child?)))
                    .expect("one of them is given");
                Self::Parents(kind, child)
            }
            ManagedObjectFilter { type_: Some(_), query: None, .. } => Self::Type,
            ManagedObjectFilter { owner: Some(_), .. } => Self::Owner,
            _ => Self::All,
        }
    }

    /// Returns whether the scan is as short as a list of ids or as the parents of one object.
    pub(crate) fn is_short(self) -> bool {
        matches!(self, Self::Ids | Self::Parents(..))
    }
}

/// Returns the children whose parents the filter selects, by the kind of their links.
pub(crate) fn parents_of(filter: &ManagedObjectFilter) -> [(&'static str, Option<ManagedObjectId>); 3] {
    [
        ("childDevices", filter.child_device),
        ("childAssets", filter.child_asset),
        ("childAdditions", filter.child_addition),
    ]
}
