//! The inventory that `inventory-fill` creates. Every property follows from an object's number, so that
//! scenarios/inventory.toml knows it without a request.

use crate::cli::Shape;

/// The id of object 0. The server's own ids are larger, because they rise with time.
const FIRST_ID: u64 = 1000;
/// The number of objects per group.
const PER_GROUP: u32 = 1000;
/// The number of objects per one with the rare fragment.
const PER_RARE: u32 = 20_000;
/// The number of owners.
const OWNERS: u32 = 100;
/// The number of models of devices.
const MODELS: u32 = 50;
/// The number of types of assets.
const ASSET_TYPES: u32 = 40;
/// The type of the external ids of devices.
pub(crate) const SERIAL: &str = "acme_Serial";

/// The kind of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The first of each thousand: a group of the devices among them.
    Group,
    /// A device, with its number among the devices.
    Device(u32),
    /// Anything else.
    Asset,
}

impl Shape {
    /// Returns the kind of object `n`.
    pub(crate) fn kind(self, n: u32) -> Kind {
        let step = (self.objects / self.devices).max(1);
        match n % PER_GROUP {
            0 => Kind::Group,
            _ if n % step == step - 1 && n / step < self.devices => Kind::Device(n / step),
            _ => Kind::Asset,
        }
    }

    /// Returns the group that has device `n` as a child asset.
    pub(crate) fn group_of(n: u32) -> u32 {
        n - n % PER_GROUP
    }
}

/// Returns the id of object `n`.
pub(crate) fn id(n: u32) -> u64 {
    FIRST_ID + u64::from(n)
}

/// Returns the name of the owner of object `n`.
pub(crate) fn owner(n: u32) -> String {
    format!("operator{}", n / 7 % OWNERS)
}

/// Returns type and name of object `n`.
pub(crate) fn type_and_name(kind: Kind, n: u32) -> (String, String) {
    match kind {
        Kind::Group => ("plat_DeviceGroup".into(), format!("group {n}")),
        Kind::Device(device) if device % 3 == 0 => ("acme_Motor".into(), format!("motor {device}")),
        Kind::Device(device) => ("acme_Pump".into(), format!("pump {device}")),
        Kind::Asset => (format!("acme_Asset{}", n % ASSET_TYPES), format!("asset {n}")),
    }
}

/// Returns the serial number of a device, which is also its external id.
pub(crate) fn serial(n: u32) -> String {
    format!("sn-{n}")
}

/// Returns the fragments of object `n`, as JSON without a backslash.
pub(crate) fn fragments(kind: Kind, n: u32) -> String {
    let rare = if n % PER_RARE == PER_RARE / 2 { r#""plat_Rare":{},"# } else { "" };
    match kind {
        Kind::Group => r#"{"plat_IsDeviceGroup":{},"plat_Notes":"devices of one hall"}"#.into(),
        Kind::Device(device) => {
            let agent = if device % 4 == 0 { r#""com_platform_model_Agent":{},"# } else { "" };
            format!(
                r#"{{{rare}{agent}"plat_IsDevice":{{}},"plat_Hardware":{{"model":"RX{}","revision":"{}.{}","serialNumber":"{}"}},"plat_Firmware":{{"name":"acme-fw","version":"{}.0.{}","url":"https://firmware.example.com/{}"}},"plat_Position":{{"lat":{}.{:04},"lng":{}.{:04},"alt":{}}},"plat_RequiredAvailability":{{"responseInterval":{}}},"plat_SupportedOperations":["plat_Restart","plat_Configuration","plat_Firmware","plat_Software"],"plat_Mobile":{{"imei":"{:015}","cellId":"{}"}}}}"#,
                device % MODELS,
                device % 4,
                device % 9,
                serial(n),
                device % 3,
                device % 17,
                device % 17,
                n % 90,
                n % 9973,
                n % 180,
                n % 9967,
                n % 2500,
                n % 60,
                n,
                n % 7919,
            )
        }
        Kind::Asset => format!(
            r#"{{{rare}"plat_IsAsset":{{}},"acme_Place":{{"building":"B{}","floor":{},"room":"{}"}},"acme_Tags":["tag{}","tag{}"],"acme_Description":"Part {} of line {}, checked by team {}"}}"#,
            n % 60,
            n % 12,
            n % 400,
            n % 31,
            n % 37,
            n % 1000,
            n % 64,
            n % 25,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shape_has_about_the_requested_number_of_devices_and_json_fragments() {
        let shape = Shape { objects: 50_000, devices: 5000 };
        let mut devices = 0;
        for n in 0..shape.objects {
            let kind = shape.kind(n);
            devices += u32::from(matches!(kind, Kind::Device(_)));
            let json: serde_json::Value = serde_json::from_str(&fragments(kind, n)).unwrap();
            assert!(json.is_object() && !json.to_string().contains('\\'));
        }
        assert_eq!(devices, 5000);
    }
}
