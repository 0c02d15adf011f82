//! The check of the settings together: it refuses those with which a server cannot start, and names those that are a
//! risk. Each start, `platform config check` and `platform doctor` use the same functions. Values that can be judged
//! alone are refused when they are parsed ([`config`](platform_front::config)).

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;

use platform_front::config::{ConfigFile, Settings, StoreSettings};
use platform_front::secrets::secret_key;
use platform_front::start_error::StartError;
use platform_front::{telemetry, tls};

use crate::embedded_postgres::check_bin_dir;

/// The bits of a file's mode that give rights to every account of the machine.
const EVERYBODY: u32 = 0o007;

/// A setting that works, but that harms more than its operator may expect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Risk {
    /// The setting and its effect.
    pub told: String,
    /// The remedy: a command or a sentence.
    pub remedy: String,
}

/// Checks the settings together, and the files that they name, without a database and without an address. Returns
/// what is allowed but risky.
///
/// # Errors
/// [`StartError`] with every fault: the setting and what is allowed. A start with these settings fails in the same way.
pub fn check(settings: &Settings) -> Result<Vec<Risk>, StartError> {
    let checks = [
        telemetry::check_filter(&settings.log).map(drop).map_err(StartError::Settings),
        tls::check(&settings.tls).map(drop).map_err(StartError::Tls),
        secret_key::check(&settings.store),
        check_database(&settings.store),
        check_addresses(settings.listen, settings.admin_listen),
    ];
    StartError::of_all(checks.into_iter().filter_map(Result::err).collect())?;
    Ok(risks(settings))
}

/// Checks what names the database: the connection string and its files, or the programs of a private PostgreSQL.
fn check_database(store: &StoreSettings) -> Result<(), StartError> {
    if let Some(url) = &store.database_url {
        return Ok(platform_store::check_database_url(url.as_str())?);
    }
    match &store.postgres_bin_dir {
        Some(directory) => check_bin_dir(directory).map_err(|error| StartError::Settings(error.to_string())),
        None => Ok(()),
    }
}

/// Returns what is allowed but risky.
pub(crate) fn risks(settings: &Settings) -> Vec<Risk> {
    let risks = [trust_in_everybody(settings), unused_header(settings), readable_secrets(settings)];
    risks.into_iter().flatten().collect()
}

/// Refuses two addresses of which only one can be listened on.
fn check_addresses(listen: SocketAddr, admin: Option<SocketAddr>) -> Result<(), StartError> {
    let Some(admin) = admin else { return Ok(()) };
    let same_machine =
        listen.ip() == admin.ip() || listen.ip().is_unspecified() || admin.ip().is_unspecified();
    if listen.port() == 0 || listen.port() != admin.port() || !same_machine {
        return Ok(());
    }
    let why = format!("--admin-listen {admin} is the address of --listen {listen}: choose another port");
    Err(StartError::Settings(why))
}

fn trust_in_everybody(settings: &Settings) -> Option<Risk> {
    let everybody = settings.trusted_proxies.iter().find(|proxy| proxy.is_everybody())?;
    let device =
        settings.client_certificate_header.as_ref().map_or("", |_| ", and the certificate of any device");
    Some(Risk {
        told: format!(
            "--trusted-proxies contains {everybody}, so every client can claim any address, host and scheme{device}"
        ),
        remedy: "name the addresses of the proxies alone".into(),
    })
}

/// Returns the risk that devices behind a proxy cannot log in, because no proxy is trusted.
fn unused_header(settings: &Settings) -> Option<Risk> {
    let header = settings.client_certificate_header.as_ref()?;
    settings.trusted_proxies.is_empty().then(|| Risk {
        told: format!("--client-certificate-header {header} is ignored, because no proxy is trusted"),
        remedy: "name the addresses of the proxies: --trusted-proxies".into(),
    })
}

/// Returns the risk that the file of settings has passwords and that every account of the machine may read it.
fn readable_secrets(settings: &Settings) -> Option<Risk> {
    let path = settings.store.config.as_ref()?;
    let mode = fs::metadata(path).ok()?.permissions().mode() & 0o777;
    let secrets = ConfigFile::secrets_in(path);
    if mode & EVERYBODY == 0 || secrets.is_empty() {
        return None;
    }
    let (path, secrets) = (path.display(), secrets.join(", "));
    Some(Risk {
        told: format!(
            "{path} has passwords ({secrets}), and every account of this machine may read it (mode {mode:o})"
        ),
        remedy: format!("chmod o-rwx {path}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(settings: &Settings) -> Vec<String> {
        check(settings)
            .expect("valid")
            .into_iter()
            .map(|risk| format!("{} {}", risk.told, risk.remedy))
            .collect()
    }

    fn refusal(change: impl FnOnce(&mut Settings)) -> String {
        let directory = tempfile::tempdir().expect("a directory");
        let mut settings = Settings::default();
        settings.store.data_dir = directory.path().into();
        change(&mut settings);
        check(&settings).expect_err("refused").to_string()
    }

    #[test]
    fn settings_that_a_start_refuses_are_refused_with_the_setting() {
        let absent = |settings: &mut Settings| settings.store.postgres_bin_dir = Some("/nowhere".into());
        assert!(refusal(absent).contains("/nowhere"));
        let same =
            |settings: &mut Settings| settings.admin_listen = Some("0.0.0.0:8080".parse().expect("it"));
        assert!(refusal(same).contains("--admin-listen 0.0.0.0:8080"));
        assert!(refusal(|settings| settings.log = "info,a=loud".into()).contains("--log"));
        let roots =
            "host=a sslmode=verify-full sslrootcert=/nowhere.pem".parse().expect("a connection string");
        let refused = refusal(|settings| settings.store.database_url = Some(roots));
        assert!(refused.contains("/nowhere.pem"), "{refused}");
    }

    #[test]
    fn all_faults_are_named_at_once() {
        let refused = refusal(|settings| {
            settings.log = "info,a=loud".into();
            settings.admin_listen = Some(settings.listen);
            settings.store.postgres_bin_dir = Some("/nowhere".into());
            settings.store.secret_key = Some("/no-such-directory/secret.key".into());
            settings.tls.cert = Some("/absent.pem".into());
        });
        for named in ["--log", "--admin-listen", "/nowhere", "/no-such-directory", "--tls-key"] {
            assert!(refused.contains(named), "{named}: {refused}");
        }
        assert_eq!(refused.matches("error: ").count(), 4, "{refused}");
    }

    #[test]
    fn trust_in_everybody_and_readable_passwords_are_risks() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("platform.toml");
        let mut settings = Settings::default();
        settings.store.data_dir = directory.path().into();
        settings.store.config = Some(file.clone());
        let write = |text: &str, mode: u32| {
            fs::write(&file, text).expect("written");
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("set");
        };

        for (text, mode, risky) in [
            ("admin-password = 'secret'\n", 0o644, true),
            ("database-url = 'host=a password=secret'\n", 0o604, true),
            ("database-url = 'host=a'\n", 0o644, false),
            ("workers = 2\n", 0o644, false),
            ("admin-password = 'secret'\n", 0o640, false),
        ] {
            write(text, mode);
            let told = told(&settings);
            assert_eq!(!told.is_empty(), risky, "{text}: {told:?}");
            assert!(
                told.iter().all(|one| one.contains("chmod o-rwx") && !one.contains("secret'")),
                "{told:?}"
            );
        }
        for everybody in ["0.0.0.0/0", "::/0"] {
            settings.trusted_proxies = vec![everybody.parse().expect("a network")];
            assert!(told(&settings)[0].contains(everybody), "{:?}", told(&settings));
        }
    }

    #[test]
    fn header_for_certificates_needs_proxies_that_are_known() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut settings = Settings::default();
        settings.store.data_dir = directory.path().into();
        settings.client_certificate_header = Some("client-cert".into());
        assert!(told(&settings)[0].contains("no proxy is trusted"), "{:?}", told(&settings));

        settings.trusted_proxies = vec!["0.0.0.0/0".parse().expect("a network")];
        assert!(told(&settings)[0].contains("certificate of any device"), "{:?}", told(&settings));
    }
}
