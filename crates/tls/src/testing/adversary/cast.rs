//! Who plays: every kind of handshake in which a victim can be told something wrong.
//!
//! What it is for: one list of situations for all tests. Must not know: tricks.
//! Next: [`super::puppet`].

use std::sync::{Arc, OnceLock};

use pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tercel_crypto::HashAlgorithm;
use tercel_wire::{NamedGroup, ProtocolVersion};

use super::puppet::{Outcome, Puppet, Say, Script};
use crate::config::client::{ClientConfig, ClientConfigBuilder};
use crate::config::credential::Credential;
use crate::config::policy::{Policy, Side};
use crate::config::pre_shared_key::PreSharedKey;
use crate::config::server::{ClientAuth, ServerConfig};
use crate::config::verifier::AcceptAnyPeer;
use crate::handshake::Handshake;
use crate::handshake::running::Running;
use crate::session::client_store::ClientSessionKey;

/// One situation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::testing) struct Scene {
    /// The side that is put to the test.
    pub(super) victim: Side,
    pub(super) version: ProtocolVersion,
    pub(super) client_auth: bool,
    pub(super) retry: bool,
    /// Both sides have a pre-shared key and nothing else.
    pub(super) pre_shared_key: bool,
}

/// All of them.
pub(super) fn scenes() -> impl Iterator<Item = Scene> {
    let forms = [
        (ProtocolVersion::TLS1_3, false, false, false),
        (ProtocolVersion::TLS1_3, true, false, false),
        (ProtocolVersion::TLS1_3, false, true, false),
        (ProtocolVersion::TLS1_2, false, false, false),
        (ProtocolVersion::TLS1_2, true, false, false),
        (ProtocolVersion::TLS1_3, false, false, true),
        (ProtocolVersion::TLS1_3, false, true, true),
    ];
    [Side::Client, Side::Server].into_iter().flat_map(move |victim| {
        forms.into_iter().map(move |(version, client_auth, retry, pre_shared_key)| Scene {
            victim,
            version,
            client_auth,
            retry,
            pre_shared_key,
        })
    })
}

impl Scene {
    pub(super) fn tls13(&self) -> bool {
        self.version == ProtocolVersion::TLS1_3
    }

    /// The side to be tested.
    pub(super) fn victim(&self) -> Handshake {
        match self.victim {
            Side::Client => Handshake::client(self.client(), name()),
            Side::Server => Handshake::server(self.server()),
        }
    }

    /// The other side, on strings.
    pub(super) fn puppet<'s>(&self, script: Script<'s>) -> Puppet<'s> {
        match self.victim {
            Side::Client => Puppet::new(Running::server(self.server()), script),
            Side::Server => {
                let to = ClientSessionKey::new(name(), None, [0; 32]);
                Puppet::new(Running::client(self.client(), to), script)
            }
        }
    }

    /// What the puppet's side says if nothing is wrong.
    pub(super) fn sequence(&self) -> Vec<Say> {
        let mut puppet = self.puppet(Box::new(|_, due| vec![due]));
        puppet.play(self.victim());
        puppet.said
    }

    /// Plays by this script.
    pub(super) fn play(&self, script: impl FnMut(usize, Say) -> Vec<Say>) -> Outcome {
        self.puppet(Box::new(script)).play(self.victim())
    }

    /// Says something more before what is due at this place.
    pub(super) fn play_with(&self, place: usize, more: &Say) -> Outcome {
        self.play(|at, due| if at == place { vec![more.clone(), due] } else { vec![due] })
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

/// A certificate that no one but [`AcceptAnyPeer`] would trust.
pub(in crate::testing) fn credential() -> Credential {
    static MADE: OnceLock<(CertificateDer<'static>, Vec<u8>)> = OnceLock::new();
    let (certificate, key) = MADE.get_or_init(|| {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        (made.cert.der().clone(), made.signing_key.serialize_der())
    });
    let key = PrivateKeyDer::Pkcs8(key.clone().into());
    Credential::new(vec![certificate.clone()], &key).unwrap()
}
