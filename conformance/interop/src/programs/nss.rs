//! NSS's `tstclnt` and `selfserv`.
//!
//! Certificates are in databases, which OpenSSL's program helps to fill. `tstclnt` sends a file on
//! each connection and prints what it receives. `selfserv` serves files by HTTP; it has no option
//! for an address and listens on all of them. The harness connects by 127.0.0.1 only.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use super::{
    Abilities, CONNECTIONS, ClientAuth, Connect, ConnectionPlan, Limits, Program, Serve, Server,
    find,
};
use crate::cells::Role;
use crate::features::{Feature, Sessions};
use crate::parameters::{Key, Version};
use crate::run::request;
use tercel_harness::pki::Credential;

/// The programs of NSS.
#[derive(Debug)]
pub(crate) struct Nss {
    abilities: Abilities,
    folder: PathBuf,
    /// The contents of the existing databases, in order. A database is created at its first use.
    databases: Mutex<Vec<Contents>>,
}

/// The contents of a database.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Contents {
    roots: PathBuf,
    /// The usages for which the roots are trusted, as flags of `certutil`.
    trust: &'static str,
    credential: Option<PathBuf>,
}

impl Nss {
    /// Creates the databases in this folder.
    pub(crate) fn find(folder: &Path) -> Self {
        let programs = ["tstclnt", "selfserv", "certutil", "pk12util", "openssl"];
        let present = programs.iter().all(|program| find(program).is_some());
        let abilities = Abilities {
            fetches: true,
            serves_files: true,
            keys: vec![Key::Rsa2048, Key::P256, Key::P384, Key::P521],
            // `tstclnt` uses its list of suites on the first connection only.
            limits_suite_tls12: false,
            limits_suite_tls13: false,
            // Tickets need an option, and TLS 1.3 has no other kind of session.
            issues_sessions: vec![Version::Tls12],
            ..Abilities::usual(present)
        };
        Self { abilities, folder: folder.join("nss"), databases: Mutex::default() }
    }

    /// The database argument of the programs. The programs report an error if the database could
    /// not be created.
    fn database(
        &self,
        roots: &Path,
        trust: &'static str,
        credential: Option<&Credential>,
    ) -> String {
        let contents = Contents {
            roots: roots.to_owned(),
            trust,
            credential: credential.map(|credential| credential.certificate.clone()),
        };
        let mut databases =
            self.databases.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let at = databases.iter().position(|known| *known == contents);
        let number = at.unwrap_or(databases.len());
        let folder = self.folder.join(number.to_string());
        if at.is_none() {
            fill(&folder, &contents, credential);
            databases.push(contents);
        }
        format!("sql:{}", folder.display())
    }
}

fn fill(folder: &Path, contents: &Contents, credential: Option<&Credential>) {
    let database = format!("sql:{}", folder.display());
    _ = fs::create_dir_all(folder);
    run(Command::new("certutil").args(["-N", "--empty-password", "-d", &database]));
    // `certutil` reads one certificate per call.
    let roots = fs::read_to_string(&contents.roots).unwrap_or_default();
    for (number, root) in roots.split_inclusive("-----END CERTIFICATE-----").enumerate() {
        let file = folder.join(format!("root-{number}.pem"));
        if root.contains("BEGIN") && fs::write(&file, root).is_ok() {
            let mut add = Command::new("certutil");
            add.args(["-A", "-d", &database, "-n", &format!("root-{number}")]);
            run(add.args(["-t", contents.trust, "-i"]).arg(file));
        }
    }
    if let Some(credential) = credential {
        let file = folder.join("own.p12");
        let mut export = Command::new("openssl");
        export.args(["pkcs12", "-export", "-name", NICKNAME, "-passout", "pass:interop", "-in"]);
        export.arg(&credential.certificate).arg("-inkey").arg(&credential.key);
        run(export.arg("-out").arg(&file));
        let mut import = Command::new("pk12util");
        run(import.args(["-d", &database, "-K", "", "-W", "interop", "-i"]).arg(&file));
    }
}

fn run(command: &mut Command) {
    _ = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

const NICKNAME: &str = "own";

impl Program for Nss {
    fn name(&self) -> &'static str {
        "nss"
    }

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn serve(&self, order: &Serve<'_>) -> Server {
        let mut command = Command::new("selfserv");
        let database = self.database(&order.client_roots, "T,,", Some(&order.credential));
        command.args(["-v", "-d", &database, "-n", NICKNAME, "-p", &order.port.to_string()]);
        match order.client_auth {
            ClientAuth::None => {}
            ClientAuth::Optional => _ = command.arg("-r"),
            ClientAuth::Required => _ = command.args(["-r", "-r"]),
        }
        if order.extra.is_some_and(|extra| extra.feature != Feature::Resumption(Sessions::Id)) {
            command.arg("-u");
        }
        limit(&mut command, order.limits);
        command.into()
    }

    fn connect(&self, order: &Connect<'_>) -> Command {
        let mut command = Command::new("tstclnt");
        let database = self.database(&order.roots, "C,,", order.credential.as_ref());
        command.args(["-4", "-h", order.name, "-p", &order.port.to_string(), "-d", &database]);
        if order.credential.is_some() {
            command.args(["-n", NICKNAME]);
        }
        let file = order.scratch.join("request");
        _ = fs::write(&file, request(&Path::new("/").join(order.fetch)));
        // Print only the content that is received, and make all connections.
        command.args(["-S", "-L", &CONNECTIONS.to_string(), "-A"]).arg(file);
        if order.extra.is_some_and(|extra| extra.feature == Feature::Resumption(Sessions::Ticket)) {
            command.arg("-u");
        }
        limit(&mut command, order.limits);
        command
    }

    fn features(&self, role: Role) -> Vec<Feature> {
        let mut features = Feature::RESUMPTION.to_vec();
        if role == Role::Connect {
            features.retain(|feature| *feature != Feature::Resumption(Sessions::Stateful));
        }
        features
    }

    fn connection_plan(&self) -> ConnectionPlan {
        ConnectionPlan::All
    }

    /// selfserv prints counts: a connection was resumed if its count of hits is one more than
    /// before.
    fn resumptions(&self, _: bool, output: &str) -> Option<Vec<bool>> {
        let mut before = 0;
        let counts = output.lines().filter_map(|line| line.split_once(" cache hits;"));
        let counts = counts.filter_map(|(count, _)| count.split(' ').next_back()?.parse().ok());
        Some(counts.map(|count: u32| count > std::mem::replace(&mut before, count)).collect())
    }
}

fn limit(command: &mut Command, limits: Limits) {
    let version = |version| match version {
        Version::Tls12 => "tls1.2",
        Version::Tls13 => "tls1.3",
    };
    let (low, high) = match limits.version {
        Some(only) => (version(only), version(only)),
        None => (version(Version::Tls12), version(Version::Tls13)),
    };
    command.args(["-V", &format!("{low}:{high}")]);
    if let Some(group) = limits.group {
        let name = match group.name {
            "secp256r1" => "P256",
            "secp384r1" => "P384",
            "secp521r1" => "P521",
            other => other,
        };
        command.args(["-I", name]);
    }
}
