//! Paths of certificates and keys. The controller writes these files.

use std::path::{Path, PathBuf};

use crate::row::Chain;

/// A directory with a subdirectory for each [`Chain`]. All files are PEM, and keys are PKCS #8.
#[derive(Clone, Debug)]
pub struct Files(PathBuf);

/// The DNS name in servers' leaf certificates.
const SERVER_NAME: &str = "localhost";

impl Files {
    /// Files below this directory.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    /// The server's certificates: leaf, intermediate, root.
    #[must_use]
    pub fn server_chain(&self, chain: Chain) -> PathBuf {
        self.of(chain, "server.pem")
    }

    /// The key of the server's leaf.
    #[must_use]
    pub fn server_key(&self, chain: Chain) -> PathBuf {
        self.of(chain, "server.key")
    }

    /// The client's certificates: leaf, intermediate, and the same root.
    #[must_use]
    pub fn client_chain(&self, chain: Chain) -> PathBuf {
        self.of(chain, "client.pem")
    }

    /// The key of the client's leaf.
    #[must_use]
    pub fn client_key(&self, chain: Chain) -> PathBuf {
        self.of(chain, "client.key")
    }

    /// The root certificate, which both sides trust.
    #[must_use]
    pub fn root(&self, chain: Chain) -> PathBuf {
        self.of(chain, "root.pem")
    }

    /// [`crate::row::ROOTS`] roots with different names, ending with the root of this chain.
    #[must_use]
    pub fn roots(&self, chain: Chain) -> PathBuf {
        self.of(chain, "roots.pem")
    }

    /// The server name that clients request.
    #[must_use]
    pub fn server_name(&self) -> &'static str {
        SERVER_NAME
    }

    /// The path of the file `name` in the directory itself, outside the subdirectories of chains.
    #[must_use]
    pub fn other(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn of(&self, chain: Chain, name: &str) -> PathBuf {
        self.0.join(chain.name()).join(name)
    }
}
