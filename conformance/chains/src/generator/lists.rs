//! Revocation lists, and their faults. RFC 5280 5

use pki_types::CertificateRevocationListDer;
use rcgen::{KeyPair, SigningKey as _};

use super::certificate::{Name, Time, algorithm, point_name, sequence, wrap};
use super::random::Random;
use super::world::{Keys, Made};

/// The certificates for which a list is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    All,
    Users,
    Authorities,
}

/// All that a list states.
#[derive(Clone)]
pub(crate) struct List {
    pub(crate) issuer: Name,
    /// The index of the key that signs.
    pub(crate) signer: usize,
    pub(crate) key_identifier: Option<String>,
    pub(crate) this_update: Time,
    pub(crate) next_update: Time,
    /// Serial numbers.
    pub(crate) revoked: Vec<Vec<u8>>,
    pub(crate) kind: Kind,
    /// The URI of the distribution point.
    pub(crate) point: Option<&'static str>,
    pub(crate) wrong_signature: bool,
}

/// A list, and what it contains.
#[derive(Clone)]
pub(crate) struct MadeList {
    pub(crate) der: CertificateRevocationListDer<'static>,
    pub(crate) content: List,
}

impl List {
    fn new(issuer: &Made) -> Self {
        Self {
            issuer: issuer.content.subject.clone(),
            signer: issuer.key,
            key_identifier: Some(format!("key {}", issuer.key)),
            this_update: Time::utc("260101000000Z"),
            next_update: Time::utc("270101000000Z"),
            revoked: vec![vec![99, 1]],
            kind: Kind::All,
            point: None,
            wrong_signature: false,
        }
    }

    fn made(self, keys: &Keys) -> MadeList {
        MadeList { der: self.sign(keys.get(self.signer)), content: self }
    }

    fn sign(&self, signer: &KeyPair) -> CertificateRevocationListDer<'static> {
        let algorithm = algorithm(signer);
        let date = Time::utc("250101000000Z").encode();
        let entry = |serial: &Vec<u8>| sequence(&[&wrap(2, serial), &date]);
        let entries: Vec<u8> = self.revoked.iter().flat_map(entry).collect();
        let entries = if entries.is_empty() { entries } else { wrap(0x30, &entries) };
        let signed = sequence(&[
            &wrap(2, &[1]),
            &algorithm,
            &self.issuer.encode(),
            &self.this_update.encode(),
            &self.next_update.encode(),
            &entries,
            &wrap(0xa0, &wrap(0x30, &self.extensions())),
        ]);
        let mut signature = signer.sign(&signed).expect("a signature");
        if self.wrong_signature {
            signature = signer.sign(b"something else").expect("a signature");
        }
        signature.insert(0, 0);
        sequence(&[&signed, &algorithm, &wrap(3, &signature)]).into()
    }

    /// RFC 5280 5.2.1, 5.2.3, 5.2.5
    fn extensions(&self) -> Vec<u8> {
        let extension = |number, critical, value: &[u8]| {
            let critical: &[u8] = if critical { &[1, 1, 0xff] } else { &[] };
            sequence(&[&wrap(6, &[0x55, 0x1d, number]), critical, &wrap(4, value)])
        };
        let mut all = extension(20, false, &[2, 1, 7]);
        if let Some(identifier) = &self.key_identifier {
            all.extend(extension(35, false, &sequence(&[&wrap(0x80, identifier.as_bytes())])));
        }
        let point = self.point.map(point_name).unwrap_or_default();
        let kind = match self.kind {
            Kind::All => Vec::new(),
            Kind::Users => wrap(0x81, &[0xff]),
            Kind::Authorities => wrap(0x82, &[0xff]),
        };
        if self.point.is_some() || self.kind != Kind::All {
            all.extend(extension(28, true, &sequence(&[&point, &kind])));
        }
        all
    }
}

#[cfg(test)]
impl MadeList {
    /// A list of this issuer, changed.
    pub(crate) fn changed(issuer: &Made, keys: &Keys, change: impl Fn(&mut List)) -> Self {
        let mut list = List::new(issuer);
        change(&mut list);
        list.made(keys)
    }
}

/// The lists of an authority, with the labels of their faults. `issued` are serial numbers of
/// certificates that it may have issued.
pub(crate) fn of_authority(
    issuer: &Made,
    issued: &[Vec<u8>],
    keys: &Keys,
    random: &mut Random,
) -> (Vec<MadeList>, Vec<String>) {
    let mut labels = Vec::new();
    if random.percent(5) {
        labels.push("no list".to_owned());
        return (Vec::new(), labels);
    }
    let mut lists = vec![List::new(issuer)];
    if random.percent(10) {
        let mut older = List::new(issuer);
        older.this_update = Time::utc("251201000000Z");
        lists.push(older);
        labels.push("several lists".to_owned());
    }
    if random.percent(50) {
        lists.iter_mut().for_each(|list| list.key_identifier = None);
        labels.push("list: no key identifier".to_owned());
    }
    for list in &mut lists {
        if random.percent(15) {
            list.revoked.push(random.pick(issued).clone());
            labels.push("list: revokes".to_owned());
        }
        if random.percent(25) {
            let (label, change) = random.pick(FAULTS);
            change(list);
            labels.push(format!("list: {label}"));
        }
    }
    if random.percent(50) {
        lists.reverse();
    }
    (lists.into_iter().map(|list| list.made(keys)).collect(), labels)
}

/// The distribution points of certificates and of lists.
pub(crate) const POINTS: [&str; 2] = ["http://a.example/1.crl", "http://a.example/2.crl"];

type Fault = (&'static str, fn(&mut List));

const FAULTS: &[Fault] = &[
    ("expired", |it| it.next_update = Time::utc("260501000000Z")),
    ("not yet valid", |it| {
        it.this_update = Time::utc("260601000000Z");
    }),
    ("wrong signature", |it| it.wrong_signature = true),
    ("other key identifier", |it| it.key_identifier = Some("other".to_owned())),
    ("other signer", |it| it.signer = 22),
    ("for users", |it| it.kind = Kind::Users),
    ("for authorities", |it| it.kind = Kind::Authorities),
    ("at point 1", |it| it.point = Some(POINTS[0])),
    ("at point 2", |it| it.point = Some(POINTS[1])),
    ("for users at point 1", |it| {
        it.kind = Kind::Users;
        it.point = Some(POINTS[0]);
    }),
    ("no entries", |it| it.revoked.clear()),
    ("GeneralizedTime", |it| it.next_update = Time::generalized("20270101000000Z")),
    ("issuer in capitals", |it| it.issuer.text.make_ascii_uppercase()),
];
