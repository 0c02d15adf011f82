//! The header row of a CSV file: the meaning of its columns, and the separator.

use std::collections::HashSet;

use super::MAX_COLUMNS;
use crate::body::{MAX_SHORT_TEXT, missing};
use crate::devices::managed_object::is_server_member;
use crate::error::{Error, Result};
use crate::id::{MANAGEMENT, TenantId};
use crate::limits::MAX_JSON_DEPTH;

/// The meaning of the columns of a file.
#[derive(Debug)]
pub struct Header {
    /// The columns with names; blank ones may follow.
    pub(super) columns: Vec<Column>,
    /// The number of all columns.
    width: usize,
    pub(super) form: Form,
    /// The tenant that uploads the file.
    pub(super) uploader: TenantId,
}

/// The kind of rows in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Users with passwords, and devices.
    Devices,
    /// Registration requests (N-11).
    Requests,
}

/// The meaning of a column.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Column {
    Id,
    Credentials,
    Tenant,
    Type,
    Name,
    Iccid,
    IdType,
    Path,
    Shell,
    AuthType,
    /// `external-<type>`: another external id.
    ExternalId(String),
    /// A custom property: the names of its enclosing objects and its own name.
    Property(Vec<Box<str>>),
    /// A property that only the server sets, such as `owner`; it is ignored as in a body (I-01).
    Ignored(Box<str>),
}

const KNOWN: [(&str, Column); 10] = [
    ("ID", Column::Id),
    ("CREDENTIALS", Column::Credentials),
    ("TENANT", Column::Tenant),
    ("TYPE", Column::Type),
    ("NAME", Column::Name),
    ("ICCID", Column::Iccid),
    ("IDTYPE", Column::IdType),
    ("PATH", Column::Path),
    ("SHELL", Column::Shell),
    ("AUTH_TYPE", Column::AuthType),
];
const EXTERNAL: &str = "external-";

/// Returns the separator of the cells: the one of tab, `;` and `,` that occurs most often in the header row outside
/// quotes, or the first one in this order when two occur equally often (N-10). The text may continue after the header.
pub fn separator(text: &[u8]) -> u8 {
    let mut counts = [(b'\t', 0), (b';', 0), (b',', 0)];
    let mut quoted = false;
    let header = text.iter().skip_while(|byte| matches!(byte, b'\r' | b'\n'));
    for byte in header {
        match byte {
            b'"' => quoted = !quoted,
            b'\r' | b'\n' if !quoted => break,
            _ if quoted => {}
            byte => counts.iter_mut().filter(|(of, _)| of == byte).for_each(|(_, count)| *count += 1),
        }
    }
    // `max_by_key` returns the last of equal elements, so the order is reversed.
    counts.into_iter().rev().max_by_key(|(_, count)| *count).map_or(b',', |(separator, _)| separator)
}

/// Returns the separator that a first line `sep=;` names, as spreadsheets write it (N-12a); `None` if the file begins
/// with its header.
pub fn named_separator(text: &[u8]) -> Option<u8> {
    let (word, rest) = text.split_at_checked(4)?;
    let (separator, rest) = rest.split_first()?;
    let is_usable =
        matches!(separator, b'\t' | b' ') || separator.is_ascii_punctuation() && *separator != b'"';
    (word.eq_ignore_ascii_case(b"sep=") && is_usable && matches!(rest, [b'\r' | b'\n', ..]))
        .then_some(*separator)
}

impl Header {
    /// Parses the names of the columns, in any case and without surrounding blanks. Only names of custom properties are
    /// case-sensitive. Only the management tenant names tenants, and its files must do so (N-16). Columns without a
    /// name at the end are ignored; their cells must be empty (N-12a). Errors name the column and the `line` of the
    /// header.
    ///
    /// # Errors
    /// `Invalid` for a missing mandatory column, a column that occurs twice, and a name that is not valid for a custom
    /// property (I-13): no row of the file can be processed then.
    pub fn parse(names: &[impl AsRef<str>], line: u64, uploader: &TenantId) -> Result<Self> {
        if names.len() > MAX_COLUMNS {
            let given = format!("{} columns", names.len());
            return Err(Error::invalid_value("file", given, &format!("at most {MAX_COLUMNS}")));
        }
        let names: Vec<&str> = names.iter().map(|name| name.as_ref().trim()).collect();
        let named = names.iter().rposition(|name| !name.is_empty()).map_or(0, |last| last + 1);
        let place = |at: usize| ColumnPlace { name: names[at], number: at + 1, line };
        let columns = (0..named).map(|at| Column::parse(place(at))).collect::<Result<Vec<_>>>()?;
        let mut given = HashSet::new();
        for (at, column) in columns.iter().enumerate() {
            if !given.insert(column) {
                return Err(place(at).wrong("each column once"));
            }
        }
        if let Some(at) = outside_another(&columns) {
            return Err(place(at).wrong("a property that is not an object in another column"));
        }
        let form = form(&given, uploader)?;
        drop(given);
        Ok(Self { columns, width: names.len(), form, uploader: uploader.clone() })
    }

    /// Returns the number of cells of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the tenant that uploads the file.
    pub fn uploader(&self) -> &TenantId {
        &self.uploader
    }

    pub(super) fn names_tenants(&self) -> bool {
        self.uploader.as_str() == MANAGEMENT
    }
}

impl Column {
    fn parse(place: ColumnPlace<'_>) -> Result<Self> {
        let name = place.name;
        if let Some((_, column)) = KNOWN.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
            return Ok(column.clone());
        }
        if let Some(prefix) = name.get(..EXTERNAL.len())
            && prefix.eq_ignore_ascii_case(EXTERNAL)
        {
            let type_ = &name[EXTERNAL.len()..];
            return if (1..=MAX_SHORT_TEXT).contains(&type_.len()) && !type_.contains('\0') {
                Ok(Self::ExternalId(type_.into()))
            } else {
                Err(place.wrong("'external-' and a type of 1 to 1024 bytes without NUL"))
            };
        }
        let parts: Vec<Box<str>> = name.split('.').map(Into::into).collect();
        let fits = |part: &str| {
            (1..=MAX_SHORT_TEXT).contains(&part.len()) && !part.starts_with('$') && !part.contains('\0')
        };
        if parts.len() > MAX_JSON_DEPTH || !parts.iter().all(|part| fits(part)) {
            let allowed =
                "names of 1 to 1024 bytes that do not start with '$', at most 100 with dots between them";
            return Err(place.wrong(allowed));
        }
        if is_server_member(&parts[0]) { Ok(Self::Ignored(name.into())) } else { Ok(Self::Property(parts)) }
    }
}

/// The name of a column, and where it stands.
#[derive(Clone, Copy)]
struct ColumnPlace<'n> {
    name: &'n str,
    /// The number of the column, counted from 1.
    number: usize,
    line: u64,
}

impl ColumnPlace<'_> {
    fn wrong(self, allowed: &str) -> Error {
        let Self { name, number, line } = self;
        let name = if name.is_empty() { "no name" } else { name };
        Error::invalid_value("column", format!("{name} (column {number} in line {line})"), allowed)
    }
}

/// Returns the index of a property that is a value although another column makes it an object.
fn outside_another(columns: &[Column]) -> Option<usize> {
    let properties = columns.iter().enumerate().filter_map(|(at, column)| match column {
        Column::Property(path) => Some((path, at)),
        _ => None,
    });
    let mut paths: Vec<(&Vec<Box<str>>, usize)> = properties.collect();
    // Paths with the same prefix are adjacent after sorting.
    paths.sort_unstable();
    let pair = paths.windows(2).find(|pair| pair[1].0.starts_with(pair[0].0))?;
    Some(pair[0].1)
}

fn form(given: &HashSet<&Column>, uploader: &TenantId) -> Result<Form> {
    let names_tenants = uploader.as_str() == MANAGEMENT;
    let lacks = |column| !given.contains(&column);
    let simple = given
        .iter()
        .all(|column| matches!(column, Column::Id | Column::Path | Column::Tenant | Column::Ignored(_)));
    if simple && !names_tenants && !lacks(Column::Id) {
        return Ok(Form::Requests);
    }
    let mandatory = [
        ("ID", lacks(Column::Id)),
        // A file without passwords is one of devices that log in with certificates (N-12b).
        ("CREDENTIALS", lacks(Column::Credentials) && lacks(Column::AuthType)),
        ("TENANT", names_tenants && lacks(Column::Tenant)),
    ];
    if mandatory.iter().any(|(_, lacks)| *lacks) { Err(missing(&mandatory)) } else { Ok(Form::Devices) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(names: &str, tenant: &str) -> Result<Header> {
        let names: Vec<&str> = names.split(';').collect();
        Header::parse(&names, 1, &TenantId::parse(tenant).expect("an id"))
    }

    #[test]
    fn separator_is_the_most_frequent_one_in_the_header_outside_quotes() {
        for (text, separator_of) in [
            ("ID;NAME;a,b\nx,y,z,u,v", b';'),
            ("ID,NAME\r\n;;;;;", b','),
            ("ID\tNAME", b'\t'),
            ("ID\tNAME;A,B", b'\t'),
            ("ID;NAME,A", b';'),
            ("\"a,b,c,\n,,\";ID", b';'),
            ("\n\r\nID,NAME\n;;;", b','),
            ("ID", b'\t'),
            ("", b'\t'),
        ] {
            assert_eq!(separator(text.as_bytes()), separator_of, "{text:?}");
        }
    }

    #[test]
    fn first_line_may_name_the_separator() {
        for (text, named) in [
            ("sep=;\nID;NAME", Some(b';')),
            ("SEP=,\r\nID,NAME", Some(b',')),
            ("sep=\t\rID", Some(b'\t')),
            ("sep=|\n", Some(b'|')),
            ("sep=;", None),
            ("sep=;;\nID", None),
            ("sep=\"\nID", None),
            ("sep=a\nID", None),
            ("sep=\n", None),
            ("\nsep=;\n", None),
            ("ID;NAME\n", None),
            ("", None),
        ] {
            assert_eq!(named_separator(text.as_bytes()), named, "{text:?}");
        }
    }

    #[test]
    fn columns_without_a_name_at_the_end_are_ignored() {
        let header = header("ID;CREDENTIALS; ;", "main").expect("well formed");
        assert_eq!((&header.columns[..], header.width()), (&[Column::Id, Column::Credentials][..], 4));
    }

    #[test]
    fn names_are_known_in_any_case_and_with_blanks_around() {
        let header = header(" id ;Credentials;\tNAME;External-imei;plat_Hardware.model;owner", "main")
            .expect("well formed");
        let property = vec!["plat_Hardware".into(), "model".into()];
        let expected = [
            Column::Id,
            Column::Credentials,
            Column::Name,
            Column::ExternalId("imei".into()),
            Column::Property(property),
            Column::Ignored("owner".into()),
        ];
        assert_eq!(header.columns, expected);
    }

    #[test]
    fn headers_without_valid_rows_are_rejected_with_the_reason() {
        let long = "x".repeat(1025);
        let (deep, wide) = (vec!["a"; 101].join("."), vec!["a"; 4097].join(";"));
        for (names, tenant, text) in [
            ("", "main", "included: ID"),
            (";;", "main", "included: ID"),
            ("ID;;NAME", "main", "'column': no name (column 2 in line 1);"),
            ("NAME;CREDENTIALS", "main", "included: ID"),
            ("ID;NAME", "main", "included: CREDENTIALS"),
            ("TENANT;NAME", "main", "included: ID,CREDENTIALS"),
            ("ID;CREDENTIALS", "management", "included: TENANT"),
            ("ID", "management", "included: CREDENTIALS,TENANT"),
            ("ID;CREDENTIALS;id", "main", "id"),
            ("ID;CREDENTIALS;a;a", "main", "each column once"),
            ("ID;CREDENTIALS;a;a.b", "main", "'column': a (column 3 in line 1);"),
            ("ID;CREDENTIALS;a.b.c;x;a.b", "main", "'column': a.b (column 5 in line 1);"),
            ("ID;CREDENTIALS;$a", "main", "$a"),
            ("ID;CREDENTIALS;a.$b", "main", "a.$b"),
            ("ID;CREDENTIALS;a..b", "main", "a..b"),
            ("ID;CREDENTIALS;external-", "main", "external-"),
            (&format!("ID;CREDENTIALS;{long}"), "main", "1024"),
            (&format!("ID;CREDENTIALS;{deep}"), "main", "100"),
            (&wide, "main", "4097 columns"),
        ] {
            let error = header(names, tenant).expect_err(names).to_string();
            assert!(error.contains(text), "{names}: {error}");
        }
    }

    #[test]
    fn file_with_only_ids_and_paths_creates_requests() {
        for (names, form) in [
            ("ID", Form::Requests),
            ("PATH;ID", Form::Requests),
            ("ID;TENANT", Form::Requests),
            ("ID;CREDENTIALS", Form::Devices),
        ] {
            assert_eq!(header(names, "main").expect(names).form, form, "{names}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_header_is_parsed_or_rejected_without_a_panic(names in proptest::collection::vec(".{0,12}", 0..8)) {
            let _ = Header::parse(&names, 1, &TenantId::parse("main").expect("an id"));
        }

        #[test]
        fn any_bytes_have_a_separator(bytes in proptest::collection::vec(0_u8.., 0..100)) {
            proptest::prop_assert!(b"\t;,".contains(&separator(&bytes)));
        }
    }
}
