//! The faults of devices. Each fault changes the measured values and raises an alarm, which the device repeats while
//! the fault lasts.

/// A fault of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    LowPressure,
    Vibration,
    HotMotor,
    LowVoltage,
    OpenCover,
    LowBattery,
    Detour,
    WeakSignal,
    /// The room gets warm. The module raises the alarm, not the device.
    OpenDoor,
}

/// The alarm that a device raises.
pub(super) struct Signal {
    pub(super) alarm: &'static str,
    pub(super) severity: &'static str,
    pub(super) text: &'static str,
}

impl Trouble {
    /// Returns the alarm that the device raises; `None` if it raises none.
    pub(super) fn signal(self) -> Option<Signal> {
        let (alarm, severity, text) = match self {
            Self::LowPressure => ("demo_LowPressure", "MAJOR", "The pressure is below 2 bar"),
            Self::Vibration => ("demo_Vibration", "MINOR", "The pump vibrates"),
            Self::HotMotor => ("demo_HotMotor", "CRITICAL", "The motor is hotter than 75 °C"),
            Self::LowVoltage => ("demo_LowVoltage", "WARNING", "The voltage is below 210 V"),
            Self::OpenCover => ("demo_OpenCover", "MAJOR", "The cover was opened"),
            Self::LowBattery => ("demo_LowBattery", "WARNING", "The battery is low"),
            Self::Detour => ("demo_Detour", "MINOR", "The truck left its route"),
            Self::WeakSignal => ("demo_WeakSignal", "WARNING", "The radio signal is weak"),
            Self::OpenDoor => return None,
        };
        Some(Signal { alarm, severity, text })
    }

    /// Returns the shortest and the longest duration in seconds.
    pub(super) fn duration(self) -> (f64, f64) {
        match self {
            Self::HotMotor => (40.0, 110.0),
            Self::OpenDoor => (60.0, 150.0),
            _ => (50.0, 260.0),
        }
    }
}
