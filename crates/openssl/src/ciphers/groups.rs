//! Groups: OpenSSL's names and numbers, and the lists of both.

use core::ffi::{CStr, c_int};

use tercel::wire::NamedGroup;

/// A group that Tercel has: its names, and libcrypto's number (0 if it has none).
struct Row(NamedGroup, &'static [&'static str], c_int);

static TABLE: [Row; 7] = [
    Row(NamedGroup::X25519MLKEM768, &["X25519MLKEM768"], 0),
    Row(NamedGroup::X25519, &["X25519"], 1034),
    Row(NamedGroup::SECP256R1, &["P-256", "prime256v1", "secp256r1"], 415),
    Row(NamedGroup::SECP384R1, &["P-384", "secp384r1"], 715),
    Row(NamedGroup::SECP521R1, &["P-521", "secp521r1"], 716),
    Row(NamedGroup::SECP256R1MLKEM768, &["SecP256r1MLKEM768"], 0),
    Row(NamedGroup::SECP384R1MLKEM1024, &["SecP384r1MLKEM1024"], 0),
];

/// Names of groups that OpenSSL has and Tercel refuses. In a list they select nothing.
const REFUSED: &[&str] = &[
    "X448",
    "ffdhe2048",
    "ffdhe3072",
    "ffdhe4096",
    "ffdhe6144",
    "ffdhe8192",
    "secp224r1",
    "P-224",
    "secp256k1",
    "brainpoolP256r1",
    "brainpoolP384r1",
    "brainpoolP512r1",
    "secp192r1",
    "sect571r1",
    "prime192v1",
    "sect283k1",
    "sect283r1",
    "sect409k1",
    "sect409r1",
    "sect571k1",
];

/// The groups of a list such as `X25519:P-256`. `None` if a name is unknown, or no group is left.
pub(crate) fn from_names(text: &str) -> Option<Vec<NamedGroup>> {
    let mut groups = Vec::new();
    for name in text.split(':') {
        // A name with a leading `?` may be unknown.
        let (optional, name) = match name.strip_prefix('?') {
            Some(name) => (true, name),
            None => (false, name),
        };
        let row = TABLE.iter().find(|row| row.1.iter().any(|each| each.eq_ignore_ascii_case(name)));
        match row {
            Some(row) if groups.contains(&row.0) => {}
            Some(row) => groups.push(row.0),
            None if optional || REFUSED.iter().any(|each| each.eq_ignore_ascii_case(name)) => {}
            None => return None,
        }
    }
    (!groups.is_empty()).then_some(groups)
}

/// The groups with libcrypto's numbers. Numbers that Tercel does not have select nothing.
pub(crate) fn from_nids(nids: &[c_int]) -> Option<Vec<NamedGroup>> {
    let groups: Vec<_> = nids
        .iter()
        .filter_map(|nid| TABLE.iter().find(|row| row.2 == *nid && *nid != 0))
        .map(|row| row.0)
        .collect();
    (!groups.is_empty()).then_some(groups)
}

/// The groups that are used if the program selects none.
pub(crate) fn default() -> Vec<NamedGroup> {
    TABLE.iter().map(|row| row.0).collect()
}

/// libcrypto's number of a group for security callbacks, 0 if it has none, and its strength in
/// bits.
pub(crate) fn strength(group: NamedGroup) -> (c_int, c_int) {
    let bits = match group {
        NamedGroup::SECP521R1 | NamedGroup::SECP384R1MLKEM1024 => 256,
        NamedGroup::SECP384R1 | NamedGroup::X25519MLKEM768 | NamedGroup::SECP256R1MLKEM768 => 192,
        _ => 128,
    };
    (TABLE.iter().find(|row| row.0 == group).map_or(0, |row| row.2), bits)
}

/// The number of a group: libcrypto's, or 0x01000000 and the code point if it has none.
pub(crate) fn nid(group: NamedGroup) -> c_int {
    let row = TABLE.iter().find(|row| row.0 == group && row.2 != 0);
    row.map_or(0x0100_0000 | c_int::from(group.0), |row| row.2)
}

/// The name of the group with this number, as [`nid`] returns it, in the form that OpenSSL shows.
pub(crate) fn name(number: c_int) -> Option<&'static CStr> {
    NAMES.iter().find(|(group, _)| nid(*group) == number).map(|(_, name)| *name)
}

/// The names that OpenSSL shows for groups, also for some that Tercel does not have.
static NAMES: &[(NamedGroup, &CStr)] = &[
    (NamedGroup::X25519MLKEM768, c"X25519MLKEM768"),
    (NamedGroup::X25519, c"x25519"),
    (NamedGroup::X448, c"x448"),
    (NamedGroup::SECP256R1, c"secp256r1"),
    (NamedGroup::SECP384R1, c"secp384r1"),
    (NamedGroup::SECP521R1, c"secp521r1"),
    (NamedGroup::FFDHE2048, c"ffdhe2048"),
    (NamedGroup::FFDHE3072, c"ffdhe3072"),
    (NamedGroup::FFDHE4096, c"ffdhe4096"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read() {
        let groups = from_names("x25519:prime256v1:X448:P-256").unwrap();
        assert_eq!(groups, [NamedGroup::X25519, NamedGroup::SECP256R1]);
        assert_eq!(from_names("P-256:nonsense"), None);
        assert_eq!(from_names("P-256:?nonsense"), Some(vec![NamedGroup::SECP256R1]));
        assert_eq!(from_names("X448"), None);
        assert_eq!(name(nid(NamedGroup::X25519)), Some(c"x25519"));
        assert_eq!(name(99), None);
        assert_eq!(from_nids(&[415, 99]), Some(vec![NamedGroup::SECP256R1]));
    }
}
