//! Where a worker finds certificates and keys.
//!
//! Must not know: how they are made (the controller does that). Next: [`crate::Chain`].

use std::path::{Path, PathBuf};

use crate::row::Chain;

/// A folder with a folder for each [`Chain`]. Certificates and keys are PEM, keys as PKCS #8.
#[derive(Clone, Debug)]
pub struct Files(PathBuf);

/// The name in every server's leaf.
const SERVER_NAME: &str = "localhost";

impl Files {
    /// The files below this folder.
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

    /// The client's certificates, from the same root.
    #[must_use]
    pub fn client_chain(&self, chain: Chain) -> PathBuf {
        self.of(chain, "client.pem")
    }

    /// The key of the client's leaf.
    #[must_use]
    pub fn client_key(&self, chain: Chain) -> PathBuf {
        self.of(chain, "client.key")
    }

    /// The root alone: what both sides trust.
    #[must_use]
    pub fn root(&self, chain: Chain) -> PathBuf {
        self.of(chain, "root.pem")
    }

    /// [`crate::row::ROOTS`] roots of different names, this chain's as the last.
    #[must_use]
    pub fn roots(&self, chain: Chain) -> PathBuf {
        self.of(chain, "roots.pem")
    }

    /// The name to ask for.
    #[must_use]
    pub fn server_name(&self) -> &'static str {
        SERVER_NAME
    }

    /// What the controller put there besides.
    #[must_use]
    pub fn other(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn of(&self, chain: Chain, name: &str) -> PathBuf {
        self.0.join(chain.name()).join(name)
    }
}
