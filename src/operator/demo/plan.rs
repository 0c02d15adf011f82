//! The devices of a demo: pumps, meters, trucks, and cold stores with rooms.

use super::trouble::Trouble;

/// A kind of device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// An agent that speaks JSON.
    Pump,
    /// An agent that speaks CSV.
    Meter,
    /// An agent with a position.
    Truck,
    /// A gateway: the agent of its rooms.
    ColdStore,
    /// A child device of a cold store, without a connection of its own.
    Room,
}

/// A device of a demo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) kind: Kind,
    /// Its external id, and the name of its user after `device_`.
    pub(super) serial: String,
    pub(super) name: String,
    /// The groups that it is in, from the outermost, separated by slashes.
    pub(super) group: &'static str,
    /// Its number in the demo, from which the seed of its random numbers is derived.
    pub(super) number: usize,
    /// The number of the parent device.
    pub(super) parent: Option<usize>,
}

impl Kind {
    /// Returns the type of its managed object.
    pub(super) fn object_type(self) -> &'static str {
        match self {
            Self::Pump => "demo_Pump",
            Self::Meter => "demo_Meter",
            Self::Truck => "demo_Truck",
            Self::ColdStore => "demo_ColdStore",
            Self::Room => "demo_Room",
        }
    }

    /// Returns the groups over which devices of the kind are spread.
    fn groups(self) -> &'static [&'static str] {
        match self {
            Self::Pump => &["Waterworks/Hall A", "Waterworks/Hall B"],
            Self::Meter => &["Grid/North", "Grid/Harbour", "Grid/South"],
            Self::Truck => &["Trucks"],
            Self::ColdStore | Self::Room => &["Cold stores"],
        }
    }

    /// Returns the seconds between two measurements.
    pub(super) fn period(self) -> f64 {
        match self {
            Self::Pump => 15.0,
            Self::Meter => 30.0,
            Self::Truck => 20.0,
            Self::ColdStore | Self::Room => 10.0,
        }
    }

    /// Returns the faults that devices of this kind may have.
    pub(super) fn troubles(self) -> &'static [Trouble] {
        match self {
            Self::Pump => &[Trouble::LowPressure, Trouble::Vibration, Trouble::HotMotor],
            Self::Meter => &[Trouble::LowVoltage, Trouble::OpenCover],
            Self::Truck => &[Trouble::LowBattery, Trouble::Detour],
            Self::ColdStore => &[Trouble::WeakSignal],
            Self::Room => &[Trouble::OpenDoor],
        }
    }

    /// Returns whether its agent speaks CSV.
    pub(super) fn speaks_csv(self) -> bool {
        self == Self::Meter
    }
}

/// Returns the devices of a demo. Each cold store is followed by its rooms.
pub(super) fn fleet(devices: usize) -> Vec<Plan> {
    let stores = (devices / 50).max(1);
    let rooms = (devices * 14 / 100).max(stores);
    let trucks = (devices * 14 / 100).max(1);
    let meters = (devices * 30 / 100).max(1);
    let pumps = devices.saturating_sub(stores + rooms + trucks + meters);
    let mut fleet = Vec::with_capacity(devices);
    let alone = [(Kind::Pump, pumps), (Kind::Meter, meters), (Kind::Truck, trucks)];
    for (kind, count) in alone {
        for index in 0..count {
            add(&mut fleet, kind, index, None);
        }
    }
    for store in 0..stores {
        let parent = fleet.len();
        add(&mut fleet, Kind::ColdStore, store, None);
        for room in 0..rooms / stores + usize::from(store < rooms % stores) {
            add(&mut fleet, Kind::Room, room, Some(parent));
        }
    }
    fleet
}

fn add(fleet: &mut Vec<Plan>, kind: Kind, index: usize, parent: Option<usize>) {
    let groups = kind.groups();
    let group = groups[index % groups.len()];
    let (place, within) = (group.rsplit(['/', ' ']).next().unwrap_or(group), index / groups.len() + 1);
    let (serial, name) = match (kind, parent.map(|parent| &fleet[parent])) {
        (Kind::Pump, _) => (format!("demo-pump-{:04}", index + 1), format!("pump {place}{within:02}")),
        (Kind::Meter, _) => {
            (format!("demo-meter-{:04}", index + 1), format!("meter {} {within:02}", place.to_lowercase()))
        }
        (Kind::Truck, _) => (format!("demo-truck-{:04}", index + 1), format!("truck {:02}", index + 1)),
        (Kind::Room, Some(store)) => {
            (format!("{}-{}", store.serial, index + 1), format!("{}, room {}", store.name, index + 1))
        }
        (Kind::ColdStore | Kind::Room, _) => {
            (format!("demo-store-{:04}", index + 1), format!("cold store {}", index + 1))
        }
    };
    let number = fleet.len();
    fleet.push(Plan { kind, serial, name, group, number, parent });
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::cli::DemoArguments;

    #[test]
    fn fleet_has_as_many_devices_as_wanted_and_each_kind() {
        for devices in [DemoArguments::FEWEST, 12, 49, 50, 51, 200, 777, DemoArguments::MOST] {
            let devices = devices as usize;
            let fleet = fleet(devices);
            let kinds: HashSet<_> = fleet.iter().map(|plan| plan.kind).collect();
            assert_eq!((fleet.len(), kinds.len()), (devices, 5), "{devices}");
        }
    }

    #[test]
    fn names_and_serials_are_unique_and_parents_are_gateways() {
        let fleet = fleet(500);
        assert_eq!(fleet.iter().map(|plan| &plan.name).collect::<HashSet<_>>().len(), 500);
        assert_eq!(fleet.iter().map(|plan| &plan.serial).collect::<HashSet<_>>().len(), 500);
        for plan in &fleet {
            let parent = plan.parent.map(|parent| fleet[parent].kind);
            assert_eq!(parent, (plan.kind == Kind::Room).then_some(Kind::ColdStore), "{plan:?}");
        }
    }
}
