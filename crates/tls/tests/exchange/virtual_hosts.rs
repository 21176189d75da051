//! Sessions offered to other virtual hosts: a server resumes a session only if a full handshake
//! would authenticate the same name.
//!
//! `session_binding.rs` tests the other options of a configuration.

use std::sync::Arc;

use tercel::pki_types::{PrivateKeyDer, UnixTime};
use tercel::questions::{FindSessionQuestion, SelectCredentialQuestion};
use tercel::wire::ProtocolVersion;
use tercel::{
    Answer, ClientConfig, Credential, Policy, Question, ServerConfig, Side,
    certificates::{AcceptAnyPeer, CredentialRequest, Credentials, SelectCredential},
    client::ClientConfigBuilder,
    psk::{FindPreSharedKey, PreSharedKey, PreSharedKeyRequest, PreSharedKeys},
    server::{ChooseConfig, ServerConfigBuilder},
    session::{
        ClientMemoryStore, ClientSessionStore, RotatingTickets, ServerMemoryStore,
        ServerSessionStore, TicketSealer,
    },
};

use crate::credential_selection::Authority;
use crate::early_data::guard;
use crate::fixtures::{Kind, credential_for, leaf};
use crate::pair::Pair;
use crate::resumption::VERSIONS;
use crate::server_sessions::SingleSessionStore;

const BANK: &str = "bank.example";
const UPLOADS: &str = "uploads.example";
/// An IP address. A client that connects to an address sends no name.
const ADDRESS: &str = "192.0.2.1";

/// The sessions that several servers share.
enum Shared {
    Tickets(Arc<RotatingTickets>),
    Store(Arc<ServerMemoryStore>),
}

impl Shared {
    fn both() -> [Self; 2] {
        [
            Self::Tickets(Arc::new(RotatingTickets::new(UnixTime::now()).unwrap())),
            Self::Store(Arc::new(ServerMemoryStore::new(100))),
        ]
    }

    fn with(&self, builder: ServerConfigBuilder) -> ServerConfigBuilder {
        match self {
            Self::Tickets(tickets) => builder.tickets(Arc::clone(tickets) as Arc<dyn TicketSealer>),
            Self::Store(store) => builder
                .without_tickets()
                .session_store(Policy::Here(Arc::clone(store) as Arc<dyn ServerSessionStore>)),
        }
    }

    fn server(&self, names: &[&str]) -> Arc<ServerConfig> {
        self.showing(credential_for(Kind::P256, names)).build().unwrap()
    }

    fn showing(&self, credential: Credential) -> ServerConfigBuilder {
        self.with(ServerConfig::builder().credential(credential))
    }
}

/// Runs a check with each version and each kind of sessions.
fn everywhere(mut check: impl FnMut(ProtocolVersion, &Shared)) {
    for version in VERSIONS {
        Shared::both().iter().for_each(|shared| check(version, shared));
    }
}

/// A client that accepts every server, so that only the server decides whether a session is
/// resumed.
fn client(version: ProtocolVersion) -> Arc<ClientConfig> {
    ClientConfig::builder()
        .verifier(Policy::Here(Arc::new(AcceptAnyPeer)))
        .session_store(Arc::new(ClientMemoryStore::default()))
        .versions(&[version])
        .build()
        .unwrap()
}

/// Connects, transfers data so that tickets arrive, and returns whether a session was resumed.
fn visit(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>, name: &str) -> bool {
    visit_answering(client, server, name, |_, question| panic!("{question:?}"))
}

fn visit_answering(
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
    name: &str,
    answer: impl FnMut(Side, Question) -> Answer,
) -> bool {
    let mut ends = Pair::new(client, server, name).answering(answer).connect().unwrap();
    ends.talk();
    assert_eq!(ends.client.connection.info.resumed, ends.server.connection.info.resumed);
    ends.server.connection.info.resumed
}

/// Whether `second` resumes a session of `first`, under the same name.
fn moves(
    version: ProtocolVersion,
    name: &str,
    first: &Arc<ServerConfig>,
    second: &Arc<ServerConfig>,
) -> bool {
    let client = client(version);
    assert!(!visit(&client, first, name));
    assert!(visit(&client, first, name), "not resumed at its own server: {version} {name}");
    visit(&client, second, name)
}

#[test]
fn a_session_is_not_resumed_at_a_host_with_another_certificate() {
    everywhere(|version, shared| {
        let (bank, uploads) = (shared.server(&[BANK]), shared.server(&[UPLOADS]));
        assert!(!moves(version, BANK, &bank, &uploads), "{version}");
        assert!(!moves(version, ADDRESS, &bank, &uploads), "{version}");
    });
}

#[test]
fn early_data_does_not_reach_another_host() {
    for shared in Shared::both() {
        let host = |name| {
            let builder = shared.showing(credential_for(Kind::P256, &[name]));
            builder.early_data(1000, guard()).build().unwrap()
        };
        let (bank, uploads) = (host(BANK), host(UPLOADS));
        let early = |server| {
            let client = ClientConfig::builder()
                .verifier(Policy::Here(Arc::new(AcceptAnyPeer)))
                .early_data(true)
                .build()
                .unwrap();
            visit(&client, &bank, BANK);
            let ends = Pair::new(&client, server, BANK).connect().unwrap();
            (ends.server.connection.info.resumed, ends.server.connection.info.early_data)
        };
        assert_eq!(early(&bank), (true, tercel::EarlyData::Accepted));
        assert_eq!(early(&uploads), (false, tercel::EarlyData::Rejected));
    }
}

#[test]
fn a_renewed_certificate_resumes_the_sessions_of_its_name() {
    everywhere(|version, shared| {
        let bank = shared.server(&[BANK]);
        for renewed in [&[BANK][..], &["*.example"], &[UPLOADS, BANK]] {
            assert!(moves(version, BANK, &bank, &shared.server(renewed)), "{version} {renewed:?}");
        }
        let rsa = shared.showing(credential_for(Kind::Rsa2048, &[BANK])).build().unwrap();
        assert!(moves(version, BANK, &bank, &rsa), "{version}");
    });
}

#[test]
fn a_chain_of_resumptions_stays_bound_to_its_name() {
    everywhere(|version, shared| {
        let client = client(version);
        let [bank, renewed, uploads] =
            [&[BANK][..], &[BANK, UPLOADS], &[UPLOADS]].map(|names| shared.server(names));
        assert!(!visit(&client, &bank, BANK));
        assert!(visit(&client, &renewed, BANK));
        assert!(visit(&client, &renewed, BANK));
        assert!(!visit(&client, &uploads, BANK), "{version}");
    });
}

#[test]
fn without_a_name_the_certificates_names_must_be_the_same() {
    everywhere(|version, shared| {
        let bank = shared.server(&[BANK, ADDRESS]);
        let same = shared.server(&[ADDRESS, "BANK.example"]);
        assert!(moves(version, ADDRESS, &bank, &same), "{version}");
        for others in [&[BANK][..], &[ADDRESS], &[BANK, ADDRESS, UPLOADS], &[]] {
            let other = shared.server(others);
            assert!(!moves(version, ADDRESS, &bank, &other), "{version} {others:?}");
        }
        // Certificates without names may belong to different servers.
        let [nameless, other] = [(); 2].map(|()| shared.server(&[]));
        assert!(!moves(version, ADDRESS, &nameless, &other), "{version}");
    });
}

#[test]
fn the_credential_for_the_name_decides() {
    everywhere(|version, shared| {
        let leaf_of = |names: &[&str]| credential_for(Kind::P256, names);
        let both = shared.showing(leaf_of(&[UPLOADS])).credential(leaf_of(&[BANK]));
        let both = both.build().unwrap();
        let bank = shared.server(&[BANK]);
        assert!(moves(version, BANK, &bank, &both), "{version}");
        // Without a name the servers send their first credentials, which differ.
        assert!(!moves(version, ADDRESS, &bank, &both), "{version}");
    });
}

#[test]
fn sessions_of_replaced_credentials_are_not_resumed() {
    everywhere(|version, shared| {
        let set = Arc::new(Credentials::new(vec![credential_for(Kind::P256, &[BANK])]));
        let server = ServerConfig::builder().replaceable_credentials(Arc::clone(&set));
        let server = shared.with(server).build().unwrap();
        let client = client(version);
        assert!(!visit(&client, &server, BANK));
        set.replace(vec![credential_for(Kind::P256, &[BANK])]);
        assert!(visit(&client, &server, BANK), "{version}");
        set.replace(vec![credential_for(Kind::P256, &[UPLOADS])]);
        assert!(!visit(&client, &server, BANK), "{version}");
    });
}

#[test]
fn resumption_without_a_name_is_bound_with_required_names_too() {
    everywhere(|version, shared| {
        let strict = |names: &[&str]| {
            let builder = shared.showing(credential_for(Kind::P256, names));
            builder.require_known_name().build().unwrap()
        };
        let bank = strict(&[BANK]);
        assert!(!moves(version, ADDRESS, &bank, &strict(&[UPLOADS])), "{version}");
        assert!(moves(version, ADDRESS, &bank, &strict(&[BANK])), "{version}");
    });
}

#[test]
fn across_names_a_renewed_certificate_must_be_for_both() {
    Shared::both().iter().for_each(|shared| {
        let across = |names: &[&str]| {
            let builder = shared.showing(credential_for(Kind::P256, names));
            builder.resumption_across_names(true).build().unwrap()
        };
        let resumes = |second: &Arc<ServerConfig>, first: &Arc<ServerConfig>, name| {
            let client = ClientConfig::builder()
                .verifier(Policy::Here(Arc::new(AcceptAnyPeer)))
                .session_store(Arc::new(SingleSessionStore::default()))
                .build()
                .unwrap();
            assert!(!visit(&client, first, BANK));
            visit(&client, second, name)
        };
        let first = across(&[BANK, UPLOADS]);
        assert!(resumes(&first, &first, UPLOADS));
        assert!(resumes(&first, &first, ADDRESS));
        assert!(resumes(&across(&[BANK, UPLOADS]), &first, UPLOADS));
        for renewed in [&[BANK][..], &[UPLOADS]] {
            assert!(!resumes(&across(renewed), &first, UPLOADS), "{renewed:?}");
        }
        assert!(!resumes(&across(&[BANK, UPLOADS]), &first, ADDRESS));
    });
}

#[test]
fn credentials_of_a_policy_need_a_session_context() {
    struct Chosen(Arc<Credential>);
    impl SelectCredential for Chosen {
        fn select_credential(&self, _: &CredentialRequest<'_>) -> Option<Arc<Credential>> {
            Some(Arc::clone(&self.0))
        }
    }
    everywhere(|version, shared| {
        let shown = Arc::new(credential_for(Kind::P256, &[BANK]));
        let answer = {
            let shown = Arc::clone(&shown);
            move |_: Side, question: Question| match question {
                Question::SelectCredential(_) => {
                    SelectCredentialQuestion::answer_from(Some(Arc::clone(&shown)))
                }
                other => panic!("{other:?}"),
            }
        };
        let policies = || -> [Policy<dyn SelectCredential>; 2] {
            [Policy::Ask, Policy::Here(Arc::new(Chosen(Arc::clone(&shown))))]
        };
        for (policy, again) in policies().into_iter().zip(policies()) {
            let with = |policy: &Policy<dyn SelectCredential>, label: &[u8]| {
                let builder = ServerConfig::builder().credentials(policy.clone());
                shared.with(builder).session_context(label).build().unwrap()
            };
            let resumes = |first: &Arc<ServerConfig>, second: &Arc<ServerConfig>| {
                let client = client(version);
                assert!(!visit_answering(&client, first, BANK, answer.clone()));
                visit_answering(&client, second, BANK, answer.clone())
            };
            let unnamed = with(&policy, b"");
            assert!(!resumes(&unnamed, &unnamed), "{version}");
            // A server without a context does not issue sessions either.
            let given = Arc::new(SingleSessionStore::default());
            let client = clients_of(&given, version).build().unwrap();
            assert!(!visit_answering(&client, &unnamed, BANK, answer.clone()));
            assert!(given.session.lock().unwrap().is_none(), "{version}");
            assert!(resumes(&with(&policy, b"bank"), &with(&again, b"bank")), "{version}");
            assert!(!resumes(&with(&policy, b"bank"), &with(&again, b"other")), "{version}");
            // One server has its credentials in the configuration. The other server asks the
            // application for them.
            let known = shared.server(&[BANK]);
            assert!(!resumes(&known, &unnamed), "{version}");
        }
    });
}

#[test]
fn another_raw_public_key_needs_a_session_context() {
    let raw = |kind| {
        let (_, private) = leaf(kind, &[BANK]);
        let public = tercel::crypto::SigningKey::from_der(&private).unwrap().public_key_spki();
        Credential::raw_public_key(public.into(), &PrivateKeyDer::Pkcs8(private.into())).unwrap()
    };
    everywhere(|version, shared| {
        let types = [tercel::wire::CertificateType::RAW_PUBLIC_KEY];
        let client = ClientConfig::builder()
            .verifier(Policy::Here(Arc::new(AcceptAnyPeer)))
            .server_certificate_types(&types)
            .session_context(b"any key")
            .versions(&[version]);
        let resumes = |first: ServerConfigBuilder, second: ServerConfigBuilder| {
            let client = client.clone().build().unwrap();
            assert!(!visit(&client, &first.build().unwrap(), BANK));
            visit(&client, &second.build().unwrap(), BANK)
        };
        let showing = |kind, label: &[u8]| shared.showing(raw(kind)).session_context(label);
        assert!(resumes(showing(Kind::P256, b""), showing(Kind::P256, b"")), "{version}");
        assert!(!resumes(showing(Kind::P256, b""), showing(Kind::P384, b"")), "{version}");
        assert!(resumes(showing(Kind::P256, b"x"), showing(Kind::P384, b"x")), "{version}");
        assert!(!resumes(showing(Kind::P256, b"x"), showing(Kind::P384, b"y")), "{version}");
    });
}

#[test]
fn a_chosen_configuration_resumes_only_its_own_names() {
    struct ByName(Vec<(&'static str, Arc<ServerConfig>)>);
    impl ChooseConfig for ByName {
        fn choose_config(
            &self,
            hello: &tercel::wire::ClientHello<'_>,
        ) -> Option<Arc<ServerConfig>> {
            let asked = hello.extensions.server_name.and_then(|name| name.host_name());
            let asked = asked.map(|name| name.as_str().to_owned())?;
            let found = self.0.iter().find(|(name, _)| *name == asked);
            found.map(|(_, config)| Arc::clone(config))
        }
    }
    everywhere(|version, shared| {
        let (bank, uploads) = (shared.server(&[BANK]), shared.server(&[UPLOADS]));
        let choosing = |hosts: Vec<(&'static str, Arc<ServerConfig>)>| {
            let choose = Policy::Here(Arc::new(ByName(hosts)) as Arc<dyn ChooseConfig>);
            ServerConfig::builder().choose_config(choose).without_tickets().build().unwrap()
        };
        let right = choosing(vec![(BANK, Arc::clone(&bank)), (UPLOADS, Arc::clone(&uploads))]);
        let swapped = choosing(vec![(BANK, uploads), (UPLOADS, bank)]);
        assert!(!moves(version, BANK, &right, &swapped), "{version}");
    });
}

/// Builds clients that share a store and check nothing.
fn clients_of(
    store: &Arc<impl ClientSessionStore + 'static>,
    version: ProtocolVersion,
) -> ClientConfigBuilder {
    let store = Arc::clone(store) as Arc<dyn ClientSessionStore>;
    ClientConfig::builder()
        .verifier(Policy::Here(Arc::new(AcceptAnyPeer)))
        .session_context(b"any peer")
        .session_store(store)
        .versions(&[version])
}

#[test]
fn other_extensions_can_select_another_credential() {
    // Without a name, the authorities that a client names select the credential. TLS 1.2 has no
    // such extension.
    for shared in Shared::both() {
        let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
        let issue = |by: &Authority, name| by.issue_for(name, &rcgen::PKCS_ECDSA_P256_SHA256, &[]);
        let server = shared.showing(issue(&ours, BANK)).credential(issue(&theirs, UPLOADS));
        let server = server.build().unwrap();
        let store = Arc::new(ClientMemoryStore::default());
        let naming = |authority: &Authority| {
            let client = clients_of(&store, ProtocolVersion::TLS1_3);
            client.certificate_authorities(authority.names()).build().unwrap()
        };
        assert!(!visit(&naming(&ours), &server, ADDRESS));
        assert!(visit(&naming(&ours), &server, ADDRESS));
        assert!(!visit(&naming(&theirs), &server, ADDRESS));
    }
}

#[test]
fn a_credential_for_named_issuers_is_not_used_by_resumption_for_others() {
    for shared in Shared::both() {
        let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
        let bank = ours.issue_for(BANK, &rcgen::PKCS_ECDSA_P256_SHA256, &[]).must_match_issuer();
        let server = shared.showing(bank).build().unwrap();
        let store = Arc::new(ClientMemoryStore::default());
        let naming = |authority: &Authority| {
            let client = clients_of(&store, ProtocolVersion::TLS1_3);
            client.certificate_authorities(authority.names()).build().unwrap()
        };
        assert!(!visit(&naming(&ours), &server, BANK));
        assert!(visit(&naming(&ours), &server, BANK));
        let failure = Pair::new(&naming(&theirs), &server, BANK).connect();
        assert!(failure.is_err(), "a full handshake fails");
    }
}

#[test]
fn a_wildcard_matches_one_label() {
    everywhere(|version, shared| {
        let name = "login.bank.example";
        let bank = shared.server(&["*.bank.example"]);
        for renewed in ["LOGIN.bank.EXAMPLE", "*.BANK.example"] {
            assert!(moves(version, name, &bank, &shared.server(&[renewed])), "{version} {renewed}");
        }
        for other in ["*.example", "bank.example", "*.login.bank.example", "x.bank.example"] {
            assert!(!moves(version, name, &bank, &shared.server(&[other])), "{version} {other}");
        }
    });
}

#[test]
fn without_a_name_names_of_all_kinds_count() {
    use rcgen::SanType;
    let certificate = |names: &[SanType]| {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::default();
        params.subject_alt_names = names.to_vec();
        let leaf = params.self_signed(&key).unwrap().der().clone();
        Credential::new(vec![leaf], &PrivateKeyDer::Pkcs8(key.serialize_der().into())).unwrap()
    };
    let text = |text: &str| text.to_owned().try_into().unwrap();
    let uri = |path: &str| SanType::URI(text(path));
    everywhere(|version, shared| {
        let serving = |names: &[SanType]| shared.showing(certificate(names)).build().unwrap();
        let dns = SanType::DnsName(text(BANK));
        let first = serving(&[dns.clone(), uri("spiffe://example/bank")]);
        let same = serving(&[uri("spiffe://example/bank"), dns.clone()]);
        assert!(moves(version, ADDRESS, &first, &same), "{version}");
        for other in [uri("spiffe://example/uploads"), uri("spiffe://example/BANK")] {
            let other = serving(&[dns.clone(), other]);
            assert!(!moves(version, ADDRESS, &first, &other), "{version}");
        }
        // The two certificates have names with the same bytes, but of different kinds.
        let (one, other) = (serving(&[dns]), serving(&[SanType::Rfc822Name(text(BANK))]));
        assert!(!moves(version, ADDRESS, &one, &other), "{version}");
    });
}

#[test]
fn a_session_of_a_policys_credential_is_resumed_with_the_same_leaf_or_name() {
    struct Chosen(Arc<Credential>);
    impl SelectCredential for Chosen {
        fn select_credential(&self, _: &CredentialRequest<'_>) -> Option<Arc<Credential>> {
            Some(Arc::clone(&self.0))
        }
    }
    everywhere(|version, shared| {
        let bank = Arc::new(credential_for(Kind::P256, &[BANK]));
        let chosen = ServerConfig::builder().credentials(Policy::Here(Arc::new(Chosen(bank))));
        let chosen = shared.with(chosen).session_context(b"x").build().unwrap();
        let known = |names: &[&str]| {
            let known = shared.showing(credential_for(Kind::P256, names)).session_context(b"x");
            known.build().unwrap()
        };
        assert!(moves(version, BANK, &chosen, &known(&[BANK])), "{version}");
        assert!(!moves(version, BANK, &chosen, &known(&[UPLOADS])), "{version}");
        assert!(!moves(version, ADDRESS, &chosen, &known(&[BANK, UPLOADS])), "{version}");
    });
}

#[test]
fn a_session_from_a_question_is_bound_to_the_certificate() {
    for version in VERSIONS {
        let kept = std::cell::RefCell::new(Vec::new());
        let set = Arc::new(Credentials::new(vec![credential_for(Kind::P256, &[BANK])]));
        let server = ServerConfig::builder()
            .replaceable_credentials(Arc::clone(&set))
            .without_tickets()
            .session_store(Policy::Ask)
            .build()
            .unwrap();
        let client = client(version);
        let visit = |replaced: bool| {
            let answer = |_: Side, question: Question| match question {
                Question::FindSession(_) => {
                    // Replaces the certificate while the question is unanswered.
                    if replaced {
                        set.replace(vec![credential_for(Kind::P256, &[UPLOADS])]);
                    }
                    FindSessionQuestion::answer_from(kept.borrow().last().cloned())
                }
                Question::ClaimSession(question) => question.answer(true),
                other => panic!("{other:?}"),
            };
            let ends = Pair::new(&client, &server, BANK).answering(answer).connect();
            let mut ends = ends.unwrap();
            ends.talk();
            let made = ends.server.connection.info.take_new_sessions();
            // The newest ticket is offered first.
            kept.borrow_mut().extend(made.into_iter().map(|new| new.session));
            ends.server.connection.info.resumed
        };
        assert!(!visit(false));
        assert!(visit(false), "{version}");
        assert!(!visit(true), "{version}");
    }
}

#[test]
fn a_session_of_a_pre_shared_key_is_bound_to_the_server_name() {
    /// A selector that looks up keys only for clients that send no name.
    struct Nameless(PreSharedKeys);
    impl FindPreSharedKey for Nameless {
        fn find_pre_shared_key(
            &self,
            request: &PreSharedKeyRequest<'_>,
        ) -> Option<Arc<PreSharedKey>> {
            let is_nameless = request.server_name.is_none();
            self.0.find_pre_shared_key(request).filter(|_| is_nameless)
        }

        fn knows(&self, external_identity: &[u8], fingerprint: &[u8; 32]) -> bool {
            self.0.knows(external_identity, fingerprint)
        }
    }
    let key = || {
        let hash = tercel::crypto::HashAlgorithm::Sha256;
        PreSharedKey::external(b"a", b"thirty-two bytes of good secret!", hash).unwrap()
    };
    for shared in Shared::both() {
        let finder: Policy<dyn FindPreSharedKey> =
            Policy::Here(Arc::new(Nameless(PreSharedKeys::new([key()]))));
        let server = shared.showing(credential_for(Kind::P256, &[UPLOADS]));
        let server = server.find_pre_shared_key(finder).resumption_across_names(true);
        let server = server.build().unwrap();
        let store = Arc::new(ClientMemoryStore::default());
        let naming = |sends_name| {
            let client = clients_of(&store, ProtocolVersion::TLS1_3).pre_shared_keys([key()]);
            client.send_server_name(sends_name).build().unwrap()
        };
        assert!(!visit(&naming(false), &server, UPLOADS));
        assert!(visit(&naming(false), &server, UPLOADS));
        assert!(!visit(&naming(true), &server, UPLOADS));
    }
}
