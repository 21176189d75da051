//! Servers whose application is asked to seal and open tickets, in both versions.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tercel::clock::Clock;
use tercel::error::Misuse;
use tercel::pki_types::UnixTime;
use tercel::questions::{OpenTicketQuestion, SealTicketQuestion};
use tercel::server::ServerConfigBuilder;
use tercel::session::{
    ClientMemoryStore, ClientSession, ClientSessionKey, ClientSessionStore, RotatingTickets,
    ServerMemoryStore, TicketSealer,
};
use tercel::wire::ProtocolVersion;
use tercel::{
    Answer, ClientConfig, EarlyData, Error, Handshake, Next, Policy, Question, ReceiveBuffer,
    ServerConfig,
};

use crate::early_data::guard;
use crate::fixtures::{NAME, client, server};
use crate::pair::{Delivery, Ends, Pair};
use crate::resumption::ManualClock;

const TLS12: ProtocolVersion = ProtocolVersion::TLS1_2;
const TLS13: ProtocolVersion = ProtocolVersion::TLS1_3;
const BOTH_VERSIONS: [ProtocolVersion; 2] = [TLS13, TLS12];

const HOUR: Duration = Duration::from_secs(3600);

/// An application that has the sessions of tickets in a table, each under a number. A ticket can
/// be opened more than once.
#[derive(Default)]
struct Application {
    sessions: RefCell<HashMap<Vec<u8>, Vec<u8>>>,
    asked: RefCell<Vec<&'static str>>,
    /// Whether tickets are replaced in TLS 1.2.
    renews: Cell<bool>,
}

impl Application {
    fn answer(&self, question: Question) -> Answer {
        match question {
            Question::SealTicket(question) => {
                self.asked.borrow_mut().push("seal");
                assert!(question.now() < question.expires());
                assert!(question.expires() <= later(question.now(), HOUR));
                let mut sessions = self.sessions.borrow_mut();
                let ticket = format!("ticket {}", sessions.len()).into_bytes();
                sessions.insert(ticket.clone(), question.session().to_vec());
                question.answer(Some(ticket))
            }
            Question::OpenTicket(question) => {
                self.asked.borrow_mut().push("open");
                match self.sessions.borrow().get(question.ticket()).cloned() {
                    Some(session) if self.renews.get() => question.answer_and_renew(session),
                    session => question.answer(session),
                }
            }
            other => panic!("{other:?}"),
        }
    }

    fn connect(&self, client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> Ends {
        self.connect_by(Delivery::Whole, client, server)
    }

    fn connect_by(
        &self,
        delivery: Delivery,
        client: &Arc<ClientConfig>,
        server: &Arc<ServerConfig>,
    ) -> Ends {
        let pair = Pair::new(client, server, NAME).delivery(delivery);
        let mut ends = pair.answering(|_, question| self.answer(question)).connect().unwrap();
        ends.talk();
        assert_eq!(ends.client.connection.info.resumed, ends.server.connection.info.resumed);
        ends
    }

    /// The questions since the last call.
    fn asked(&self) -> Vec<&'static str> {
        self.asked.take()
    }
}

fn later(time: UnixTime, duration: Duration) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(time.as_secs()) + duration)
}

fn asking() -> ServerConfigBuilder {
    server().ask_for_tickets(HOUR)
}

fn of_version(version: ProtocolVersion) -> Arc<ClientConfig> {
    client().versions(&[version]).build().unwrap()
}

/// RFC 9846 4.7.1, RFC 5077 3.1, 3.2
#[test]
fn an_application_seals_and_opens_tickets() {
    for version in BOTH_VERSIONS {
        for delivery in [Delivery::Whole, Delivery::Bytes] {
            let application = Application::default();
            let (client, server) = (of_version(version), asking().build().unwrap());
            let (first, again): (&[_], &[_]) = match version {
                TLS13 => (&["seal", "seal"], &["open", "seal"]),
                _ => (&["seal"], &["open"]),
            };
            let ends = application.connect_by(delivery, &client, &server);
            assert!(!ends.server.connection.info.resumed);
            assert_eq!(application.asked(), first);
            for _ in 0..3 {
                let ends = application.connect_by(delivery, &client, &server);
                assert!(ends.server.connection.info.resumed, "{version:?}");
                assert_eq!(application.asked(), again);
            }
        }
    }
}

/// The session is bound to the same things as that of a ticket that the configuration opens.
#[test]
fn sealers_answer_the_questions_too() {
    let sealer = Arc::new(RotatingTickets::new(UnixTime::now()).unwrap());
    for version in BOTH_VERSIONS {
        let client = of_version(version);
        let own = server().tickets(Arc::clone(&sealer) as _).build().unwrap();
        let asks = server().ask_for_tickets(sealer.lifetime()).build().unwrap();
        let bound = server().session_context(b"x").ask_for_tickets(HOUR).build().unwrap();
        let connect = |server: &Arc<ServerConfig>| {
            let pair = Pair::new(&client, server, NAME).answering(|_, question| match question {
                Question::SealTicket(question) => question.resolve(&*sealer),
                Question::OpenTicket(question) => question.resolve(&*sealer),
                other => panic!("{other:?}"),
            });
            let mut ends = pair.connect().unwrap();
            ends.talk();
            ends.server.connection.info.resumed
        };
        for (server, resumed) in
            [(&own, false), (&asks, true), (&own, true), (&asks, true), (&bound, false)]
        {
            assert_eq!(connect(server), resumed, "{version:?}");
        }
    }
}

#[test]
fn a_refused_ticket_leads_to_a_full_handshake_and_a_new_ticket() {
    for version in BOTH_VERSIONS {
        let application = Application::default();
        let (client, server) = (of_version(version), asking().build().unwrap());
        application.connect(&client, &server);
        application.sessions.take();
        application.asked();
        let ends = application.connect(&client, &server);
        assert!(!ends.server.connection.info.resumed);
        let asked = application.asked();
        assert_eq!((asked[0], asked[1]), ("open", "seal"));
        // The client has replaced its ticket. In TLS 1.3 it may have another one of the first
        // connection.
        let resumed = (0..3).filter(|_| {
            let ends = application.connect(&client, &server);
            ends.server.connection.info.resumed
        });
        assert!(resumed.count() >= 1, "{version:?}");
    }
}

/// RFC 5077 3.3
#[test]
fn an_application_may_replace_a_ticket_of_tls12() {
    let application = Application::default();
    let (client, server) = (of_version(TLS12), asking().build().unwrap());
    application.connect(&client, &server);
    assert_eq!(application.asked(), ["seal"]);
    application.renews.set(true);
    assert!(application.connect(&client, &server).server.connection.info.resumed);
    assert_eq!(application.asked(), ["open", "seal"]);
    // The client has the new ticket.
    application.sessions.borrow_mut().remove(&b"ticket 0"[..]).unwrap();
    application.renews.set(false);
    assert!(application.connect(&client, &server).server.connection.info.resumed);
    assert_eq!(application.asked(), ["open"]);
}

/// A ticket that cannot be replaced remains usable.
#[test]
fn a_ticket_of_tls12_is_kept_if_no_new_one_is_made() {
    let application = Application::default();
    let (client, server) = (of_version(TLS12), asking().build().unwrap());
    application.connect(&client, &server);
    application.renews.set(true);
    for _ in 0..2 {
        let pair = Pair::new(&client, &server, NAME).answering(|_, question| match question {
            Question::SealTicket(question) => question.answer(None),
            other => application.answer(other),
        });
        assert!(pair.connect().unwrap().client.connection.info.resumed);
    }
}

/// In TLS 1.3 each resumption has new tickets, so a replacement changes nothing.
#[test]
fn a_replaced_ticket_of_tls13_is_like_another_one() {
    let application = Application::default();
    let (client, server) = (of_version(TLS13), asking().build().unwrap());
    application.connect(&client, &server);
    application.asked();
    application.renews.set(true);
    assert!(application.connect(&client, &server).server.connection.info.resumed);
    assert_eq!(application.asked(), ["open", "seal"]);
}

/// The length of a ticket is limited: `opaque ticket<1..2^16-1>`. RFC 9846 4.7.1
#[test]
fn a_ticket_of_invalid_length_is_not_sent() {
    for version in BOTH_VERSIONS {
        let (client, server) = (of_version(version), asking().build().unwrap());
        for length in [None, Some(0), Some(0x1_0000), Some(1 << 20), Some(0xffff)] {
            for _ in 0..2 {
                let pair = Pair::new(&client, &server, NAME).answering(|_, question| {
                    let Question::SealTicket(question) = question else { panic!("{question:?}") };
                    question.answer(length.map(|length| vec![1; length]))
                });
                let mut ends = pair.connect().unwrap();
                ends.talk();
                // The client does not store a ticket of 2^16 - 1 bytes, which would not fit in a
                // ClientHello.
                assert!(!ends.client.connection.info.resumed);
            }
        }
    }
}

/// RFC 9846 4.7.1
#[test]
fn after_a_failure_no_further_ticket_is_asked_for() {
    let (client, server) = (of_version(TLS13), asking().ticket_counts(5, 1).build().unwrap());
    let asked = Cell::new(0);
    let pair = Pair::new(&client, &server, NAME).answering(|_, _| {
        asked.set(asked.get() + 1);
        SealTicketQuestion::answer_from((asked.get() < 3).then(|| vec![1]))
    });
    pair.connect().unwrap().talk();
    assert_eq!(asked.get(), 3);
}

/// A store of which the test takes the sessions.
#[derive(Default)]
struct Lifetimes(ClientMemoryStore, std::sync::Mutex<Vec<u32>>);

impl ClientSessionStore for Lifetimes {
    fn put(&self, key: &ClientSessionKey, session: Vec<u8>, expires: UnixTime) {
        let lifetime = ClientSession::from_bytes(&session).unwrap().ticket_lifetime();
        self.1.lock().unwrap().push(lifetime.unwrap());
        self.0.put(key, session, expires);
    }

    fn take(&self, key: &ClientSessionKey, now: UnixTime) -> Option<Vec<u8>> {
        self.0.take(key, now)
    }
}

/// A ticket lives for at most seven days. RFC 9846 4.7.1
#[test]
fn the_lifetime_is_limited() {
    for version in BOTH_VERSIONS {
        for (lifetime, expected) in [
            (HOUR, 3600),
            (Duration::from_millis(2900), 2),
            (Duration::from_secs(604_801), 604_800),
            (Duration::MAX, 604_800),
        ] {
            let store = Arc::new(Lifetimes::default());
            let client = client().versions(&[version]).session_store(store.clone());
            let server = server().ask_for_tickets(lifetime).build().unwrap();
            let pair = Pair::new(&client.build().unwrap(), &server, NAME);
            let pair = pair.answering(|_, question| match question {
                Question::SealTicket(question) => {
                    assert_eq!(question.version(), version);
                    let most = later(question.now(), Duration::from_secs(expected));
                    assert!(question.expires() <= most);
                    question.answer(Some(b"ticket".to_vec()))
                }
                other => panic!("{other:?}"),
            });
            pair.connect().unwrap().talk();
            let lifetimes = store.1.lock().unwrap().clone();
            assert!(lifetimes.iter().all(|each| u64::from(*each) == expected), "{lifetimes:?}");
            assert!(!lifetimes.is_empty());
        }
    }
}

/// An answer is not trusted to be a session of this configuration and version.
#[test]
fn an_answer_that_is_no_usable_session_is_not_resumed() {
    let mut sessions = HashMap::new();
    let other = server().session_context(b"other").ask_for_tickets(HOUR).build().unwrap();
    for version in BOTH_VERSIONS {
        let application = Application::default();
        application.connect(&of_version(version), &other);
        sessions.insert(version, application.sessions.take().into_values().next().unwrap());
    }
    for version in BOTH_VERSIONS {
        let (client, server) = (of_version(version), asking().build().unwrap());
        let own = Application::default();
        own.connect(&client, &server);
        let whole = own.sessions.borrow()[&b"ticket 0"[..]].clone();
        let longer = [&whole[..], &[0]].concat();
        let cut = whole[..whole.len() - 1].to_vec();
        let others = BOTH_VERSIONS.map(|version| sessions[&version].clone());
        let [theirs, of_version] = others;
        for answer in [Vec::new(), vec![0; 1 << 20], longer, cut, theirs, of_version] {
            for renews in [false, true] {
                let pair = Pair::new(&client, &server, NAME);
                let pair = pair.answering(|_, question| match question {
                    Question::OpenTicket(question) if renews => {
                        question.answer_and_renew(answer.clone())
                    }
                    Question::OpenTicket(question) => question.answer(Some(answer.clone())),
                    other => own.answer(other),
                });
                let mut ends = pair.connect().unwrap();
                ends.talk();
                assert!(!ends.server.connection.info.resumed);
            }
        }
        assert!(own.connect(&client, &server).server.connection.info.resumed);
    }
}

/// A session of another client does not help: the binder, or the Finished, needs its key.
/// RFC 9846 4.3.11, RFC 5246 7.4.9
#[test]
fn the_session_of_another_ticket_ends_the_handshake() {
    for version in BOTH_VERSIONS {
        let (client, server) = (of_version(version), asking().build().unwrap());
        let (own, other) = (Application::default(), Application::default());
        own.connect(&client, &server);
        other.connect(&of_version(version), &server);
        let pair = Pair::new(&client, &server, NAME);
        let failed = pair.answering(|_, question| match question {
            Question::OpenTicket(_) => other.answer(Question::OpenTicket(unwrap(question))),
            question => own.answer(question),
        });
        assert!(failed.connect().is_err());
    }
}

fn unwrap(question: Question) -> OpenTicketQuestion {
    let Question::OpenTicket(question) = question else { panic!("{question:?}") };
    question
}

/// A session ID is not a ticket. RFC 5077 3.4
#[test]
fn no_question_is_asked_about_a_session_id() {
    let client = client().versions(&[TLS12]).tickets_tls12(false).build().unwrap();
    let store = Arc::new(ServerMemoryStore::new(10));
    let server = asking().session_ids(Policy::Here(store)).build().unwrap();
    for resumed in [false, true] {
        let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
        ends.talk();
        assert_eq!(ends.server.connection.info.resumed, resumed);
    }
}

/// New sessions are stored, and no question is asked about them.
#[test]
fn a_session_store_has_precedence_for_new_sessions() {
    for version in BOTH_VERSIONS {
        let application = Application::default();
        let client = of_version(version);
        application.connect(&client, &asking().build().unwrap());
        application.asked();
        let store = Policy::Here(Arc::new(ServerMemoryStore::new(10)) as _);
        let both = asking().session_store(store).build().unwrap();
        let ends = application.connect(&client, &both);
        assert!(ends.server.connection.info.resumed);
        assert_eq!(application.asked(), ["open"]);
    }
}

#[test]
fn early_data_is_accepted_with_a_ticket_of_the_application() {
    let application = Application::default();
    let client = client().early_data(true).build().unwrap();
    let server = asking().early_data(1000, guard()).build().unwrap();
    for expected in [EarlyData::NotOffered, EarlyData::Accepted] {
        let ends = application.connect(&client, &server);
        assert_eq!(ends.server.connection.info.early_data, expected);
    }
}

/// A client that did not ask for tickets, or that gets none, causes no question.
#[test]
fn without_tickets_no_question_is_asked() {
    for version in BOTH_VERSIONS {
        let server = asking().ticket_counts(0, 0).without_session_ids().build().unwrap();
        let client = client().versions(&[version]).without_resumption().build().unwrap();
        Pair::new(&client, &server, NAME).connect().unwrap().talk();
        let without = asking().without_tickets().build().unwrap();
        for _ in 0..2 {
            Pair::new(&of_version(version), &without, NAME).connect().unwrap().talk();
        }
    }
    let server = asking().ticket_counts(0, 0).build().unwrap();
    Pair::new(&of_version(TLS13), &server, NAME).connect().unwrap().talk();
}

/// Advances a server until it asks, and returns the question.
fn ask(
    client: &mut Handshake,
    server: &mut Handshake,
    received: &mut [ReceiveBuffer; 2],
) -> Question {
    let mut out = Vec::new();
    for _ in 0..10 {
        if !matches!(
            client.advance(&mut received[0], &mut out),
            Ok(Next::Receive | Next::Connected(_))
        ) {
            break;
        }
        received[1].extend(&out);
        out.clear();
        if let Next::Answer(question) = server.advance(&mut received[1], &mut out).unwrap() {
            assert!(out.is_empty() || matches!(question, Question::SealTicket(_)));
            return question;
        }
        received[0].extend(&out);
        out.clear();
    }
    panic!("no question");
}

#[test]
fn an_unanswered_question_is_an_error() {
    for version in BOTH_VERSIONS {
        let (client, server) = (of_version(version), asking().build().unwrap());
        let application = Application::default();
        let begin = || {
            let client = Handshake::client(Arc::clone(&client), NAME.try_into().unwrap());
            (client, Handshake::server(Arc::clone(&server)))
        };
        for expected in ["SealTicket", "OpenTicket"] {
            let (mut ours, mut theirs) = begin();
            let mut received = [ReceiveBuffer::new(), ReceiveBuffer::new()];
            let question = ask(&mut ours, &mut theirs, &mut received);
            assert_eq!(format!("{question:?}"), expected);
            let open = Error::Misuse(Misuse::QuestionOpen);
            let mut out = Vec::new();
            assert_eq!(theirs.advance(&mut received[1], &mut out).unwrap_err(), open);
            let wrong = match question {
                Question::SealTicket(_) => OpenTicketQuestion::answer_from(None),
                _ => SealTicketQuestion::answer_from(None),
            };
            assert_eq!(theirs.answer(wrong), Err(Error::Misuse(Misuse::WrongAnswer)));
            assert!(out.is_empty());
            // A handshake that is dropped with an open question has no effect on others.
            drop(theirs);
            application.connect(&client, &server);
        }
    }
}

/// The client cannot use a ticket before all of them are sealed.
#[test]
fn tickets_of_tls13_are_sent_after_the_last_answer() {
    let (client, server) = (of_version(TLS13), asking().build().unwrap());
    let mut client = Handshake::client(client, NAME.try_into().unwrap());
    let mut server = Handshake::server(server);
    let mut received = [ReceiveBuffer::new(), ReceiveBuffer::new()];
    let application = Application::default();
    let mut question = ask(&mut client, &mut server, &mut received);
    let mut out = Vec::new();
    for left in [1, 0] {
        server.answer(application.answer(question)).unwrap();
        let next = server.advance(&mut received[1], &mut out).unwrap();
        question = match next {
            Next::Answer(question) if left == 1 => question,
            Next::Connected(_) if left == 0 => break,
            other => panic!("{other:?}"),
        };
        assert!(out.is_empty());
    }
    assert!(!out.is_empty());
}

/// A question may take long to answer, and the next ticket is sealed after it. RFC 9846 4.3.11.1
#[test]
fn the_age_of_a_ticket_begins_when_it_is_sealed() {
    let dial = ManualClock::new();
    let client = client().versions(&[TLS13]).build().unwrap();
    let server = asking().clock(Arc::clone(&dial) as _).ticket_counts(10, 1).build().unwrap();
    let mut asked = 0;
    let pair = Pair::new(&client, &server, NAME).answering(|_, question| match question {
        Question::SealTicket(question) => {
            assert_eq!(question.expires(), later(question.now(), HOUR), "ticket {asked}");
            dial.advance_by(7);
            asked += 1;
            question.answer(Some(b"ticket".to_vec()))
        }
        other => panic!("{other:?}"),
    });
    pair.connect().unwrap().talk();
    assert_eq!(asked, 10);
}

/// A clock that counts its readings.
#[derive(Default)]
struct CountingClock(AtomicUsize);

impl Clock for CountingClock {
    fn now(&self) -> UnixTime {
        self.0.fetch_add(1, Ordering::Relaxed);
        UnixTime::now()
    }
}

/// Nothing is prepared for tickets that are not sent: the session of a ticket would need the time.
#[test]
fn without_tickets_no_session_is_made() {
    let client = client().versions(&[TLS13]).build().unwrap();
    let readings = |server: ServerConfigBuilder| {
        let clock = Arc::new(CountingClock::default());
        let server = server.clock(Arc::clone(&clock) as _).build().unwrap();
        let before = clock.0.load(Ordering::Relaxed);
        Pair::new(&client, &server, NAME).connect().unwrap().talk();
        clock.0.load(Ordering::Relaxed) - before
    };
    let without = readings(server().without_tickets());
    assert_eq!(readings(asking().ticket_counts(0, 0)), without);
}
