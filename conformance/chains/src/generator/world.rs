//! A world: trust anchors, certificates that a peer sends, and leaves.

use pki_types::CertificateDer;
use rcgen::KeyPair;
use tercel_pki::Usage;

use super::certificate::{
    BMP_STRING, CRL_SIGN, Content, DIGITAL_SIGNATURE, GeneralName, KEY_CERT_SIGN, KeyForm, Name,
    Purpose, TELETEX_STRING, Time, UTF8_STRING, Value,
};
use super::faults::{self, Role, authority, dns_name, purposes};
use super::lists::{self, MadeList, POINTS};
use super::random::Random;

/// Keys for all worlds. The last is a leaf's.
pub(crate) struct Keys(Vec<KeyPair>);

impl Keys {
    pub(crate) fn generate() -> Self {
        let p256 = || KeyPair::generate().expect("a key");
        let p384 = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384).expect("a key");
        let mut keys: Vec<_> = std::iter::repeat_with(p256).take(24).collect();
        keys.insert(5, p384);
        Self(keys)
    }

    pub(crate) fn get(&self, index: usize) -> &KeyPair {
        &self.0[index]
    }
}

/// A certificate, what it contains, and the labels of its faults.
#[derive(Clone)]
pub(crate) struct Made {
    pub(crate) der: CertificateDer<'static>,
    pub(crate) content: Content,
    /// The index of its key, and of the key that signed it.
    pub(crate) key: usize,
    pub(crate) signer: usize,
    pub(crate) labels: Vec<String>,
}

impl Made {
    fn new(
        content: Content,
        subject: &Authority,
        issuer: &Authority,
        keys: &Keys,
        labels: Vec<String>,
    ) -> Self {
        let der = content.sign(&keys.0[subject.key], &keys.0[issuer.key]);
        Self { der, content, key: subject.key, signer: issuer.key, labels }
    }
}

/// The certificates of a path that are looked up in revocation lists.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LookedUp {
    /// None: there are no lists.
    None,
    Leaf,
    All,
}

pub(crate) struct World {
    pub(crate) roots: Vec<Made>,
    pub(crate) sent: Vec<Made>,
    pub(crate) leaves: Vec<Made>,
    pub(crate) lists: Vec<MadeList>,
    pub(crate) looked_up: LookedUp,
    pub(crate) name: Option<String>,
    pub(crate) usage: Usage,
    pub(crate) time: u64,
    labels: Vec<String>,
}

/// The time of verification, in seconds since 1970 and as digits: 28 May 2026.
const TIME: u64 = 1_780_000_000;
pub(crate) const NOW: &str = "20260528202640";

/// The leaves of one world.
const LEAVES: usize = 5;

/// An authority: its name and the index of its key.
#[derive(Clone)]
struct Authority {
    name: Name,
    key: usize,
}

/// What all certificates of a world have in common.
struct Making<'k> {
    keys: &'k Keys,
    /// Whether each certificate has the policy.
    has_policies: bool,
}

/// The name of an authority, sometimes not in ASCII.
fn name(random: &mut Random, text: &str) -> Name {
    match random.percent(8) {
        true => {
            let string = *random.pick(&[UTF8_STRING, BMP_STRING, TELETEX_STRING]);
            Name::of_type(string, &format!("{text} \u{fc}ber alle"))
        }
        false => Name::new(text),
    }
}

impl World {
    pub(crate) fn make(random: &mut Random, keys: &Keys) -> Self {
        let mut world = Self {
            roots: Vec::new(),
            sent: Vec::new(),
            leaves: Vec::new(),
            lists: Vec::new(),
            looked_up: LookedUp::None,
            name: Some("a.service.example".to_owned()),
            usage: Usage::Server,
            time: TIME,
            labels: Vec::new(),
        };
        let making = &Making { keys, has_policies: random.percent(10) };
        match random.below(10) {
            0 => world.usage = Usage::Client,
            1 => world.name = Some("127.0.0.1".to_owned()),
            _ => {}
        }
        if world.usage == Usage::Client {
            world.name = None;
            world.labels.push("client".to_owned());
        }
        let depth = *random.pick(&[0, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 6, 7, 9]);
        let mut unused = 0;
        let mut next = |name: Name| {
            unused += 1;
            Authority { name, key: unused - 1 }
        };
        let first = next(name(random, "Root"));
        world.roots.push(made(random, making, &first, &first, Role::Root));
        let second = next(name(random, "Second root"));
        let second_root = made(random, making, &second, &second, Role::Root);
        if random.percent(30) {
            world.roots.push(second_root.clone());
        }
        let mut issuer = first.clone();
        for level in 0..depth {
            let mut below = next(name(random, &format!("Authority {level}")));
            world.sent.push(made(random, making, &below, &issuer, Role::Issuer));
            // Another path to the same key.
            if random.percent(15) {
                world.sent.push(made(random, making, &below, &second, Role::Issuer));
                world.labels.push("cross-signed".to_owned());
            }
            // The same name with another key, which may or may not be the leaf's issuer.
            if random.percent(10) {
                let other = next(below.name.clone());
                for _ in 0..=random.below(3) {
                    world.sent.push(made(random, making, &other, &issuer, Role::Issuer));
                }
                world.labels.push("same name".to_owned());
                if random.percent(50) {
                    below = other;
                }
            }
            issuer = below;
        }
        world.labels.push(format!("depth {depth}"));
        world.send(random, making, &second_root);
        for _ in 0..LEAVES {
            let leaf = Authority { name: Name::new("Leaf"), key: keys.0.len() - 1 };
            world.leaves.push(made_leaf(random, making, &leaf, &issuer, &world));
        }
        if random.percent(25) {
            world.add_lists(random, keys);
        }
        if random.percent(3) {
            // A leaf among the trust anchors.
            world.roots.push(world.leaves[0].clone());
            world.labels.push("trusted leaf".to_owned());
        }
        world
    }

    /// Changes what is sent, and in which order.
    fn send(&mut self, random: &mut Random, making: &Making<'_>, second_root: &Made) {
        if random.percent(30) {
            random.shuffle(&mut self.sent);
        }
        if !self.sent.is_empty() && random.percent(6) {
            let lost = random.below(self.sent.len());
            self.sent.remove(lost);
            self.labels.push("one missing".to_owned());
        }
        if !self.sent.is_empty() && random.percent(4) {
            // An intermediate as a trust anchor.
            let index = random.below(self.sent.len());
            self.roots.push(self.sent[index].clone());
            self.labels.push("trusted intermediate".to_owned());
        }
        if random.percent(20) {
            self.sent.extend(self.roots.clone());
        }
        if random.percent(10) {
            self.sent.push(second_root.clone());
        }
        if !self.sent.is_empty() && random.percent(5) {
            self.sent.push(random.pick(&self.sent).clone());
        }
        if random.percent(5) {
            let issuer = Authority { name: Name::new("Nobody"), key: 20 };
            for number in 0..random.below(45) {
                let unrelated =
                    Authority { name: Name::new(&format!("Unrelated {number}")), key: 21 };
                let content = content(&unrelated, &issuer, Role::Issuer);
                self.sent.push(Made::new(content, &unrelated, &issuer, making.keys, Vec::new()));
            }
            self.labels.push("surplus".to_owned());
        }
    }

    /// Adds the lists of each authority that may be in a path. The faults of an authority's lists
    /// are labels of its certificates.
    fn add_lists(&mut self, random: &mut Random, keys: &Keys) {
        self.looked_up = *random.pick(&[LookedUp::Leaf, LookedUp::All]);
        self.labels.push(match self.looked_up {
            LookedUp::Leaf => "lists for the leaf".to_owned(),
            _ => "lists".to_owned(),
        });
        let certificates = self.roots.iter().chain(&self.sent).chain(&self.leaves);
        let all: Vec<Made> = certificates.cloned().collect();
        let mut known: Vec<(Name, usize)> = Vec::new();
        for issuer in &all {
            let identity = (issuer.content.subject.clone(), issuer.key);
            let issued = all.iter().filter(|one| one.content.issuer == identity.0);
            let issued: Vec<_> = issued.map(|one| one.content.serial.clone()).collect();
            if issued.is_empty() || known.contains(&identity) {
                continue;
            }
            let (lists, labels) = lists::of_authority(issuer, &issued, keys, random);
            self.lists.extend(lists);
            for own in self.roots.iter_mut().chain(&mut self.sent) {
                if (&own.content.subject, own.key) == (&identity.0, identity.1) {
                    own.labels.extend(labels.iter().cloned());
                }
            }
            known.push(identity);
        }
        if self.lists.is_empty() {
            self.looked_up = LookedUp::None;
        }
        if random.percent(30) {
            random.shuffle(&mut self.lists);
        }
    }

    /// The labels of a chain: of the world, of its anchors and issuers, and of the leaf.
    pub(crate) fn labels(&self, leaf: usize) -> String {
        let mut labels: Vec<&str> = Vec::new();
        let made = self.roots.iter().chain(&self.sent).flat_map(|one| &one.labels);
        for label in self.labels.iter().chain(made).chain(&self.leaves[leaf].labels) {
            if !labels.contains(&label.as_str()) {
                labels.push(label);
            }
        }
        labels.join(", ")
    }
}

/// An authority's certificate, sometimes with faults.
fn made(
    random: &mut Random,
    making: &Making<'_>,
    subject: &Authority,
    issuer: &Authority,
    role: Role,
) -> Made {
    let mut content = content(subject, issuer, role);
    if making.has_policies {
        content.set(false, Value::Policies);
    }
    let mut labels = Vec::new();
    let prefix = if role == Role::Root { "root" } else { "issuer" };
    while random.percent(11) {
        labels.push(format!("{prefix}: {}", faults::add(&mut content, role, random)));
    }
    Made::new(content, subject, issuer, making.keys, labels)
}

fn made_leaf(
    random: &mut Random,
    making: &Making<'_>,
    leaf: &Authority,
    issuer: &Authority,
    world: &World,
) -> Made {
    let mut content = content(leaf, issuer, Role::Leaf);
    content.serial = vec![2, u8::try_from(world.leaves.len()).expect("few leaves")];
    if making.has_policies {
        content.set(false, Value::Policies);
    }
    if random.percent(10) {
        content.set(false, Value::DistributionPoints(vec![*random.pick(&POINTS)]));
    }
    if world.name.as_deref() == Some("127.0.0.1") {
        faults::names(&mut content, vec![GeneralName::Address(&[127, 0, 0, 1])]);
    }
    let mut labels = Vec::new();
    while random.percent(40) {
        labels.push(format!("leaf: {}", faults::add(&mut content, Role::Leaf, random)));
    }
    Made::new(content, leaf, issuer, making.keys, labels)
}

/// A certificate without faults.
fn content(subject: &Authority, issuer: &Authority, role: Role) -> Content {
    let mut content = Content {
        version: 3,
        serial: vec![1, u8::try_from(subject.key).expect("few keys")],
        issuer: issuer.name.clone(),
        not_before: Time::utc("200101000000Z"),
        not_after: Time::utc("400101000000Z"),
        subject: subject.name.clone(),
        key_form: KeyForm::Named,
        extensions: Vec::new(),
        wrong_signature: false,
    };
    let identifier = |of: &Authority| format!("key {}", of.key);
    if role == Role::Leaf {
        content.set(true, Value::KeyUsage(DIGITAL_SIGNATURE));
        content.set(false, purposes(&[Purpose::Server, Purpose::Client]));
        faults::names(&mut content, vec![dns_name(b"a.service.example")]);
    } else {
        content.set(true, authority(true, None));
        content.set(true, Value::KeyUsage(KEY_CERT_SIGN | CRL_SIGN));
        content.set(false, Value::SubjectKey(identifier(subject)));
    }
    if role != Role::Root {
        content.set(false, Value::AuthorityKey(identifier(issuer)));
    }
    content
}

#[cfg(test)]
impl World {
    /// A root, an authority and a leaf below it, each changed according to its name.
    pub(crate) fn of_three(keys: &Keys, change: impl Fn(&str, &mut Content)) -> Self {
        let authority = |name: &str, key| Authority { name: Name::new(name), key };
        let (root, issuer) = (authority("Root", 0), authority("Authority", 1));
        let made = |subject: &Authority, issuer: &Authority, role| {
            let mut content = content(subject, issuer, role);
            let name = &subject.name.text;
            change(name, &mut content);
            Made::new(content, subject, issuer, keys, vec![format!("of {name}")])
        };
        Self {
            roots: vec![made(&root, &root, Role::Root)],
            sent: vec![made(&issuer, &root, Role::Issuer)],
            leaves: vec![made(&authority("Leaf", 2), &issuer, Role::Leaf)],
            lists: Vec::new(),
            looked_up: LookedUp::None,
            name: Some("a.service.example".to_owned()),
            usage: Usage::Server,
            time: TIME,
            labels: Vec::new(),
        }
    }
}
