//! Parsing the cells of a line into a request (N-11 to N-17).

use super::header::{Column, Form};
use super::properties::Properties;
use super::{
    Header, MAX_PATH, NewDevice, NewDeviceObject, NewRequest, Password, Row, RowIdentity, RowRequest,
};
use crate::body::MAX_SHORT_TEXT;
use crate::device_id::DeviceId;
use crate::devices::external_id::NewExternalId;
use crate::devices::managed_object::NewManagedObject;
use crate::error::{Error, Result};
use crate::id::TenantId;
use crate::naming::naming;
use crate::users::user::parse_password;

/// The cells of one line by column; an absent cell is empty.
#[derive(Default)]
struct Cells<'a> {
    id: &'a str,
    credentials: &'a str,
    tenant: &'a str,
    type_: &'a str,
    name: &'a str,
    iccid: &'a str,
    id_type: &'a str,
    path: &'a str,
    shell: &'a str,
    auth_type: &'a str,
    external_ids: Vec<(&'a str, &'a str)>,
    properties: Vec<(&'a [Box<str>], &'a str)>,
}

impl Header {
    /// Parses a line. Values are kept as they are: the reader of the file has dropped the blanks around those without
    /// quotes (N-12a). Blanks around keys and words (ID, TENANT, IDTYPE, SHELL, AUTH_TYPE, names of groups), where
    /// nobody intends them, are ignored even in quotes.
    pub fn row(&self, line: u64, cells: &[impl AsRef<str>]) -> Row {
        let own = self.uploader.to_string();
        if cells.len() != self.width() {
            // It is unknown which cell is the ID, and it might be the password.
            let (given, allowed) = (format!("{} columns", cells.len()), self.width().to_string());
            let asks = Err(Error::invalid_value("row", given, &allowed));
            return Row { place: RowIdentity { line, id: None, tenant: own }, asks };
        }
        let mut nameless = cells.iter().skip(self.columns.len());
        if let Some(at) = nameless.position(|cell| !cell.as_ref().trim().is_empty()) {
            // It is unknown what the cell is, so it is not shown.
            let given = format!("a value in column {}", self.columns.len() + at + 1);
            let asks = Err(Error::invalid_value("row", given, "nothing in a column without a name"));
            return Row { place: RowIdentity { line, id: None, tenant: own }, asks };
        }
        let cells = Cells::of(self, cells);
        let id = Some(cells.id).filter(|id| !id.is_empty());
        let tenant = if self.names_tenants() { cells.tenant.chars().take(100).collect() } else { own };
        let place = RowIdentity { line, id: id.map(|id| id.chars().take(1000).collect()), tenant };
        let asks = match self.form {
            Form::Devices => self.device(&cells).map(|device| RowRequest::Device(device.into())),
            Form::Requests => cells.request().map(RowRequest::Request),
        };
        Row { place, asks }
    }

    fn device(&self, cells: &Cells<'_>) -> Result<NewDevice> {
        let user = DeviceId::parse(cells.id)?.user_name();
        let password = cells.password()?;
        let tenant = if self.names_tenants() {
            TenantId::parse(cells.tenant)
                .map_err(|_| Error::invalid_value("TENANT", cells.tenant, "an existing tenant"))?
        } else {
            self.uploader.clone()
        };
        let object = cells.object()?;
        Ok(NewDevice { tenant, user, password, object })
    }
}

impl<'a> Cells<'a> {
    fn of(header: &'a Header, values: &'a [impl AsRef<str>]) -> Self {
        let mut cells = Self::default();
        for (column, value) in header.columns.iter().zip(values) {
            let value = value.as_ref();
            match column {
                Column::Id => cells.id = value.trim(),
                Column::Credentials => cells.credentials = value,
                Column::Tenant => cells.tenant = value.trim(),
                Column::Type => cells.type_ = value,
                Column::Name => cells.name = value,
                Column::Iccid => cells.iccid = value,
                Column::IdType => cells.id_type = value.trim(),
                Column::Path => cells.path = value,
                Column::Shell => cells.shell = value.trim(),
                Column::AuthType => cells.auth_type = value.trim(),
                Column::ExternalId(_) | Column::Property(_) if value.is_empty() => {}
                Column::ExternalId(type_) => cells.external_ids.push((type_, value)),
                Column::Property(path) => cells.properties.push((path, value)),
                Column::Ignored(_) => {}
            }
        }
        cells
    }

    /// Returns the password; `None` for a device that logs in with a certificate (N-12b).
    fn password(&self) -> Result<Option<Password>> {
        let is = |word: &str| self.auth_type.eq_ignore_ascii_case(word);
        if is("CERTIFICATES") {
            let allowed = "nothing, because a device with AUTH_TYPE CERTIFICATES has no password";
            return match self.credentials {
                "" => Ok(None),
                _ => Err(Error::invalid_value("CREDENTIALS", "a password", allowed)),
            };
        }
        parse_password(self.credentials)?;
        if !is("BASIC") && !is("") {
            return Err(Error::invalid_value("AUTH_TYPE", self.auth_type, "BASIC, CERTIFICATES"));
        }
        Ok(Some(Password(self.credentials.to_owned())))
    }

    fn request(&self) -> Result<NewRequest> {
        Ok(NewRequest { id: DeviceId::parse(self.id)?, path: parse_path(self.path)? })
    }

    /// Returns the managed object. Every column of an object requires TYPE and NAME.
    fn object(&self) -> Result<Option<NewDeviceObject>> {
        let shell = match self.shell {
            "1" => true,
            "" | "0" => false,
            other => return Err(Error::invalid_value("SHELL", other, "1, 0 or nothing")),
        };
        let path = parse_path(self.path)?;
        let (type_, name) = (self.type_, self.name);
        if type_.is_empty() || name.is_empty() {
            let told = [type_, name, self.iccid, self.id_type].iter().any(|value| !value.is_empty());
            let more = !self.external_ids.is_empty() || !self.properties.is_empty() || !path.is_empty();
            return if told || more || shell {
                Err(Error::Invalid("TYPE and NAME must be given for the device info of this row".into()))
            } else {
                Ok(None)
            };
        }
        self.check_texts()?;
        let mut properties = Properties::of_device();
        if !self.iccid.is_empty() {
            properties.set_iccid(self.iccid);
        }
        if shell {
            properties.set_shell();
        }
        self.properties.iter().for_each(|(path, value)| properties.set(path, value));
        let object = NewManagedObject {
            type_: Some(type_.to_owned()),
            name: Some(name.to_owned()),
            fragments: properties.into_fragments(),
        };
        Ok(Some(NewDeviceObject { object, external_ids: self.all_external_ids()?, path }))
    }

    /// Rejects values that neither an index nor a JSON text of the database can store.
    fn check_texts(&self) -> Result<()> {
        for (column, value) in [("TYPE", self.type_), ("NAME", self.name)] {
            if value.len() > MAX_SHORT_TEXT || value.contains('\0') {
                return Err(Error::invalid_value(column, value, "at most 1024 bytes without NUL"));
            }
        }
        let custom = self.properties.iter().find(|(_, value)| value.contains('\0'));
        match custom.map(|(path, _)| path.join(".")).or(self.iccid.contains('\0').then(|| "ICCID".into())) {
            Some(column) => Err(Error::invalid_value(&column, "a text with NUL", "a text without NUL")),
            None => Ok(()),
        }
    }

    /// Returns the external id of the column ID and the other ones; a pair that occurs twice counts once.
    fn all_external_ids(&self) -> Result<Vec<NewExternalId>> {
        let serial = naming().fragment("Serial");
        let type_ = if self.id_type.is_empty() { &serial } else { self.id_type };
        let mut ids = Vec::with_capacity(1 + self.external_ids.len());
        for (type_, value) in std::iter::once((type_, self.id)).chain(self.external_ids.iter().copied()) {
            let pair = NewExternalId::new(type_.to_owned(), value.to_owned())?;
            // The columns have different types, so only the first pair may occur again.
            if ids.first() != Some(&pair) {
                ids.push(pair);
            }
        }
        Ok(ids)
    }
}

/// Parses names separated by `/` (N-17). Empty names are skipped.
fn parse_path(text: &str) -> Result<Vec<String>> {
    let names = text.split('/').map(str::trim).filter(|name| !name.is_empty());
    let path: Vec<String> = names.map(ToOwned::to_owned).collect();
    let fits = |name: &String| name.len() <= MAX_SHORT_TEXT && !name.contains('\0');
    if path.len() <= MAX_PATH && path.iter().all(fits) {
        Ok(path)
    } else {
        Err(Error::invalid_value(
            "PATH",
            text,
            &format!("at most {MAX_PATH} names of at most 1024 bytes without NUL"),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(names: &str, values: &str, tenant: &str) -> Row {
        let names: Vec<&str> = names.split(';').collect();
        let header = Header::parse(&names, 1, &TenantId::parse(tenant).expect("an id")).expect("a header");
        header.row(7, &values.split(';').collect::<Vec<_>>())
    }

    fn device(names: &str, values: &str) -> Box<NewDevice> {
        match row(names, values, "main").asks {
            Ok(RowRequest::Device(device)) => device,
            other => panic!("{values}: {other:?}"),
        }
    }

    #[test]
    fn row_with_all_columns_makes_a_whole_device() {
        let device = device(
            "ID;CREDENTIALS;TYPE;NAME;ICCID;IDTYPE;PATH;SHELL;AUTH_TYPE;external-imei;plat_Hardware.model;\
             plat_Mobile.imsi;note;owner",
            "a1;secret-1;pump;Pump 1;8949;plat_Mac; North / Hall 1 ;1;basic;4711;RX1;262;{\"x\":[1]};joe",
        );
        let object = device.object.expect("an object");
        let pairs: Vec<_> = object.external_ids.iter().map(|pair| (&*pair.type_, &*pair.value)).collect();

        assert_eq!(
            (&*device.user, &*device.password.expect("a password").0, device.tenant.as_str()),
            ("device_a1", "secret-1", "main")
        );
        assert_eq!(
            (object.object.type_.as_deref(), object.object.name.as_deref()),
            (Some("pump"), Some("Pump 1"))
        );
        assert_eq!(
            object.object.fragments.to_json(),
            r#"{"plat_IsDevice":{},"plat_Mobile":{"iccid":"8949","imsi":"262"},"plat_SupportedOperations":["plat_Command"],"plat_Hardware":{"model":"RX1"},"note":"{\"x\":[1]}"}"#
        );
        assert_eq!(pairs, [("plat_Mac", "a1"), ("imei", "4711")]);
        assert_eq!(object.path, ["North", "Hall 1"]);
    }

    #[test]
    fn empty_values_skip_their_columns() {
        let names = "ID;CREDENTIALS;TYPE;NAME;ICCID;IDTYPE;PATH;SHELL;AUTH_TYPE;external-imei;a.b";
        let object = device(names, "a1;secret-1;pump;Pump 1;;;;;;;").object.expect("an object");
        assert_eq!(object.object.fragments.to_json(), r#"{"plat_IsDevice":{}}"#);
        assert_eq!((object.external_ids.len(), &*object.external_ids[0].type_), (1, "plat_Serial"));
        assert!(object.path.is_empty() && device(names, "a1;secret-1;;;;;;0;;;").object.is_none());
    }

    #[test]
    fn device_with_a_certificate_has_no_password_and_is_otherwise_as_others() {
        let names = "ID;CREDENTIALS;AUTH_TYPE;TYPE;NAME;PATH";
        let made = device(names, "a1;;Certificates;pump;Pump 1;North");
        assert!(made.password.is_none() && made.user == "device_a1", "{made:?}");
        assert_eq!(made.object.expect("an object").path, ["North"]);
        assert!(device("ID;AUTH_TYPE", "a1;CERTIFICATES").password.is_none());
    }

    #[test]
    fn custom_columns_override_values_of_the_server() {
        let names = "ID;CREDENTIALS;TYPE;NAME;SHELL;plat_IsDevice;plat_SupportedOperations.x";
        let object = device(names, "a1;secret-1;pump;Pump 1;1;yes;y").object.expect("an object");
        assert_eq!(
            object.object.fragments.to_json(),
            r#"{"plat_IsDevice":"yes","plat_SupportedOperations":{"x":"y"}}"#
        );
    }

    #[test]
    fn invalid_rows_fail_with_the_reason() {
        let (id, long) = ("x".repeat(1001), "x".repeat(1025));
        let path = vec!["a"; 33].join("/");
        for (names, values, text) in [
            ("ID;CREDENTIALS", "a", "1 columns; allowed: 2"),
            ("ID;CREDENTIALS", "a;secret-1;x", "3 columns; allowed: 2"),
            ("ID;CREDENTIALS;;", "a;secret-1;", "3 columns; allowed: 4"),
            ("ID;CREDENTIALS;;", "a;secret-1; ;x", "a value in column 4; allowed: nothing"),
            ("ID;CREDENTIALS", ";secret-1", "'id'"),
            ("ID;CREDENTIALS", " ;secret-1", "'id'"),
            ("ID;CREDENTIALS", "a:b;secret-1", "'id'"),
            ("ID;CREDENTIALS", "a\nb;secret-1", "'id'"),
            ("ID;CREDENTIALS", "a\0b;secret-1", "'id'"),
            ("ID;CREDENTIALS", &format!("{id};secret-1"), "1000 characters"),
            ("ID;CREDENTIALS", "a;short", "6 to 32"),
            ("ID;CREDENTIALS", "a;", "6 to 32"),
            ("ID;CREDENTIALS", &format!("a;{}", "x".repeat(33)), "6 to 32"),
            ("ID;CREDENTIALS", "a;сeкрeт-1", "Latin-1"),
            (
                "ID;CREDENTIALS;AUTH_TYPE",
                "a;secret-1;CERTIFICATES",
                "'CREDENTIALS': a password; allowed: nothing",
            ),
            ("ID;CREDENTIALS;AUTH_TYPE", "a;secret-1;OAUTH", "OAUTH; allowed: BASIC, CERTIFICATES"),
            ("ID;CREDENTIALS;AUTH_TYPE", "a;;BASIC", "6 to 32"),
            ("ID;AUTH_TYPE", "a;", "6 to 32"),
            ("ID;AUTH_TYPE;PATH", "a;CERTIFICATES;North", "TYPE and NAME"),
            ("ID;CREDENTIALS;TYPE", "a;secret-1;pump", "TYPE and NAME"),
            ("ID;CREDENTIALS;NAME;TYPE", "a;secret-1;Pump 1;", "TYPE and NAME"),
            ("ID;CREDENTIALS;ICCID", "a;secret-1;1", "TYPE and NAME"),
            ("ID;CREDENTIALS;IDTYPE", "a;secret-1;x", "TYPE and NAME"),
            ("ID;CREDENTIALS;PATH", "a;secret-1;x", "TYPE and NAME"),
            ("ID;CREDENTIALS;SHELL", "a;secret-1;1", "TYPE and NAME"),
            ("ID;CREDENTIALS;external-x", "a;secret-1;1", "TYPE and NAME"),
            ("ID;CREDENTIALS;note", "a;secret-1;1", "TYPE and NAME"),
            ("ID;CREDENTIALS;SHELL", "a;secret-1;yes", "'SHELL': yes"),
            ("ID;CREDENTIALS;TYPE;NAME", &format!("a;secret-1;{long};x"), "'TYPE'"),
            ("ID;CREDENTIALS;TYPE;NAME", "a;secret-1;x;y\0", "'NAME'"),
            ("ID;CREDENTIALS;TYPE;NAME;a.b", "a;secret-1;x;y;z\0", "'a.b'"),
            ("ID;CREDENTIALS;TYPE;NAME;PATH", &format!("a;secret-1;x;y;{path}"), "32 names"),
            ("ID;CREDENTIALS;TYPE;NAME;external-x", &format!("a;secret-1;x;y;{long}"), "externalId"),
        ] {
            let error = row(names, values, "main").asks.expect_err(values).to_string();
            assert!(error.contains(text), "{values}: {error}");
        }
    }

    #[test]
    fn failure_contains_line_id_and_tenant_but_never_the_password() {
        let failed = row("TENANT;ID;CREDENTIALS", "No Tenant;a1;secret-1", "management");
        let reason = failed.asks.expect_err("no tenant").to_string();

        let json = serde_json::to_value(failed.place.failed(&reason)).expect("JSON");

        let expected = serde_json::json!({
            "bulkNewDeviceStatus": "FAILED",
            "deviceId": "a1",
            "failureReason": "Line 7: Invalid value of 'TENANT': No Tenant; allowed: an existing tenant",
            "line": "DeviceInfo{id='a1', credentials='***', tenant='No Tenant'}",
        });
        assert_eq!(json, expected);
        let misplaced = row("ID;CREDENTIALS", "secret-1", "main");
        let json = serde_json::to_string(&misplaced.place.failed("x")).expect("JSON");
        assert!(!json.contains("secret-1") && !json.contains("deviceId"), "{json}");
    }

    #[test]
    fn tenant_of_another_than_the_management_tenant_is_ignored() {
        let device = device("ID;CREDENTIALS;TENANT", "a1;secret-1;other");
        assert_eq!(device.tenant.as_str(), "main");
        let Ok(RowRequest::Device(device)) =
            row("ID;CREDENTIALS;TENANT", "a1;secret-1;other", "management").asks
        else {
            panic!("no device")
        };
        assert_eq!(device.tenant.as_str(), "other");
    }

    proptest::proptest! {
        #[test]
        fn any_cells_make_a_row_without_a_panic(cells in proptest::collection::vec(r"[\x00-\x7fäжabc/.:1]{0,12}", 0..12)) {
            let names = ["ID", "CREDENTIALS", "TYPE", "NAME", "PATH", "SHELL", "external-x", "a.b"];
            let header = Header::parse(&names, 1, &TenantId::parse("main").expect("an id")).expect("a header");
            let row = header.row(1, &cells);
            if let Ok(RowRequest::Device(device)) = row.asks {
                proptest::prop_assert!(device.user.starts_with("device_") && !device.user.contains(':'));
                let json = device.object.map(|object| object.object.fragments.to_json());
                proptest::prop_assert!(json.is_none_or(|json| !json.contains("\\u0000")));
            }
        }
    }
}
