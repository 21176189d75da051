//! CertificateRequests that are full of one kind of entry, for clients with many credentials.

use std::sync::Arc;

use tercel::pki::Refusal;
use tercel::wire::{ProtocolVersion, SignatureScheme};
use tercel::{
    ClientConfig, Credential, Handshake, Policy, ReceiveBuffer, ServerConfig,
    certificates::{AcceptAnyPeer, PeerIdentity, VerifyPeer},
    server::ClientAuth,
};

use crate::configs::{credential_set, credentials, server};
use crate::fixtures::{NAME, client};
use crate::hellos::choose;
use crate::{Case, ROOM, counted};

/// A verifier that accepts all peers, and names a number of authorities.
struct Naming(usize);

impl VerifyPeer for Naming {
    fn verify_peer(&self, _: &PeerIdentity<'_>) -> Result<(), Box<Refusal>> {
        Ok(())
    }

    fn authorities(&self) -> Vec<Vec<u8>> {
        (0x1000..).take(self.0).map(|number: u16| number.to_be_bytes().to_vec()).collect()
    }
}

/// Every kind of request, for clients with this number of credentials.
pub(crate) fn cases(scale: usize) -> Vec<Case> {
    let shared = |each: Vec<Credential>| each.into_iter().map(Arc::new).collect::<Vec<_>>();
    let own = Arc::new(shared(credentials(scale)));
    let mut cases = Vec::new();
    for version in [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2] {
        let config = |policy| {
            let any = Policy::Here(Arc::new(AcceptAnyPeer) as _);
            client().versions(&[version]).verifier(any).credentials(policy).build().unwrap()
        };
        let here = |named| Policy::Here(credential_set(scale, named) as _);
        let clients = [
            ("", config(here(false))),
            (", for named issuers", config(here(true))),
            (", asking", config(Policy::Ask)),
        ];
        for halves in 0..=2 {
            let bytes = ROOM / 2 * halves;
            let schemes = vec![SignatureScheme::ED25519; bytes / 2];
            let requests = [
                ("signature_algorithms", schemes, 1),
                ("certificate_authorities", Vec::new(), 1 + bytes / 4),
            ];
            for (name, mut schemes, authorities) in requests {
                schemes.push(SignatureScheme::ECDSA_SECP256R1_SHA256);
                let verifier = Policy::Here(Arc::new(Naming(authorities)) as _);
                let server = server(1).client_verifier(ClientAuth::Optional, verifier);
                let server = server.signature_schemes(&schemes).build().unwrap();
                for (suffix, client) in &clients {
                    let (client, server) = (Arc::clone(client), Arc::clone(&server));
                    let own = Arc::clone(&own);
                    cases.push(Case {
                        kind: format!("request: {name}, {version}{suffix}"),
                        halves,
                        scale,
                        run: Box::new(move || connect(&client, &server, &own)),
                    });
                }
            }
        }
    }
    cases
}

/// Makes a complete handshake. Only the client's part is counted.
fn connect(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>, own: &[Arc<Credential>]) {
    let mut client = Handshake::client(Arc::clone(client), NAME.try_into().unwrap());
    let mut server = Handshake::server(Arc::clone(server));
    let (mut to_client, mut to_server) = (ReceiveBuffer::new(), ReceiveBuffer::new());
    loop {
        let mut out = Vec::new();
        let over =
            counted(&mut client, &mut to_client, &mut out, &|question| choose(own, question));
        to_server.extend(&out);
        if over {
            return;
        }
        out.clear();
        let next = server.advance(&mut to_server, &mut out).expect("a valid ClientHello");
        drop(next);
        to_client.extend(&out);
    }
}
