//! Cipher strings: the syntax of `openssl-ciphers(1)`, for the suites that Tercel has.
//!
//! As with OpenSSL, unknown names select nothing. Names of suites that OpenSSL has and Tercel
//! refuses do not, either. A list that selects nothing is an error.

use tercel::wire::CipherSuite;

use super::suite::{self, Authentication, Cipher, Encryption};

/// The result of a cipher string.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Selected {
    /// The TLS 1.2 suites, most preferred first.
    pub(crate) suites: Vec<CipherSuite>,
    /// The level of `@SECLEVEL=`, if it was given.
    pub(crate) security_level: Option<i32>,
}

/// Evaluates a cipher string. `None` if a command in it is malformed.
pub(crate) fn select(text: &str) -> Option<Selected> {
    let mut list = List::default();
    let mut rest = text;
    // Elsewhere in a string, DEFAULT is an unknown name.
    if let Some(after) = text.strip_prefix("DEFAULT") {
        list.add(&matching("ALL")?);
        rest = after;
    }
    for token in rest.split([':', ',', ';', ' ']).filter(|token| !token.is_empty()) {
        // A command may follow a name directly: `DEFAULT@SECLEVEL=1`.
        match token.find('@').filter(|at| *at > 0) {
            Some(at) => {
                list.apply(token.get(..at)?)?;
                list.apply(token.get(at..)?)?;
            }
            None => list.apply(token)?,
        }
    }
    let suites = list.active.iter().map(|cipher| cipher.code).collect();
    Some(Selected { suites, security_level: list.level })
}

/// Evaluates a list of TLS 1.3 suites. Unknown names are ignored; `None` if nothing is selected. An
/// empty list is allowed.
pub(crate) fn select_tls13(text: &str) -> Option<Vec<CipherSuite>> {
    let mut suites = Vec::new();
    for name in text.split(':').map(str::trim) {
        let mut all = suite::ALL.iter().filter(|cipher| cipher.is_tls13());
        let found = all.find(|cipher| is_name(cipher, name)).map(|cipher| cipher.code);
        suites.extend(found.filter(|code| !suites.contains(code)));
    }
    (!suites.is_empty() || text.is_empty()).then_some(suites)
}

#[derive(Default)]
struct List {
    active: Vec<&'static Cipher>,
    killed: Vec<&'static Cipher>,
    level: Option<i32>,
}

impl List {
    /// Applies one element. `None` for a malformed command.
    fn apply(&mut self, token: &str) -> Option<()> {
        if let Some(command) = token.strip_prefix('@') {
            return self.command(command);
        }
        let (operator, name) = match token.as_bytes().first() {
            Some(operator @ (b'!' | b'-' | b'+')) => (*operator, token.get(1..)?),
            _ => (0, token),
        };
        let Some(found) = matching(name) else { return Some(()) };
        match operator {
            b'!' => {
                self.active.retain(|cipher| !found.contains(cipher));
                self.killed.extend(found);
            }
            b'-' => self.active.retain(|cipher| !found.contains(cipher)),
            b'+' => {
                let (moved, kept) = self.active.drain(..).partition(|each| found.contains(each));
                self.active = kept;
                self.active.extend::<Vec<_>>(moved);
            }
            _ => self.add(&found),
        }
        Some(())
    }

    fn add(&mut self, found: &[&'static Cipher]) {
        for cipher in found {
            if !self.active.contains(cipher) && !self.killed.contains(cipher) {
                self.active.push(cipher);
            }
        }
    }

    fn command(&mut self, command: &str) -> Option<()> {
        if command == "STRENGTH" {
            self.active.sort_by_key(|cipher| core::cmp::Reverse(cipher.bits));
            return Some(());
        }
        let level = command.strip_prefix("SECLEVEL=")?.parse().ok()?;
        self.level = Some(level).filter(|level| (0..=5).contains(level));
        self.level.map(|_| ())
    }
}

/// The TLS 1.2 suites that a name or a combination such as `ECDHE+AESGCM` selects. `None` if it
/// has a name that is not about these suites.
fn matching(name: &str) -> Option<Vec<&'static Cipher>> {
    let mut found: Vec<_> = suite::ALL.iter().filter(|cipher| !cipher.is_tls13()).collect();
    for part in name.split('+') {
        let is_exact = found.iter().any(|cipher| is_name(cipher, part));
        if is_exact {
            found.retain(|cipher| is_name(cipher, part));
            continue;
        }
        let test = keyword(part)?;
        found.retain(|cipher| test(cipher));
    }
    Some(found)
}

fn is_name(cipher: &Cipher, name: &str) -> bool {
    [cipher.name, cipher.standard_name].iter().any(|each| each.to_bytes() == name.as_bytes())
}

/// The test of a keyword that selects suites by a property.
fn keyword(name: &str) -> Option<fn(&Cipher) -> bool> {
    Some(match name {
        "ALL" | "HIGH" | "TLSv1.2" | "ECDHE" | "kECDHE" | "EECDH" | "kEECDH" | "AEAD" | "ECDH" => {
            |_| true
        }
        "aRSA" => |cipher| cipher.authentication == Authentication::Rsa,
        "aECDSA" | "ECDSA" => |cipher| cipher.authentication == Authentication::Ecdsa,
        "AESGCM" | "AES" | "FIPS" => |cipher| cipher.encryption != Encryption::ChaCha20,
        "AES128" => |cipher| cipher.encryption == Encryption::Aes128Gcm,
        "AES256" => |cipher| cipher.encryption == Encryption::Aes256Gcm,
        "CHACHA20" => |cipher| cipher.encryption == Encryption::ChaCha20,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<&'static str> {
        let selected = select(text).unwrap();
        let name = |code| suite::find(code).unwrap().name.to_str().unwrap();
        selected.suites.into_iter().map(name).collect()
    }

    #[test]
    fn lists_select_suites_in_their_order() {
        assert_eq!(names("DEFAULT").len(), 6);
        assert_eq!(names("HIGH:!aNULL:!MD5").len(), 6);
        assert_eq!(
            names("ECDHE+AESGCM:!aNULL:!ECDSA"),
            ["ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-AES128-GCM-SHA256"]
        );
        assert_eq!(
            names("ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305"),
            ["ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"]
        );
        assert_eq!(names("ALL:+CHACHA20:-aECDSA").last(), Some(&"ECDHE-RSA-CHACHA20-POLY1305"));
        assert_eq!(names("AES128+aRSA"), ["ECDHE-RSA-AES128-GCM-SHA256"]);
    }

    #[test]
    fn excluded_suites_do_not_return() {
        assert_eq!(names("!CHACHA20:ALL").len(), 4);
        assert_eq!(names("-CHACHA20:ALL").len(), 6);
    }

    #[test]
    fn refused_and_unknown_suites_select_nothing() {
        assert_eq!(names("RC4:!MD5:AESGCM").len(), 4);
        for text in
            ["AES256-SHA:DHE-RSA-AES128-SHA", "BOGUS", "", "ALL:!ALL", "MEDIUM", "!MD5:DEFAULT"]
        {
            assert_eq!(names(text), [""; 0], "{text}");
        }
        assert_eq!(select("@SECLEVEL=9:ALL"), None);
    }

    #[test]
    fn chacha20_is_not_in_fips() {
        assert_eq!(names("FIPS").len(), 4);
    }

    #[test]
    fn the_security_level_is_read() {
        for text in ["DEFAULT@SECLEVEL=1", "DEFAULT:@SECLEVEL=1", "HIGH:!aNULL@SECLEVEL=1"] {
            assert_eq!(select(text).unwrap().security_level, Some(1), "{text}");
        }
    }

    #[test]
    fn tls13_suites_have_their_own_list() {
        let suites = select_tls13("TLS_AES_128_GCM_SHA256:TLS_AES_128_CCM_SHA256").unwrap();
        assert_eq!(select_tls13("TLS_AES_128_CCM_SHA256"), None);
        assert_eq!(suites, [CipherSuite::TLS_AES_128_GCM_SHA256]);
        assert_eq!(select_tls13(""), Some(Vec::new()));
        let suites = select_tls13("nonsense:TLS_AES_128_GCM_SHA256").unwrap();
        assert_eq!(suites, [CipherSuite::TLS_AES_128_GCM_SHA256]);
        assert_eq!(select_tls13("ECDHE-RSA-AES128-GCM-SHA256"), None);
    }
}
