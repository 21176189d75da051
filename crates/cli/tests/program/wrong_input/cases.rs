//! The wrong inputs, and the lines that the program prints.

use super::Case;

pub(super) const COMMAND_LINES: &[Case] = &[
    (
        "serve --client-ca x",
        2,
        "error: --client-ca needs --client-auth optional, required or later",
    ),
    ("nonsense", 2, "error: unrecognized subcommand 'nonsense'; see `tercel --help`"),
    (
        "conect localhost:1",
        2,
        "error: unrecognized subcommand 'conect'; a similar subcommand exists: 'connect'",
    ),
    ("sevre", 2, "error: unrecognized subcommand 'sevre'; a similar subcommand exists: 'serve'"),
    (
        "connect localhost:1 --servername x",
        2,
        "error: unexpected argument '--servername' found; a similar argument exists: \
         '--server-name'",
    ),
    (
        "serve --certt x",
        2,
        "error: unexpected argument '--certt' found; a similar argument exists: '--cert'",
    ),
    (
        "load --full --conections 4 localhost:1",
        2,
        "error: unexpected argument '--conections' found; a similar argument exists: \
         '--connections'",
    ),
    (
        "proxy --lisen :1",
        2,
        "error: unexpected argument '--lisen' found; a similar argument exists: '--listen'",
    ),
    (
        "connect",
        2,
        "error: the following required arguments were not provided: <*; see `tercel connect \
         --help`",
    ),
    (
        "serve --listen 8443",
        2,
        "error: invalid value '8443' for '--listen <ADDRESS:PORT>': must be ADDRESS:PORT or \
         :PORT, for example 127.0.0.1:8443 or :8443; see `tercel serve --help`",
    ),
    ("serve --cert x.pem", 2, "error: the following required arguments were not provided: --key*"),
    (
        "serve --suites RC4",
        2,
        "error: invalid value 'RC4' for '--suites <NAMES>': unknown cipher suite `RC4`; \
         available: TLS_*",
    ),
    (
        "serve --groups x25518",
        2,
        "error: invalid value 'x25518' for '--groups <NAMES>': unknown group `x25518`; \
         available: *x25519*",
    ),
    (
        "serve --client-auth always",
        2,
        "error: invalid value 'always' for '--client-auth <MODE>' [possible values: none, \
         optional, required, later]",
    ),
    (
        "serve --alpn h3",
        2,
        "error: --alpn: `h3` is not supported: only h2 and http/1.1 can be*; --http3 serves HTTP/3",
    ),
    (
        "serve --cert a --key b --client-auth required",
        2,
        "error: --client-auth with --cert needs --client-ca",
    ),
    (
        "connect localhost:1 --timeout 0",
        2,
        "error: invalid value '0' for '--timeout <SECONDS>': must be a whole number of seconds \
         from 1 to 86400; see `tercel connect --help`",
    ),
    (
        "connect localhost:1 --ca x --insecure",
        2,
        "error: the argument '--ca <FILE>' cannot be used with '--insecure'; see `tercel connect \
         --help`",
    ),
    (
        "connect localhost:1 --psk name:xyz",
        2,
        "error: invalid value 'name:xyz' for '--psk <NAME:HEX[:HASH]>': key is not hexadecimal; \
         see `tercel connect --help`",
    ),
    (
        "load localhost:1",
        2,
        "error: the following required arguments were not provided: \
         <--full|--resumed|--bulk|--requests|--idle <N>>; see `tercel load --help`",
    ),
    ("load --full http://localhost/", 2, "error: invalid value 'http://localhost/' for*https*"),
    (
        "proxy --listen :1 --to a:1",
        2,
        "error: the following required arguments were not provided: --cert-dir <DIR>; see \
         `tercel proxy --help`",
    ),
];

#[cfg(feature = "http3")]
pub(super) const HTTP3: &[Case] = &[
    (
        "serve --http3 --echo",
        2,
        "error: the argument '--http3' cannot be used with '--echo'; see `tercel serve --help`",
    ),
    ("serve --http3 --tls1.2", 2, "error: --http3 needs TLS 1.3: add --tls1.3, or omit --tls1.2"),
    (
        "serve --http3 --client-auth later",
        2,
        "error: --http3: a client cannot be asked for a certificate after a handshake over QUIC: \
         use --client-auth optional or required",
    ),
    (
        "serve --http3 --listen {taken-udp}",
        1,
        "tercel: UDP: cannot listen on {taken-udp}: the port is in use by another program; *",
    ),
    (
        "connect localhost:1 --http3 --alpn h2",
        2,
        "error: the argument '--http3' cannot be used with '--alpn <NAMES>'; see `tercel connect \
         --help`",
    ),
    (
        "connect imaps://localhost --http3",
        2,
        "error: --get, --head and --http3 need an https URL, not one of imaps",
    ),
    (
        "connect localhost:1 --http3 --early-request",
        2,
        "error: the following required arguments were not provided: --session-file <FILE>; see \
         `tercel connect --help`",
    ),
    // Linux reports a closed port, other systems do not.
    ("connect {closed} --http3 --insecure --quiet --timeout 1", 1, "tercel: *no HTTP/3, or *"),
    ("connect {silent-udp} --http3 --insecure --quiet --timeout 1", 1, "tercel: *block UDP; *"),
    (
        "load --full --http3 --insecure --timeout 1 {silent-udp}",
        1,
        "tercel: cannot connect to {silent-udp}: handshake timed out: no answer over QUIC; *",
    ),
];

pub(super) const FILES: &[Case] = &[
    (
        "serve --listen 127.0.0.1:0 --cert {one.key} --key {one.pem}",
        1,
        "tercel: {one.key}: contains a private key, not a certificate; are --cert and --key \
         swapped?",
    ),
    (
        "serve --listen 127.0.0.1:0 --cert {one.pem} --key {one.pem}",
        1,
        "tercel: {one.pem}: contains a certificate, not a private key; are --cert and --key \
         swapped?",
    ),
    (
        "serve --listen 127.0.0.1:0 --cert {one.pem} --key {two.key}",
        1,
        "tercel: {one.pem} with {two.key}: the private key does not match the certificate or \
         public key; the key must be that of the first certificate in the file",
    ),
    (
        "serve --listen 127.0.0.1:0 --cert {one.pem} --key {encrypted.key}",
        1,
        "tercel: {encrypted.key}: contains an encrypted private key; decrypt it: openssl pkey \
         -in {encrypted.key} -out NEW",
    ),
    (
        "serve --listen 127.0.0.1:0 --cert {empty.pem} --key {one.key}",
        1,
        "tercel: {empty.pem}: is empty; it must contain a certificate in PEM",
    ),
    (
        "serve --listen 127.0.0.1:0 --cert {none.pem} --key {one.key}",
        1,
        "tercel: {none.pem}: there is no such file",
    ),
    (
        "serve --listen 127.0.0.1:0 --cert {folder} --key {one.key}",
        1,
        "tercel: {folder}: is a directory, not a file",
    ),
    (
        "serve --listen 127.0.0.1:0 --cert {one.der} --key {one.key}",
        1,
        "tercel: {one.der}: contains binary DER, not PEM; convert it: openssl x509 -inform DER \
         -in {one.der} -out NEW",
    ),
    (
        "serve --listen 127.0.0.1:0 --cert {one.pem} --key {key.der}",
        1,
        "tercel: {key.der}: contains binary DER, not PEM; convert it: openssl pkey -inform DER \
         -in {key.der} -out NEW",
    ),
    (
        "serve --listen 127.0.0.1:0 --cert {client.pem} --key {client.key}",
        1,
        "tercel: {client.pem}: the extended key usage of the leaf certificate does not allow \
         servers",
    ),
    (
        "serve --listen 127.0.0.1:0 --cert {one.p12} --key {one.key}",
        1,
        "tercel: {one.p12}: contains a PKCS#12 archive, not PEM; convert it: openssl pkcs12 -in \
         {one.p12} -noenc -out NEW",
    ),
    (
        "serve --listen 127.0.0.1:0 --cert {one.pem} --key {ssh.key}",
        1,
        "tercel: {ssh.key}: contains an OpenSSH private key; convert a copy of it: ssh-keygen -p \
         -m PKCS8 -f COPY",
    ),
    (
        "serve --listen 127.0.0.1:0 --cert {request.pem} --key {one.key}",
        1,
        "tercel: {request.pem}: contains a certificate request, not a certificate in PEM",
    ),
    (
        "serve --listen 127.0.0.1:0 --cert {cut.pem} --key {one.key}",
        1,
        "tercel: {cut.pem}:1: a section of the PEM data has no end line of its label; copy the \
         file again, it may be incomplete",
    ),
    (
        "serve --listen 127.0.0.1:0 --cert {text.pem} --key {one.key}",
        1,
        "tercel: {text.pem}: contains text without a PEM section, not a certificate in PEM",
    ),
    (
        "serve --listen 127.0.0.1:0 --client-auth required --client-ca {one.key}",
        1,
        "tercel: {one.key}: contains a private key, not a certificate",
    ),
    (
        "serve --listen 127.0.0.1:0 --client-auth required --client-keys {one.pem}",
        1,
        "tercel: {one.pem}: contains a certificate, not a public key",
    ),
    (
        "serve --listen 127.0.0.1:0 --cert {one.pem} --key {one.key} --ocsp {one.pem}",
        1,
        "tercel: {one.pem}: contains a certificate, not an OCSP response in DER",
    ),
    ("serve --listen 127.0.0.1:0 --root {none.pem}", 1, "tercel: {none.pem}: there is no such*"),
    ("serve --listen {taken}", 1, "tercel: cannot listen on {taken}: the port is in use by*"),
    (
        "serve --listen 192.0.2.1:0",
        1,
        "tercel: cannot listen on 192.0.2.1:0: this machine does not have that address",
    ),
    ("connect {taken} --ca {none.pem}", 1, "tercel: {none.pem}: there is no such file"),
    ("connect {taken} --ca {empty.pem}", 1, "tercel: {empty.pem}: is empty; it must contain*"),
    ("connect {taken} --insecure --key-log {folder}", 1, "tercel: {folder}: is a directory*"),
    ("connect {taken} --insecure --session-file {text.pem}", 1, "tercel: {text.pem}: *session*"),
];

pub(super) const SERVERS: &[Case] = &[
    (
        "connect {http} --insecure --quiet",
        1,
        "tercel: the server does not speak TLS on this port: it answered with plain HTTP, \
         \"HTTP/1.1 400 Bad Request\"...; use the port of HTTPS, usually 443 or 8443",
    ),
    (
        "connect {smtp} --insecure --quiet",
        1,
        "tercel: the server does not speak TLS on this port: it answered with SMTP or FTP, \"220 \
         mail.example ESMTP\"...; try --starttls smtp or --starttls ftp",
    ),
    (
        "connect {ftp} --insecure --quiet",
        1,
        "tercel: *it answered with FTP, \"220 FTP server\"...; try --starttls ftp",
    ),
    ("connect {imap} --insecure --quiet", 1, "tercel: *with IMAP, *; try --starttls imap"),
    ("connect {pop3} --insecure --quiet", 1, "tercel: *with POP3, *; try --starttls pop3"),
    (
        "connect {ssh} --insecure --quiet",
        1,
        "tercel: *it answered with SSH, \"SSH-2.0-x\"...; SSH has no TLS: use another port",
    ),
    (
        "connect {escapes} --insecure --quiet",
        1,
        "tercel: *it answered \"\\x1b[31mred\\xff\"; use another port, or --starttls if TLS \
         begins after a command",
    ),
    (
        "connect {closing} --insecure --quiet",
        1,
        "tercel: connection closed by peer during the handshake, before it sent anything; the \
         port may not speak TLS, or only after a command: see --starttls",
    ),
    (
        "connect {silent} --insecure --quiet --timeout 1",
        1,
        "tercel: handshake timed out: the server sent nothing; the port may not speak TLS*",
    ),
    (
        "connect {full} --insecure --quiet --timeout 1",
        1,
        "tercel: cannot connect to {full}: timed out after 1 s*",
    ),
    (
        "connect {closed} --insecure --quiet",
        1,
        "tercel: cannot connect to {closed}: connection refused; nothing listens on that port",
    ),
    (
        "connect no-such-host.invalid:1 --insecure --quiet",
        1,
        "tercel: cannot resolve no-such-host.invalid: *",
    ),
    (
        "load --full --seconds 1 --warm-up 0 --insecure {closed}",
        1,
        "tercel: cannot connect to {closed}: connection refused; nothing listens on that port",
    ),
];

/// Alerts that a server sends: the code, and the line about it.
pub(super) const ALERTS: &[(u8, &str)] = &[
    (40, "handshake_failure; usually no cipher suite or group in common, *--suites*--cert*"),
    (42, "bad_certificate; the server refuses the client certificate, or requires one: check *"),
    (45, "certificate_expired; renew the client certificate of --cert"),
    (48, "unknown_ca; the server does not trust the issuer of the client certificate: --cert *"),
    (49, "access_denied; the client certificate is valid, but the server does not admit its*"),
    (51, "decrypt_error; a key does not match: check that --psk is the same on both sides, *"),
    (70, "protocol_version; the server has none of the offered versions: *TLS 1.1 and older *"),
    (71, "insufficient_security; the server requires stronger parameters: try without --suites*"),
    (80, "internal_error; the fault is the server's: see its log"),
    (112, "unrecognized_name; the server has no certificate for this server name: *--name"),
    (115, "unknown_psk_identity; give --psk an identity that the server has"),
    (116, "certificate_required; the server requires a client certificate: *--cert and --key"),
    (120, "no_application_protocol; the server has none of the offered protocols: *--alpn"),
];

pub(super) const REFUSED_CERTIFICATES: &[Case] = &[
    (
        "connect {server} --ca {one-ca.pem}",
        1,
        "tercel: certificate refused: *issuer is unknown*; trust a private authority with --ca \
         FILE; --show-certs prints the chain",
    ),
    (
        "connect {server} --ca {its-ca} --name other.example",
        1,
        "tercel: certificate refused: *other.example*; --name NAME verifies another name; \
         --show-certs prints the chain",
    ),
];

pub(super) const PROXY: &[Case] = &[
    (
        "proxy --config {listne.toml}",
        1,
        "tercel: {listne.toml}: listner: unknown key in the top level; did you mean `listener`? \
         *(line 1)",
    ),
    (
        "proxy --config {adress.toml}",
        1,
        "tercel: {adress.toml}: listener[0].adress: unknown key in [[listener]]; did you mean \
         `address`? known keys: *(line 2)",
    ),
    (
        "proxy --config {type.toml}",
        1,
        "tercel: {type.toml}: workers: must be a whole number from 1 to 1024, not a string (line \
         1)",
    ),
    ("proxy --config {syntax.toml}", 1, "tercel: {syntax.toml}: line 2: *"),
    ("proxy --config {none.pem}", 1, "tercel: {none.pem}: No such file or directory"),
    ("proxy --config {folder}", 1, "tercel: {folder}: Is a directory"),
    (
        "proxy --listen 443 --to 127.0.0.1:1 --cert-dir {folder}",
        1,
        "tercel: command line: --listen: \"443\" must be ADDRESS:PORT, for example *",
    ),
    (
        "proxy --listen {taken} --to 127.0.0.1:1 --cert {one.pem} --key {one.key}",
        1,
        "tercel: command line: --listen: {taken}: the port is in use by another program; choose \
         another port",
    ),
    (
        "proxy --listen 127.0.0.1:0 --to 8080 --cert {one.pem} --key {one.key}",
        1,
        "tercel: command line: --to: \"8080\" must be ADDRESS:PORT, NAME:PORT or unix:PATH",
    ),
    (
        "proxy --listen 127.0.0.1:0 --to no-such-host.invalid:1 --cert {one.pem} --key {one.key}",
        1,
        "tercel: command line: --to: no-such-host.invalid:1: *",
    ),
    (
        "proxy --listen 127.0.0.1:0 --to 127.0.0.1:1 --cert {one.key} --key {one.pem}",
        1,
        "tercel: command line: --cert: \"{one.key}\": contains a private key, not a certificate \
         in PEM",
    ),
    (
        "proxy --listen 127.0.0.1:0 --to 127.0.0.1:1 --cert {one.pem} --key {two.key}",
        1,
        "tercel: command line: --cert: \"{one.pem}\": the private key does not match*{two.key}*",
    ),
    (
        "proxy --listen 127.0.0.1:0 --to 127.0.0.1:1 --cert {empty.pem} --key {one.key}",
        1,
        "tercel: command line: --cert: \"{empty.pem}\": is empty; it must contain a certificate \
         in PEM",
    ),
    (
        "proxy --listen 127.0.0.1:0 --to 127.0.0.1:1 --cert-dir {none.pem}",
        1,
        "tercel: command line: --cert-dir: \"{none.pem}\": No such file or directory",
    ),
];
