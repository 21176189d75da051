//! Choices after a configuration was built: sessions of other configurations, credentials and
//! configurations that the application selects, QUIC, Encrypted ClientHello.

use std::sync::Arc;

use tercel::certificates::Credentials;
use tercel::error::InternalError;
use tercel::pki_types::UnixTime;
use tercel::server::ChooseConfig;
use tercel::session::{ClientMemoryStore, SharedTickets, TicketKey, TicketKeySet};
use tercel::wire::{AlertDescription, ClientHello, ProtocolVersion};
use tercel::{Error, Policy, ServerConfig, Side};

use super::{WeakChain, approved, approved_client, weak_credential};
use crate::fixtures::{NAME, client, credential, server};
use crate::pair::{Delivery, Ends, Failure, Pair};

fn shared_tickets() -> Arc<SharedTickets> {
    let key = TicketKey::new([1; 16], &[2; 32], UnixTime::now());
    let keys = TicketKeySet::new(key, None, None).unwrap();
    Arc::new(SharedTickets::new(&keys, std::time::Duration::from_secs(3600)))
}

fn connect(client: &Arc<tercel::ClientConfig>, server: &Arc<ServerConfig>) -> Ends {
    let mut ends = Pair::new(client, server, NAME).connect().unwrap();
    ends.transfer(Side::Server, b"x", Delivery::Whole);
    ends
}

/// Tickets and stores may be shared with configurations that do not have the option.
#[test]
fn only_sessions_of_configurations_with_the_option_are_resumed() {
    for version in [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2] {
        let tickets = shared_tickets();
        let of_server = |fips| {
            let server = server().tickets(Arc::clone(&tickets) as Arc<_>).session_context(b"same");
            server.fips(fips).build().unwrap()
        };
        for (before, after) in [(false, true), (true, false), (true, true)] {
            // The client does not have the option.
            let client = client().versions(&[version]).build().unwrap();
            assert!(!connect(&client, &of_server(before)).client.connection.info.resumed);
            let second = connect(&client, &of_server(after));
            let info = &second.server.connection.info;
            assert_eq!(info.resumed, before == after, "{version} {before} {after}");
            assert_eq!(info.fips.is_approved(), after);
        }
    }
}

#[test]
fn clients_offer_only_sessions_of_configurations_with_the_option() {
    for version in [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2] {
        let store = Arc::new(ClientMemoryStore::default());
        let server = server().build().unwrap();
        let of_client = |fips| {
            let client = client().versions(&[version]).session_store(Arc::clone(&store) as Arc<_>);
            client.session_context(b"same").fips(fips).build().unwrap()
        };
        connect(&of_client(false), &server);
        let second = connect(&of_client(true), &server);
        assert!(!second.client.connection.info.resumed, "{version}");
        assert_eq!(second.client.connection.info.fips, approved());
        let third = connect(&of_client(true), &server);
        assert!(third.client.connection.info.resumed, "{version}");
        assert_eq!(third.client.connection.info.fips, approved());
    }
}

#[track_caller]
fn assert_not_fips(failure: Failure) {
    let error = Error::Internal(InternalError::NotFips);
    assert_eq!(error.alert(), Some(AlertDescription::INTERNAL_ERROR));
    let alert = Error::AlertReceived(AlertDescription::INTERNAL_ERROR);
    let (ours, theirs) = if failure.server == Some(error) {
        (failure.server, failure.client)
    } else {
        (failure.client, failure.server)
    };
    assert_eq!((ours, theirs), (Some(error), Some(alert)));
}

#[test]
fn credentials_that_are_replaced_later_are_checked() {
    let credentials = Arc::new(Credentials::new(vec![credential(crate::fixtures::Kind::P256)]));
    let server = ServerConfig::builder().replaceable_credentials(Arc::clone(&credentials));
    let server = server.fips(true).build().unwrap();
    for version in [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2] {
        let client = client().versions(&[version]).build().unwrap();
        credentials.replace(vec![credential(crate::fixtures::Kind::P256)]);
        connect(&client, &server);
        credentials.replace(vec![weak_credential(WeakChain::Sha1)]);
        let client = self::client().versions(&[version]).build().unwrap();
        assert_not_fips(Pair::new(&client, &server, NAME).connect().unwrap_err());
    }
}

#[test]
fn credentials_that_a_client_selects_are_checked() {
    use tercel::server::ClientAuth;
    let selection = Arc::new(Credentials::new(vec![weak_credential(WeakChain::ShortKey)]));
    let server = server().client_auth(ClientAuth::Required, super::weak_roots()).build().unwrap();
    for version in [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2] {
        let client = client().credentials(Policy::Here(Arc::clone(&selection) as Arc<_>));
        let client = client.fips(true).versions(&[version]).build().unwrap();
        assert_not_fips(Pair::new(&client, &server, NAME).connect().unwrap_err());
    }
}

struct Chosen(Arc<ServerConfig>);

impl ChooseConfig for Chosen {
    fn choose_config(&self, _: &ClientHello<'_>) -> Option<Arc<ServerConfig>> {
        Some(Arc::clone(&self.0))
    }
}

#[test]
fn configurations_that_are_chosen_need_the_option() {
    for fips in [true, false] {
        let chosen = server().fips(fips).build().unwrap();
        let choose = Policy::Here(Arc::new(Chosen(chosen)) as Arc<dyn ChooseConfig>);
        let first = ServerConfig::builder().choose_config(choose).fips(true).build().unwrap();
        match Pair::new(&approved_client(), &first, NAME).connect() {
            Ok(ends) => {
                assert!(fips);
                assert_eq!(ends.server.connection.info.fips, approved());
            }
            Err(failure) => {
                assert!(!fips);
                assert_not_fips(failure);
            }
        }
    }
}

/// HPKE of the configuration with which a handshake began is outside of the module, too. The choice
/// is refused whether or not the client encrypts, so that the fault shows on the first connection.
#[cfg(feature = "ech")]
#[test]
fn configurations_with_the_option_are_not_chosen_by_one_with_ech_keys() {
    use tercel::ech::{Key, Keys, Offer, Retry};
    use tercel::{Handshake, Question};

    let key = Key::generate("cover.example", 0).unwrap();
    let configs = key.config();
    let keys = Arc::new(Keys::new(vec![(key, Retry::Send)]).unwrap());
    let first = |choose| {
        let first = ServerConfig::builder().choose_config(choose).ech(Arc::clone(&keys));
        Handshake::server(first.build().unwrap())
    };
    let chosen = super::approved_server();
    let here = || Policy::Here(Arc::new(Chosen(Arc::clone(&chosen))) as Arc<dyn ChooseConfig>);
    for offer in [Offer::Configs(configs), Offer::None] {
        for choose in [here(), Policy::Ask] {
            let client = Handshake::client(client().build().unwrap(), NAME.try_into().unwrap());
            let pair = Pair::of(client.with_ech(offer.clone()), first(choose));
            let pair = pair.answering(|_, question| match question {
                Question::ChooseConfig(question) => question.answer(Some(Arc::clone(&chosen))),
                other => panic!("{other:?}"),
            });
            assert_not_fips(pair.connect().unwrap_err());
        }
    }
}

/// The kernel or another process uses these keys, not the module.
#[test]
fn exported_traffic_keys_are_not_approved() {
    use tercel::ReceiveBuffer;
    use tercel::fips::{FipsReason, FipsStatus};

    let client = super::approved_client();
    let server = server().fips(true).versions(&[ProtocolVersion::TLS1_2]).build().unwrap();
    let ends = Pair::new(&client, &server, NAME).connect().unwrap();
    assert!(ends.server.connection.info.fips.is_approved());
    let exported = ends.server.connection.export_traffic_keys(&ReceiveBuffer::new()).unwrap();
    assert_eq!(exported.info.fips, FipsStatus::No(FipsReason::Exported));
}

#[cfg(feature = "quic")]
#[test]
fn quic_is_not_approved() {
    use tercel::error::ConfigError;
    use tercel::fips::FipsReason;
    use tercel::quic::{Handshake, Version};

    let client = client().alpn(&["h3"]).fips(true).build().unwrap();
    let name = NAME.try_into().unwrap();
    let started = Handshake::client(&client, name, Version::V1, Vec::new());
    assert_eq!(started.err(), Some(ConfigError::NotFips(FipsReason::Quic)));
}
