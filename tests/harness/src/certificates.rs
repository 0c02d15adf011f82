//! Files as an operator gets them from an authority: a chain of two certificates, and a key.

use std::fs::write;
use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls_pki_types::CertificateDer;
use tempfile::TempDir;

use crate::program::scratch_with_data;

/// An authority that clients trust, one below it that signs, and the files of a server.
pub struct Certificates {
    root: CertifiedIssuer<'static, KeyPair>,
    signing: CertifiedIssuer<'static, KeyPair>,
    directory: TempDir,
}

/// A new certificate and its key.
pub struct Fresh {
    /// The certificate, followed by that of its issuer.
    pub chain: String,
    pub key: String,
    pub certificate: CertificateDer<'static>,
}

impl Certificates {
    #[expect(clippy::new_without_default, reason = "it makes keys and files")]
    pub fn new() -> Self {
        let root = CertifiedIssuer::self_signed(authority("root"), KeyPair::generate().unwrap()).unwrap();
        let signing = KeyPair::generate().unwrap();
        let signing = CertifiedIssuer::signed_by(authority("signing"), signing, &root).unwrap();
        Self { root, signing, directory: scratch_with_data() }
    }

    /// The root certificate that clients trust.
    pub fn root(&self) -> CertificateDer<'static> {
        self.root.der().clone()
    }

    /// A file with the root certificate.
    pub fn root_file(&self) -> PathBuf {
        let file = self.directory.path().join("root.pem");
        write(&file, self.root.pem()).unwrap();
        file
    }

    /// The file of the chain.
    pub fn chain(&self) -> PathBuf {
        self.directory.path().join("chain.pem")
    }

    /// The file of the key.
    pub fn key(&self) -> PathBuf {
        self.directory.path().join("key.pem")
    }

    /// A new certificate for `localhost`, not yet in the files.
    pub fn fresh(&self) -> Fresh {
        let key = KeyPair::generate().unwrap();
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let leaf = CertificateParams::new(names).unwrap().signed_by(&key, &self.signing).unwrap();
        Fresh {
            chain: leaf.pem() + &self.signing.pem(),
            key: key.serialize_pem(),
            certificate: leaf.der().clone(),
        }
    }

    /// Puts a new certificate into the files and returns it.
    pub fn renew(&self) -> CertificateDer<'static> {
        let fresh = self.fresh();
        write(self.chain(), fresh.chain).unwrap();
        write(self.key(), fresh.key).unwrap();
        fresh.certificate
    }
}

fn authority(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new([]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    params
}
