//! The reason why a server did not start.

use std::io;
use std::net::SocketAddr;

/// The reason why a server did not start, with a message for the operator.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The database cannot be used.
    #[error("database: {0}")]
    Database(#[from] platform_model::error::Error),
    /// The secret key cannot be used.
    #[error("secret key: {0}")]
    SecretKey(String),
    /// Settings contradict each other, or one names something that cannot be used.
    #[error("{0}")]
    Settings(String),
    /// The certificate cannot be used.
    #[error("{0}")]
    Tls(String),
    /// The server cannot listen on the address.
    #[error("cannot listen on {address}: {cause}{}", remedy(.cause, .flag))]
    Listen {
        /// The setting that names the address.
        flag: &'static str,
        /// The configured address.
        address: SocketAddr,
        /// The error of the operating system.
        cause: io::Error,
    },
    /// Several settings cannot be used.
    #[error("{}", lines(.0))]
    Several(Vec<StartError>),
}

impl StartError {
    /// Returns the faults that some checks found as one error.
    ///
    /// # Errors
    /// There is at least one fault.
    pub fn of_all(mut faults: Vec<Self>) -> Result<(), Self> {
        match faults.len() {
            0 => Ok(()),
            1 => Err(faults.remove(0)),
            _ => Err(Self::Several(faults)),
        }
    }
}

/// Returns the faults as the lines of an error.
fn lines(faults: &[StartError]) -> String {
    let lines: Vec<_> = faults.iter().map(ToString::to_string).collect();
    lines.join("\nerror: ")
}

/// Returns what an operator can do about an address that cannot be used, as the end of a sentence.
fn remedy(cause: &io::Error, flag: &str) -> String {
    match cause.kind() {
        io::ErrorKind::AddrInUse => {
            format!(
                "; another program listens there: stop it, or choose another address with {flag} (with port 0 the \
                 system chooses)"
            )
        }
        io::ErrorKind::PermissionDenied => {
            format!(
                "; ports below 1024 are for root and for programs with CAP_NET_BIND_SERVICE: choose another with {flag}"
            )
        }
        io::ErrorKind::AddrNotAvailable => {
            format!("; this machine has no such address: choose another with {flag}")
        }
        _ => String::new(),
    }
}
