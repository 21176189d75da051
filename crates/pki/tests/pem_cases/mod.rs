//! PEM files of every odd form, and what each reader of PEM in these crates must do with them: read
//! all, or refuse the file with the true reason. Tests of several crates include this module.

/// A file, and the result of reading it.
pub(crate) struct Case {
    pub(crate) what: &'static str,
    pub(crate) file: Vec<u8>,
    pub(crate) expected: Expected,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// As the file with both sections in the usual form.
    Read,
    /// Refused with an error that contains this text.
    Refused(&'static str),
}

const MALFORMED: Expected =
    Expected::Refused("looks like the begin or end of a section, but is not exactly");
const NO_END: Expected = Expected::Refused("has no end line of its label");
const UNSUPPORTED: Expected = Expected::Refused("in a section that is not CERTIFICATE");

/// Files of two sections, in which a reader by lines overlooks the second one.
pub(crate) fn cases(first: &str, second: &str) -> Vec<Case> {
    use Expected::{Read, Refused};
    let begin = second.lines().next().unwrap();
    let end = second.lines().last().unwrap();
    let with = |begins: &str, ends: &str| {
        format!("{first}{}", second.replace(begin, begins).replace(end, ends))
    };
    let label = begin.trim_matches('-').strip_prefix("BEGIN ").unwrap();
    let labelled =
        |label: &str| with(&format!("-----BEGIN {label}-----"), &format!("-----END {label}-----"));
    let both = format!("{first}{second}");
    let in_each_line = |what: &str| both.replace('\n', what);
    let utf16 = |bytes: fn(u16) -> [u8; 2]| {
        "\u{feff}".encode_utf16().chain(both.encode_utf16()).flat_map(bytes).collect::<Vec<_>>()
    };
    let no_section = "some text about certificates\n-- \nthe end -- of it\n";
    let mut cases: Vec<(_, String, _)> = vec![
        ("as usual", both.clone(), Read),
        ("byte order mark at the start", format!("\u{feff}{both}"), Read),
        ("byte order mark in the middle", format!("{first}\u{feff}{second}"), Read),
        ("no line break between sections", format!("{}{second}", first.trim_end()), Read),
        ("no line break at the end", both.trim_end().to_owned(), Read),
        ("indented", format!("{first}  {}", second.replace('\n', "\n  ")), Read),
        ("tabs at line ends", in_each_line("\t\n"), Read),
        ("spaces at line ends", in_each_line("  \n"), Read),
        ("line ends of Windows", in_each_line("\r\n"), Read),
        ("line ends of old Macs", in_each_line("\r"), Read),
        ("empty lines", in_each_line("\n\n"), Read),
        ("comment", format!("{first}# {begin}\n{second}"), Read),
        ("description", format!("{first}old header {begin} of this\n- begin -\n{second}"), Read),
        ("JSON", format!("{first}{{\"pem\": \"{}\"}}\n", second.replace('\n', "\\n")), MALFORMED),
        ("strings", format!("{first}\"{}\"\n", second.replace('\n', "\\n\" +\n\"")), MALFORMED),
        ("a quoted line", format!("{first}pem: '{}'\n", second.replace('\n', "")), MALFORMED),
        ("small letters", with(&begin.to_lowercase(), &end.to_lowercase()), MALFORMED),
        ("label in small letters", labelled(&label.to_lowercase()), MALFORMED),
        ("four hyphens", with(&begin[1..], &end[1..]), MALFORMED),
        ("four hyphens at the end", with(&begin[..begin.len() - 1], end), MALFORMED),
        ("six hyphens", with(&format!("-{begin}-"), end), MALFORMED),
        ("dashes", with(&begin.replace("-----", "\u{2014}\u{2014}"), end), MALFORMED),
        ("four hyphens in the end line", with(begin, &end[1..]), MALFORMED),
        ("text before the begin line", with(&format!("certificate: {begin}"), end), MALFORMED),
        ("one line", format!("{first}{}", second.replace('\n', "")), MALFORMED),
        ("escaped line breaks", format!("{first}{}", second.replace('\n', "\\n")), MALFORMED),
        ("begin line missing", with("", end), Refused("an end line without a begin line")),
        ("end line missing", with(begin, ""), NO_END),
        ("end line of another label", with(begin, "-----END OTHER-----"), NO_END),
        ("two begin lines", with(&format!("{begin}\n{begin}"), end), NO_END),
        ("not base64", with(&format!("{begin}\n?"), end), Refused("is not base64")),
        ("no section", no_section.to_owned(), Refused("")),
    ];
    if label == "CERTIFICATE" {
        cases.extend([
            ("old label", labelled("X509 CERTIFICATE"), Read),
            ("trust settings", labelled("TRUSTED CERTIFICATE"), UNSUPPORTED),
            ("PKCS#7", labelled("PKCS7"), UNSUPPORTED),
            ("unknown label", labelled("CERT"), UNSUPPORTED),
        ]);
    }
    let case = |(what, file, expected): (_, String, _)| Case { what, file: file.into(), expected };
    let encoded =
        [("UTF-16, little endian", utf16(u16::to_le_bytes)), ("UTF-16", utf16(u16::to_be_bytes))];
    let encoded = encoded.map(|(what, file)| Case { what, file, expected: Refused("UTF-16") });
    cases.into_iter().map(case).chain(encoded).collect()
}

/// Checks that a reader does with each file what is expected.
pub(crate) fn check<T: PartialEq + std::fmt::Debug>(
    door: &str,
    first: &str,
    second: &str,
    read: impl Fn(&[u8]) -> Result<T, String>,
) {
    let usual = read(format!("{first}{second}").as_bytes()).unwrap();
    for Case { what, file, expected } in cases(first, second) {
        match (read(&file), expected) {
            (Ok(found), Expected::Read) => assert_eq!(found, usual, "{door}: {what}"),
            (Err(text), Expected::Refused(why)) if text.contains(why) => {}
            (found, _) => panic!("{door}: {what}: {found:?} instead of {expected:?}"),
        }
    }
}
