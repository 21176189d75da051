//! The cases: every kind of handshake in which one side is tested.

use std::sync::{Arc, OnceLock};

use pki_types::{CertificateDer, PrivateKeyDer};
use tercel_crypto::HashAlgorithm;
use tercel_pki::ServerName;
use tercel_wire::{NamedGroup, ProtocolVersion};

use super::scripted_peer::{Outcome, Outgoing, Script, ScriptedPeer};
use crate::auth::credential::Credential;
use crate::auth::server_identity::ServerIdentity;
use crate::auth::verifier::AcceptAnyPeer;
use crate::config::client::{ClientConfig, ClientConfigBuilder};
use crate::config::client_auth::ClientAuth;
use crate::config::server::ServerConfig;
use crate::handshake::Handshake;
use crate::handshake::task::Task;
use crate::policy::Policy;
use crate::psk::PreSharedKey;
use crate::side::Side;

/// A kind of handshake, and the tested side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::testing) struct Case {
    /// The tested side.
    pub(super) tested: Side,
    pub(super) version: ProtocolVersion,
    pub(super) client_auth: bool,
    pub(super) retry: bool,
    /// Whether both sides have a pre-shared key and no certificates.
    pub(super) pre_shared_key: bool,
}

/// All cases.
pub(super) fn cases() -> impl Iterator<Item = Case> {
    let forms = [
        (ProtocolVersion::TLS1_3, false, false, false),
        (ProtocolVersion::TLS1_3, true, false, false),
        (ProtocolVersion::TLS1_3, false, true, false),
        (ProtocolVersion::TLS1_2, false, false, false),
        (ProtocolVersion::TLS1_2, true, false, false),
        (ProtocolVersion::TLS1_3, false, false, true),
        (ProtocolVersion::TLS1_3, false, true, true),
    ];
    [Side::Client, Side::Server].into_iter().flat_map(move |tested| {
        forms.into_iter().map(move |(version, client_auth, retry, pre_shared_key)| Case {
            tested,
            version,
            client_auth,
            retry,
            pre_shared_key,
        })
    })
}

impl Case {
    pub(super) fn tls13(&self) -> bool {
        self.version == ProtocolVersion::TLS1_3
    }

    /// The handshake of the tested side.
    pub(super) fn tested(&self) -> Handshake {
        match self.tested {
            Side::Client => Handshake::client(self.client(), name()),
            Side::Server => Handshake::server(self.server()),
        }
    }

    /// The other side, controlled by a script.
    pub(super) fn peer<'s>(&self, script: Script<'s>) -> ScriptedPeer<'s> {
        match self.tested {
            Side::Client => ScriptedPeer::new(Task::server(self.server()), script),
            Side::Server => {
                let identity = ServerIdentity::new(name(), None);
                ScriptedPeer::new(Task::client(self.client(), identity, Default::default()), script)
            }
        }
    }

    /// The records that the scripted peer sends if the script changes nothing.
    pub(super) fn sequence(&self) -> Vec<Outgoing> {
        let mut peer = self.peer(Box::new(|_, due| vec![due]));
        peer.run(self.tested());
        peer.original_records
    }

    /// Runs the handshake with this script.
    pub(super) fn run(&self, script: impl FnMut(usize, Outgoing) -> Vec<Outgoing>) -> Outcome {
        self.peer(Box::new(script)).run(self.tested())
    }

    /// Runs the handshake with an additional record before the record at this position.
    pub(super) fn run_with(&self, place: usize, more: &Outgoing) -> Outcome {
        self.run(|at, due| if at == place { vec![more.clone(), due] } else { vec![due] })
    }

    pub(in crate::testing) fn client(&self) -> Arc<ClientConfig> {
        self.client_builder().build().unwrap()
    }

    pub(super) fn client_builder(&self) -> ClientConfigBuilder {
        let groups = [NamedGroup::X25519, NamedGroup::SECP256R1];
        let config = ClientConfig::builder()
            .versions(&[self.version])
            .groups(&groups)
            .key_shares(&groups[..1])
            .without_resumption();
        let config = if self.pre_shared_key {
            config.pre_shared_keys([pre_shared_key()])
        } else {
            config.verifier(Policy::Here(Arc::new(AcceptAnyPeer)))
        };
        if self.client_auth { config.credential(credential()) } else { config }
    }

    pub(in crate::testing) fn server(&self) -> Arc<ServerConfig> {
        let group = if self.retry { NamedGroup::SECP256R1 } else { NamedGroup::X25519 };
        let demand = if self.client_auth { ClientAuth::Required } else { ClientAuth::None };
        let config = ServerConfig::builder();
        let config = if self.pre_shared_key {
            config.pre_shared_keys([pre_shared_key()])
        } else {
            config.credential(credential())
        };
        config
            .versions(&[self.version])
            .groups(&[group])
            .without_tickets()
            .client_verifier(demand, Policy::Here(Arc::new(AcceptAnyPeer)))
            .build()
            .unwrap()
    }
}

fn pre_shared_key() -> PreSharedKey {
    PreSharedKey::external(b"name", &[7; 32], HashAlgorithm::Sha256).unwrap()
}

pub(in crate::testing) fn name() -> ServerName<'static> {
    "localhost".try_into().unwrap()
}

/// A certificate that only [`AcceptAnyPeer`] accepts.
pub(in crate::testing) fn credential() -> Credential {
    static MADE: OnceLock<(CertificateDer<'static>, Vec<u8>)> = OnceLock::new();
    let (certificate, key) = MADE.get_or_init(|| {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        (made.cert.der().clone(), made.signing_key.serialize_der())
    });
    let key = PrivateKeyDer::Pkcs8(key.clone().into());
    Credential::new(vec![certificate.clone()], &key).unwrap()
}
