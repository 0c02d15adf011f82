//! The values that devices measure: a daily curve, a faster wave that is visible within minutes, noise, and the effects
//! of faults. Values depend on the time only, so that the past data of a demo continues smoothly in what its devices
//! send.

use std::f64::consts::TAU;

use serde_json::{Map, Value, json};

use super::chance::Chance;
use super::plan::Kind;
use super::trouble::Trouble;

const DAY: f64 = 86_400.0;
/// The period in seconds of the wave that is visible within minutes.
const QUICK: f64 = 900.0;

/// A value of a series.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reading {
    pub(super) fragment: &'static str,
    pub(super) series: &'static str,
    pub(super) value: f64,
    pub(super) unit: &'static str,
}

/// The curves of a device at one moment.
struct Waves {
    /// From -1 at night to 1 in the afternoon.
    day: f64,
    /// The day as a level from 0 to 1.
    level: f64,
    quick: f64,
    noise: Chance,
}

impl Waves {
    fn at(device: u64, seconds: f64) -> Self {
        let mut own = Chance::of(device, 0);
        // The daily curves of devices differ by up to half an hour, their fast waves by any phase.
        let shift = own.between(-1800.0, 1800.0);
        let day = -((seconds + shift) / DAY * TAU + 0.6).cos();
        let quick = (seconds / QUICK * TAU + own.between(0.0, TAU)).sin();
        let noise = Chance::of(device, seconds.to_bits());
        Self { day, level: day.mul_add(0.5, 0.5), quick, noise }
    }

    /// Returns a value between `-amplitude` and `amplitude`.
    fn noise(&mut self, amplitude: f64) -> f64 {
        self.noise.between(-amplitude, amplitude)
    }
}

/// Returns the measured values of a device at a moment, in seconds since 1970. `since` is the number of seconds since
/// its fault began.
pub(super) fn readings(
    kind: Kind,
    device: u64,
    seconds: f64,
    trouble: Option<(Trouble, f64)>,
) -> Vec<Reading> {
    let mut waves = Waves::at(device, seconds);
    let has = |one| trouble.is_some_and(|(trouble, _)| trouble == one);
    match kind {
        Kind::Pump => pump(&mut waves, has),
        Kind::Meter => meter(&mut waves, seconds, has),
        Kind::Truck => truck(&mut waves, seconds, has),
        Kind::ColdStore => store(&mut waves, has),
        Kind::Room => room(&mut waves, trouble.map(|(_, since)| since)),
    }
}

fn reading(fragment: &'static str, series: &'static str, value: f64, unit: &'static str) -> Reading {
    Reading { fragment, series, value: (value * 100.0).round() / 100.0, unit }
}

fn pump(waves: &mut Waves, has: impl Fn(Trouble) -> bool) -> Vec<Reading> {
    let pressure = 3.1 + 0.35 * waves.day + 0.15 * waves.quick + waves.noise(0.05);
    let pressure = if has(Trouble::LowPressure) { pressure * 0.45 } else { pressure };
    let flow = 10.0 + 4.5 * waves.level + 1.1 * waves.quick + waves.noise(0.3);
    let heat = if has(Trouble::HotMotor) { 36.0 } else { 0.0 };
    let shaken = if has(Trouble::Vibration) { 5.5 } else { 0.0 };
    vec![
        reading("demo_Water", "pressure", pressure, "bar"),
        reading("demo_Water", "flow", flow * (pressure / 3.1).min(1.0), "l/s"),
        reading(
            "demo_Motor",
            "temperature",
            49.0 + 6.0 * waves.day + 2.5 * waves.quick + waves.noise(0.4) + heat,
            "°C",
        ),
        reading("demo_Motor", "current", 8.0 + 2.0 * waves.level + 0.6 * waves.quick + waves.noise(0.1), "A"),
        reading("demo_Vibration", "speed", 1.7 + 0.2 * waves.quick + waves.noise(0.15) + shaken, "mm/s"),
    ]
}

fn meter(waves: &mut Waves, seconds: f64, has: impl Fn(Trouble) -> bool) -> Vec<Reading> {
    let power = 500.0 + 900.0 * waves.level.powi(2) + 140.0 * waves.quick + waves.noise(90.0);
    let lost = if has(Trouble::LowVoltage) { 26.0 } else { 0.0 };
    // The counter started three years ago and rises by 0.9 kW on average, faster by day than at night.
    let counter = (seconds - 1_700_000_000.0) / 3600.0 * 0.9 + waves.day;
    vec![
        reading("demo_Power", "P", power, "W"),
        reading("demo_Voltage", "U", 230.5 - 2.0 * waves.day + waves.noise(0.8) - lost, "V"),
        reading("demo_Energy", "E", counter, "kWh"),
    ]
}

fn truck(waves: &mut Waves, seconds: f64, has: impl Fn(Trouble) -> bool) -> Vec<Reading> {
    let speed = (52.0 + 22.0 * waves.day + 18.0 * waves.quick + waves.noise(5.0)).max(0.0);
    // A tank lasts eight hours.
    let fuel = 95.0 - 70.0 * (seconds / 28_800.0).fract();
    let battery = if has(Trouble::LowBattery) { 11.2 } else { 12.9 };
    vec![
        reading("demo_Drive", "speed", speed, "km/h"),
        reading("demo_Tank", "fuel", fuel + waves.noise(0.3), "%"),
        reading("demo_Battery", "U", battery + waves.noise(0.1), "V"),
    ]
}

fn store(waves: &mut Waves, has: impl Fn(Trouble) -> bool) -> Vec<Reading> {
    let lost = if has(Trouble::WeakSignal) { 38.0 } else { 0.0 };
    vec![
        reading(
            "demo_Compressor",
            "power",
            6.5 + 2.6 * waves.level + 0.8 * waves.quick + waves.noise(0.2),
            "kW",
        ),
        reading("demo_Radio", "signal", -64.0 + waves.noise(2.5) - lost, "dBm"),
    ]
}

fn room(waves: &mut Waves, open: Option<f64>) -> Vec<Reading> {
    // Warm air comes in while the door is open.
    let warm = open.map_or(0.0, |since| 9.0 * (1.0 - (-since / 40.0).exp()));
    vec![
        reading(
            "demo_Room",
            "temperature",
            3.6 + 0.5 * waves.day + 0.6 * waves.quick + waves.noise(0.15) + warm,
            "°C",
        ),
        reading("demo_Room", "humidity", 81.0 - 3.0 * waves.quick + waves.noise(0.8) + warm * 0.8, "%"),
    ]
}

/// Returns the position of a truck in degrees. Each truck drives a loop of its own around the town.
pub(super) fn position(device: u64, seconds: f64, trouble: Option<Trouble>) -> (f64, f64) {
    let mut own = Chance::of(device, 1);
    let (phase, width, height) = (own.between(0.0, TAU), own.between(0.05, 0.2), own.between(0.03, 0.1));
    let way = seconds / own.between(1200.0, 2400.0) * TAU + phase;
    let off = if trouble == Some(Trouble::Detour) { 0.06 } else { 0.0 };
    let (latitude, longitude) = (56.16 + height * way.sin() + off, 10.2 + width * (way * 0.5).cos());
    ((latitude * 1e5).round() / 1e5, (longitude * 1e5).round() / 1e5)
}

/// Returns the measurement in JSON.
pub(super) fn measurement(kind: Kind, source: &str, time: &str, readings: &[Reading]) -> Value {
    let mut body = Map::new();
    body.insert("type".into(), kind.object_type().into());
    body.insert("time".into(), time.into());
    body.insert("source".into(), json!({ "id": source }));
    for Reading { fragment, series, value, unit } in readings {
        body.entry(*fragment).or_insert_with(|| json!({}))[*series] = json!({"value": value, "unit": unit});
    }
    body.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: f64 = 1_790_000_000.0;

    fn value(kind: Kind, seconds: f64, trouble: Option<(Trouble, f64)>, series: &str) -> f64 {
        let all = readings(kind, 3, seconds, trouble);
        all.iter().find(|reading| reading.series == series).unwrap().value
    }

    #[test]
    fn values_follow_from_the_time() {
        for kind in [Kind::Pump, Kind::Meter, Kind::Truck, Kind::ColdStore, Kind::Room] {
            assert_eq!(readings(kind, 3, NOON, None), readings(kind, 3, NOON, None));
            assert_ne!(readings(kind, 3, NOON, None), readings(kind, 4, NOON, None), "{kind:?}");
        }
    }

    #[test]
    fn troubles_are_seen_in_what_is_measured() {
        for hour in 0..24 {
            let at = NOON + f64::from(hour) * 3600.0;
            let pressure = value(Kind::Pump, at, Some((Trouble::LowPressure, 5.0)), "pressure");
            assert!(pressure < 2.0 && value(Kind::Pump, at, None, "pressure") > 2.0, "{pressure}");
            let hot = value(Kind::Pump, at, Some((Trouble::HotMotor, 5.0)), "temperature");
            assert!(hot > 65.0 && value(Kind::Pump, at, None, "temperature") < 62.0, "{hot}");
            assert!(value(Kind::Meter, at, Some((Trouble::LowVoltage, 5.0)), "U") < 210.0);
            // The module raises an alarm above 8 °C and clears it below 6 °C.
            assert!(value(Kind::Room, at, Some((Trouble::OpenDoor, 60.0)), "temperature") > 8.0);
            assert!(value(Kind::Room, at, None, "temperature") < 6.0);
        }
    }

    #[test]
    fn counter_never_falls() {
        let all: Vec<f64> =
            (0..300).map(|n| value(Kind::Meter, NOON + f64::from(n) * 300.0, None, "E")).collect();
        assert!(all.windows(2).all(|pair| pair[0] <= pair[1]));
    }
}
