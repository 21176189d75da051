//! Sessions based on pre-shared keys and on certificates, and the servers that resume each kind.

use super::*;
use tercel::pki_types::UnixTime;
use tercel::session::{ClientMemoryStore, RotatingTickets, TicketSealer};

use crate::resumption::visit;

/// Ticket keys that servers share, so that they can resume each other's sessions.
fn shared_tickets() -> Arc<dyn TicketSealer> {
    Arc::new(RotatingTickets::new(UnixTime::now()).unwrap())
}

#[test]
fn a_session_of_a_key_is_resumed_and_keeps_its_name() {
    for keys in [|| vec![plain("a", SHA256)], || imported("a").into()] {
        let client = key_client(keys()).build().unwrap();
        let server = key_server(keys()).build().unwrap();
        assert!(!visit(&client, &server));
        for _ in 0..2 {
            let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
            for info in [&ends.client.connection.info, &ends.server.connection.info] {
                assert!(info.resumed);
                assert_eq!(info.pre_shared_key(), Some(&b"a"[..]));
            }
            ends.talk();
        }
    }
}

#[test]
fn a_key_is_used_if_the_session_cannot_be_resumed() {
    let client = key_client([plain("a", SHA256)]).build().unwrap();
    let server = || key_server([plain("a", SHA256)]).build().unwrap();
    assert!(!visit(&client, &server()));
    // The other server has different ticket keys, so it cannot open the ticket. The client offers
    // the ticket before the key.
    assert!(!visit(&client, &server()));
}

#[test]
fn early_data_is_rejected_with_the_key_itself() {
    let client = key_client([plain("a", SHA256)]).early_data(true).build().unwrap();
    let server = key_server([plain("a", SHA256)]).early_data(1000, crate::early_data::guard());
    assert!(!visit(&client, &server.build().unwrap()));
    let other = key_server([plain("a", SHA256)]).build().unwrap();
    // The server selects the key, which is offered after the ticket. So the ticket's early data is
    // rejected.
    let ends = Pair::new(&client, &other, NAME).connect().unwrap();
    assert_eq!(ends.client.connection.info.early_data, EarlyData::Rejected);
    assert!(!ends.client.connection.info.resumed);
}

#[test]
fn the_session_of_a_removed_key_is_not_resumed() {
    let keys = Arc::new(PreSharedKeys::new(imported("a")));
    let find = Policy::Here(Arc::clone(&keys) as Arc<dyn FindPreSharedKey>);
    let server = server().find_pre_shared_key(find).build().unwrap();
    let client = client().pre_shared_keys(imported("a")).build().unwrap();
    assert!(!visit(&client, &server));
    assert!(visit(&client, &server));
    keys.replace(imported("b"));
    let ends = Pair::new(&client, &server, NAME).connect().unwrap();
    let info = &ends.server.connection.info;
    assert!(!info.resumed && info.pre_shared_key().is_none());
}

#[test]
fn the_session_of_a_replaced_key_is_not_resumed() {
    let other = || PreSharedKey::external(b"a", &[1; 32], SHA256).unwrap();
    let keys = Arc::new(PreSharedKeys::new([plain("a", SHA256)]));
    let find = Policy::Here(Arc::clone(&keys) as Arc<dyn FindPreSharedKey>);
    let server = server().find_pre_shared_key(find).build().unwrap();
    let client = key_client([plain("a", SHA256)]).build().unwrap();
    assert!(!visit(&client, &server));
    assert!(visit(&client, &server));
    assert!(visit(&client, &server), "a renewed ticket");
    // The key has the same name and another secret: neither it nor its sessions are accepted.
    keys.replace([other()]);
    let failure = Pair::new(&client, &server, NAME).connect().unwrap_err();
    assert_eq!(failure.server, Some(tercel::error::PeerError::BadBinder.into()));
}

#[test]
fn a_session_is_bound_to_its_key_not_to_the_name() {
    let tickets = shared_tickets();
    let client = client().pre_shared_keys(imported("a")).build().unwrap();
    let with = |keys: Vec<PreSharedKey>| {
        server().pre_shared_keys(keys).tickets(Arc::clone(&tickets)).build().unwrap()
    };
    assert!(!visit(&client, &with(imported("a").into())));
    assert!(visit(&client, &with(imported("a").into())));
    // The other server has a plain key with the same name.
    assert!(!visit(&client, &with(vec![plain("a", SHA256)])));
}

/// A selector that finds the only key of a tenant.
struct Tenant(Arc<PreSharedKey>);

impl FindPreSharedKey for Tenant {
    fn find_pre_shared_key(&self, request: &PreSharedKeyRequest<'_>) -> Option<Arc<PreSharedKey>> {
        request.fits(&self.0).then(|| Arc::clone(&self.0))
    }

    fn knows(&self, _: &[u8], fingerprint: &[u8; 32]) -> bool {
        *fingerprint == self.0.fingerprint()
    }
}

#[test]
fn a_session_of_one_tenants_key_is_not_resumed_at_another_tenant() {
    let key = |name: &str, secret: u8| {
        PreSharedKey::external(name.as_bytes(), &[secret; 32], SHA256).unwrap()
    };
    let tickets = shared_tickets();
    let tenant = |name, secret| {
        let find = Policy::Here(Arc::new(Tenant(Arc::new(key(name, secret)))) as _);
        let builder = ServerConfig::builder().find_pre_shared_key(find);
        builder.tickets(Arc::clone(&tickets)).build().unwrap()
    };
    let client = key_client([key("a", 1)]).build().unwrap();
    let own = tenant("a", 1);
    // The other tenant does not have the name, or has another key with that name.
    for (other, expected) in [
        (tenant("b", 2), tercel::error::PeerError::UnknownPreSharedKey),
        (tenant("a", 2), tercel::error::PeerError::BadBinder),
    ] {
        // After this connection the client has a session, whether it was resumed or not.
        visit(&client, &own);
        let outcome = Pair::new(&client, &other, NAME).connect();
        let failure = outcome.map(|ends| ends.server.connection.info.resumed).unwrap_err();
        assert_eq!(failure.server, Some(expected.into()));
    }
    // A second node of the tenant has the same ticket keys and the tenant's key.
    visit(&client, &own);
    assert!(visit(&client, &tenant("a", 1)));
}

#[test]
fn with_questions_a_session_is_bound_to_its_configuration() {
    let tickets = shared_tickets();
    let client = key_client([plain("a", SHA256)]).build().unwrap();
    let asking = |label: &[u8]| {
        let builder = ServerConfig::builder().find_pre_shared_key(Policy::Ask);
        builder.tickets(Arc::clone(&tickets)).session_context(label).build().unwrap()
    };
    let resumes = |server: &Arc<ServerConfig>, known: &str| {
        let answer = |_, question| {
            let Question::FindPreSharedKey(question) = question else { panic!("{question:?}") };
            question.resolve(&PreSharedKeys::new([plain(known, SHA256)]))
        };
        let ends = Pair::new(&client, server, NAME).answering(answer).connect();
        let resumed = |mut ends: crate::pair::Ends| {
            ends.talk();
            ends.server.connection.info.resumed
        };
        ends.map(resumed).map_err(|failure| failure.server)
    };
    let unknown = Err(Some(tercel::error::PeerError::UnknownPreSharedKey.into()));
    let own = asking(b"");
    assert_eq!(resumes(&own, "a"), Ok(false));
    assert_eq!(resumes(&own, "a"), Ok(true));
    // The other configuration has the same ticket keys, but not the key of the session.
    assert_eq!(resumes(&asking(b""), "b"), unknown);
    // An equal context does not say that both applications know the same keys.
    let own = asking(b"one");
    assert_eq!(resumes(&own, "a"), Ok(false));
    assert_eq!(resumes(&own, "a"), Ok(true));
    assert_eq!(resumes(&asking(b"one"), "b"), unknown);
    assert_eq!(resumes(&asking(b"one"), "a"), Ok(false));
}

#[test]
fn a_session_of_a_key_is_not_resumed_by_a_server_without_keys() {
    let tickets = shared_tickets();
    let client = client().pre_shared_keys([plain("a", SHA256)]).credential(credential(Kind::P256));
    let client = client.build().unwrap();
    let certificates = |demand| server().tickets(Arc::clone(&tickets)).client_auth(demand, roots());
    for demand in [ClientAuth::Optional, ClientAuth::Required] {
        let either = certificates(demand).pre_shared_keys([plain("a", SHA256)]).build().unwrap();
        let strict = certificates(demand).build().unwrap();
        assert!(!visit(&client, &either));
        assert!(visit(&client, &either));
        assert!(!visit(&client, &strict), "{demand:?}");
        // Both configurations resume a session with a certificate.
        assert!(visit(&client, &either), "{demand:?}");
    }
}

#[test]
fn a_session_without_a_key_is_not_resumed_by_a_server_of_keys_alone() {
    let tickets = shared_tickets();
    let client = client().pre_shared_keys([plain("a", SHA256)]).build().unwrap();
    let public = server().tickets(Arc::clone(&tickets)).build().unwrap();
    let private = |name| key_server([plain(name, SHA256)]).tickets(Arc::clone(&tickets)).build();
    assert!(!visit(&client, &public));
    // The server can open the ticket, but does not resume the session.
    let mut ends = Pair::new(&client, &private("a").unwrap(), NAME).connect().unwrap();
    assert!(!ends.server.connection.info.resumed);
    ends.talk();
    assert!(visit(&client, &private("a").unwrap()));
    // A session of a key that the server does not have is not resumed either.
    let failure = Pair::new(&client, &private("b").unwrap(), NAME).connect().unwrap_err();
    assert_eq!(failure.server, Some(tercel::error::PeerError::UnknownPreSharedKey.into()));
}

#[test]
fn a_client_offers_sessions_with_the_same_keys_only() {
    let store = Arc::new(ClientMemoryStore::default());
    let server = server().pre_shared_keys([plain("a", SHA256), plain("b", SHA256)]);
    let server = server.build().unwrap();
    let with = |builder: ClientConfigBuilder| {
        visit(&builder.session_store(Arc::clone(&store) as _).build().unwrap(), &server)
    };
    assert!(!with(client()));
    assert!(with(client()));
    assert!(!with(key_client([plain("a", SHA256)])));
    assert!(with(key_client([plain("a", SHA256)])));
    assert!(!with(key_client([plain("b", SHA256)])));
    assert!(!with(client().pre_shared_keys([plain("a", SHA256)])));
    // A key with the same name and another secret is a different key.
    let other = PreSharedKey::external(b"a", &[1; 32], SHA256).unwrap();
    let config = key_client([other]).session_store(Arc::clone(&store) as _).build().unwrap();
    let failure = Pair::new(&config, &server, NAME).connect().unwrap_err();
    assert_eq!(failure.server, Some(tercel::error::PeerError::BadBinder.into()));
}
