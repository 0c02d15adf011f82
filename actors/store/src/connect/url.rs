//! The connection string of PostgreSQL: the parameters that the driver supports, and those of libpq for TLS that it
//! does not.

use std::collections::HashSet;
use std::error::Error as _;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use platform_model::error::{Error, Result};
use tokio_postgres::Config;
use tokio_postgres::config::{ChannelBinding, Host, TargetSessionAttrs};

/// The parsed parts of a connection string.
pub(super) struct ConnectionString {
    /// All parameters except those for TLS.
    pub(super) config: Config,
    /// Whether connections use TLS, and the checks of the certificate.
    pub(super) mode: Mode,
    /// The authorities whose certificates are accepted (`sslrootcert`).
    pub(super) roots: Option<Authorities>,
    /// The files of the client's certificate and of its key (`sslcert`, `sslkey`).
    pub(super) identity: Option<(PathBuf, PathBuf)>,
}

/// The values of `sslmode`, with the meaning that they have in libpq.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// No TLS.
    Disable,
    /// TLS only if PostgreSQL rejects connections without it.
    Allow,
    /// TLS if PostgreSQL offers it; the certificate is not checked.
    Prefer,
    /// TLS; the certificate is not checked.
    Require,
    /// TLS with a certificate of a known authority.
    VerifyCa,
    /// TLS with a certificate of a known authority for the name of the host.
    VerifyFull,
}

/// The authorities whose certificates are accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Authorities {
    /// The authorities that the machine trusts.
    System,
    /// The authorities in a PEM file.
    File(PathBuf),
}

/// The parameters for TLS, as given.
#[derive(Default)]
struct TlsParameters {
    mode: Option<String>,
    roots: Option<String>,
    certificate: Option<String>,
    key: Option<String>,
}

impl TlsParameters {
    /// Returns the field of a TLS parameter; `None` for a parameter that the driver supports.
    fn place(&mut self, name: &str) -> Option<&mut Option<String>> {
        match name {
            "sslmode" => Some(&mut self.mode),
            "sslrootcert" => Some(&mut self.roots),
            "sslcert" => Some(&mut self.certificate),
            "sslkey" => Some(&mut self.key),
            _ => None,
        }
    }
}

/// Returns the environment variables with which a program of PostgreSQL, such as pg_dump, connects as the server
/// does. Other users of the machine can see the arguments of a program, with the password, but not its variables.
///
/// # Errors
/// `Invalid` as for [`Database::new`](crate::Database::new).
pub fn libpq_environment(text: &str) -> Result<Vec<(&'static str, OsString)>> {
    let given = parse(text)?;
    let config = &given.config;
    let hosts = config.get_hosts().iter().map(|host| match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(directory) => directory.to_string_lossy().into_owned(),
    });
    let mode = match given.mode {
        Mode::Disable => "disable",
        Mode::Allow => "allow",
        Mode::Prefer => "prefer",
        Mode::Require => "require",
        Mode::VerifyCa => "verify-ca",
        Mode::VerifyFull => "verify-full",
    };
    let attributes = match config.get_target_session_attrs() {
        TargetSessionAttrs::ReadWrite => "read-write",
        _ => "any",
    };
    let binding = match config.get_channel_binding() {
        ChannelBinding::Disable => "disable",
        ChannelBinding::Require => "require",
        _ => "prefer",
    };
    let roots = given.roots.map(|roots| match roots {
        Authorities::System => "system".into(),
        Authorities::File(path) => path.into_os_string(),
    });
    let (certificate, key) = given.identity.unzip();
    let variables = [
        ("PGHOST", Some(hosts.collect::<Vec<_>>().join(",").into())),
        ("PGHOSTADDR", joined(config.get_hostaddrs())),
        ("PGPORT", joined(config.get_ports())),
        ("PGUSER", config.get_user().map(Into::into)),
        ("PGPASSWORD", config.get_password().map(|bytes| OsString::from_vec(bytes.to_vec()))),
        ("PGDATABASE", config.get_dbname().or(config.get_user()).map(Into::into)),
        ("PGOPTIONS", config.get_options().map(Into::into)),
        ("PGTARGETSESSIONATTRS", Some(attributes.into())),
        ("PGCHANNELBINDING", Some(binding.into())),
        ("PGSSLMODE", Some(mode.into())),
        ("PGSSLROOTCERT", roots),
        ("PGSSLCERT", certificate.map(PathBuf::into_os_string)),
        ("PGSSLKEY", key.map(PathBuf::into_os_string)),
    ];
    let set = variables.into_iter().filter_map(|(name, value)| Some((name, value?)));
    Ok(set.filter(|(_, value)| !value.is_empty()).collect())
}

/// Parses a connection string, and returns whether it contains a password. It opens neither files nor connections.
///
/// # Errors
/// `Invalid` with the problem in one line, without the password.
pub fn holds_password(text: &str) -> Result<bool> {
    Ok(parse(text)?.config.get_password().is_some())
}

/// Returns the values with commas between them.
fn joined(values: &[impl ToString]) -> Option<OsString> {
    Some(values.iter().map(ToString::to_string).collect::<Vec<_>>().join(",").into())
}

/// Parses a connection string: a URL, or parameters separated by blanks. With several hosts, the session must accept
/// writes unless `target_session_attrs` is set.
///
/// # Errors
/// `Invalid` with the problem in one line, without the password.
pub(super) fn parse(text: &str) -> Result<ConnectionString> {
    let is_url = ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme));
    let (rest, given) = if is_url { split_url(text)? } else { split_parameters(text)? };
    let mut config: Config = rest
        .parse()
        .map_err(|e: tokio_postgres::Error| invalid(e.source().map_or(e.to_string(), ToString::to_string)))?;
    match config.get_target_session_attrs() {
        TargetSessionAttrs::ReadOnly => {
            return Err(invalid("the server writes, so target_session_attrs is read-write or any"));
        }
        _ if config.get_hosts().len() > 1 && !text.contains("target_session_attrs") => {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        _ => {}
    }
    if config.get_hosts().is_empty() {
        // The driver uses TLS only with the name of a host, so addresses become host names.
        for address in config.get_hostaddrs().to_vec() {
            config.host(address.to_string());
        }
    }
    let (mode, roots) = (mode(given.mode.as_deref())?, given.roots.map(authorities));
    check(mode, roots.as_ref())?;
    let identity = match (given.certificate, given.key) {
        (None, None) => None,
        (Some(certificate), Some(key)) => Some((certificate.into(), key.into())),
        (Some(_), None) => return Err(invalid("sslcert needs sslkey, the file of its private key")),
        (None, Some(_)) => return Err(invalid("sslkey needs sslcert, the file of its certificate")),
    };
    // As in libpq, the certificate is checked if an authority is given, even with `sslmode=require`.
    let mode = if mode == Mode::Require && roots.is_some() { Mode::VerifyCa } else { mode };
    Ok(ConnectionString { config, mode, roots, identity })
}

fn invalid(reason: impl std::fmt::Display) -> Error {
    Error::Invalid(format!("Invalid database URL: {reason}"))
}

fn mode(given: Option<&str>) -> Result<Mode> {
    Ok(match given {
        None | Some("prefer") => Mode::Prefer,
        Some("disable") => Mode::Disable,
        Some("allow") => Mode::Allow,
        Some("require") => Mode::Require,
        Some("verify-ca") => Mode::VerifyCa,
        Some("verify-full") => Mode::VerifyFull,
        Some(other) => {
            let allowed = "disable, allow, prefer, require, verify-ca or verify-full";
            return Err(invalid(format!("sslmode is {allowed}, not '{}'", other.escape_debug())));
        }
    })
}

fn authorities(given: String) -> Authorities {
    if given == "system" { Authorities::System } else { Authorities::File(given.into()) }
}

/// Checks that mode and authorities fit, so that nobody assumes that a certificate is checked when it is not.
fn check(mode: Mode, roots: Option<&Authorities>) -> Result<()> {
    match (mode, roots) {
        (Mode::VerifyCa | Mode::VerifyFull, None) => {
            Err(invalid("sslmode=verify-ca and verify-full need sslrootcert, a PEM file or 'system'"))
        }
        (Mode::Disable | Mode::Allow | Mode::Prefer, Some(_)) => {
            Err(invalid("sslrootcert needs sslmode=verify-full, verify-ca or require"))
        }
        // Anybody can get a certificate of a public authority for some name.
        (Mode::VerifyCa | Mode::Require, Some(Authorities::System)) => {
            Err(invalid("sslrootcert=system needs sslmode=verify-full"))
        }
        _ => Ok(()),
    }
}

/// Refuses a parameter that is given a second time, because one of the two values would count silently.
fn once(names: &mut HashSet<String>, name: &str) -> Result<()> {
    if names.insert(name.to_owned()) { Ok(()) } else { Err(invalid(format!("{name} is given twice"))) }
}

/// Takes the parameters for TLS out of a URL.
fn split_url(url: &str) -> Result<(String, TlsParameters)> {
    let mut given = TlsParameters::default();
    let Some((base, query)) = url.split_once('?') else { return Ok((url.to_owned(), given)) };
    let (mut rest, mut names) = (Vec::new(), HashSet::new());
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').ok_or_else(|| invalid("a parameter has no value"))?;
        let name = percent_decode_str(name).decode_utf8().map_err(|_| invalid("a parameter is not UTF-8"))?;
        once(&mut names, &name)?;
        match given.place(&name) {
            Some(place) => {
                let value = percent_decode_str(value).decode_utf8();
                *place = Some(value.map_err(|_| invalid(format!("{name} is not UTF-8")))?.into_owned());
            }
            None => rest.push(pair),
        }
    }
    let rest = if rest.is_empty() { base.to_owned() } else { format!("{base}?{}", rest.join("&")) };
    Ok((rest, given))
}

/// Takes the parameters for TLS out of `name=value name='value'`.
fn split_parameters(text: &str) -> Result<(String, TlsParameters)> {
    let (mut given, mut rest, mut names) = (TlsParameters::default(), String::new(), HashSet::new());
    let mut text = text.trim_start();
    while !text.is_empty() {
        let (name, after) = text.split_once('=').ok_or_else(|| invalid("a parameter has no value"))?;
        let (value, after) = value(after.trim_start())?;
        let name = name.trim_end();
        once(&mut names, name)?;
        match given.place(name) {
            Some(place) => *place = Some(value),
            None => {
                let value = value.replace('\\', "\\\\").replace('\'', "\\'");
                rest.push_str(&format!("{name}='{value}' "));
            }
        }
        text = after.trim_start();
    }
    Ok((rest, given))
}

/// Returns the value at the beginning of a text, without its quotes and escapes, and the text after it.
fn value(text: &str) -> Result<(String, &str)> {
    let (quoted, text) = text.strip_prefix('\'').map_or((false, text), |text| (true, text));
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            '\'' if quoted => return Ok((value, &text[at + 1..])),
            c if !quoted && c.is_whitespace() => return Ok((value, &text[at..])),
            c => value.push(c),
        }
    }
    if quoted { Err(invalid("a quoted value does not end")) } else { Ok((value, "")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        parse(text).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn parameters_for_tls_are_read_from_urls_and_from_keys() {
        for text in [
            "postgres://u:p%40@a:1,b:2/d?sslmode=verify-full&application_name=x&sslrootcert=%2Fetc%2Fmy%20ca.pem&\
             sslcert=c.pem&sslkey=k.pem",
            "host=a,b port=1,2 user=u password='p@' dbname=d sslmode = verify-full application_name=x \
             sslrootcert='/etc/my ca.pem' sslcert=c.pem sslkey=k.pem",
        ] {
            let read = parse(text).unwrap();

            assert_eq!(read.mode, Mode::VerifyFull);
            assert_eq!(read.roots, Some(Authorities::File("/etc/my ca.pem".into())));
            assert_eq!(read.identity, Some(("c.pem".into(), "k.pem".into())));
            assert_eq!((read.config.get_hosts().len(), read.config.get_ports()), (2, &[1, 2][..]));
            assert_eq!(read.config.get_password(), Some(&b"p@"[..]));
            assert_eq!(read.config.get_dbname(), Some("d"));
            assert_eq!(read.config.get_application_name(), Some("x"));
        }
    }

    #[test]
    fn quotes_and_escapes_survive() {
        let read = parse(r"host=/run user=it\'s password='a \\ \' b' options='-c x=1 -c y=2'").unwrap();

        assert_eq!(read.config.get_user(), Some("it's"));
        assert_eq!(read.config.get_password(), Some(&br"a \ ' b"[..]));
        assert_eq!(read.config.get_options(), Some("-c x=1 -c y=2"));
        assert_eq!(read.mode, Mode::Prefer);
    }

    #[test]
    fn several_hosts_mean_the_one_that_accepts_writes() {
        let attributes = |text: &str| parse(text).unwrap().config.get_target_session_attrs();

        assert_eq!(attributes("postgres://a/d"), TargetSessionAttrs::Any);
        assert_eq!(attributes("postgres://a,b/d"), TargetSessionAttrs::ReadWrite);
        assert_eq!(attributes("postgres://a,b/d?target_session_attrs=any"), TargetSessionAttrs::Any);
        assert_eq!(attributes("host=a target_session_attrs=read-write"), TargetSessionAttrs::ReadWrite);
    }

    #[test]
    fn encryption_with_a_known_authority_checks_it() {
        assert_eq!(parse("host=a sslmode=require").unwrap().mode, Mode::Require);
        assert_eq!(parse("host=a sslmode=require sslrootcert=f").unwrap().mode, Mode::VerifyCa);
        let system = parse("host=a sslmode=verify-full sslrootcert=system").unwrap();
        assert_eq!(system.roots, Some(Authorities::System));
    }

    #[test]
    fn errors_are_one_line_that_names_the_parameter_and_no_password() {
        for (text, named) in [
            ("postgres://u:secret@a/d?sslmode=strict", "sslmode is disable, allow, prefer"),
            ("postgres://u:secret@a/d?sslcrl=x", "unknown option `sslcrl`"),
            ("postgres://u:secret@a/d?sslmode", "no value"),
            ("password=secret host=a sslfoo=1", "unknown option `sslfoo`"),
            ("password='secret", "does not end"),
            ("password=secret host=a sslmode=verify-ca", "need sslrootcert"),
            ("password=secret host=a sslrootcert=f", "sslrootcert needs sslmode"),
            ("password=secret host=a sslmode=verify-ca sslrootcert=system", "needs sslmode=verify-full"),
            ("password=secret host=a sslcert=f", "sslcert needs sslkey"),
            ("password=secret host=a sslkey=f", "sslkey needs sslcert"),
            ("password=secret host=a target_session_attrs=read-only", "read-write or any"),
            ("password=secret host=a port=x", "port"),
            ("password=secret host=a port=99999", "port"),
            ("postgres://u:secret@a/d?sslmode=require&sslmode=disable", "sslmode is given twice"),
            (
                "postgres://u:secret@a/d?application_name=x&application%5Fname=y",
                "application_name is given twice",
            ),
            ("password=secret host=a host=b", "host is given twice"),
            ("postgres://u:secret@a/d?ssl%6Dode=bad", "not 'bad'"),
        ] {
            let message = refusal(text);
            assert!(message.contains(named) && !message.contains("secret"), "{text}: {message}");
            assert_eq!(message.lines().count(), 1, "{message}");
        }
    }

    #[test]
    fn programs_of_postgres_connect_as_the_server_does() {
        let text = "postgres://u:p%40ss@a,b:6000/d?sslmode=require&sslrootcert=/ca.pem&options=-c%20x%3Dy";

        let variables = libpq_environment(text).unwrap();

        let variables: Vec<_> =
            variables.iter().map(|(name, value)| (*name, value.to_str().unwrap())).collect();
        let expected = [
            ("PGHOST", "a,b"),
            ("PGPORT", "5432,6000"),
            ("PGUSER", "u"),
            ("PGPASSWORD", "p@ss"),
            ("PGDATABASE", "d"),
            ("PGOPTIONS", "-c x=y"),
            ("PGTARGETSESSIONATTRS", "read-write"),
            ("PGCHANNELBINDING", "prefer"),
            ("PGSSLMODE", "verify-ca"),
            ("PGSSLROOTCERT", "/ca.pem"),
        ];
        assert_eq!(variables, expected);
    }
}
