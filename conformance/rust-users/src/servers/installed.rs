//! Installed server programs, with their data in the folder of the run.

use std::fs::{self, File, Permissions};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::certificates::Certificates;
use crate::programs::{PASSWORD, USER};

/// A running server; or the name of a program that is absent.
type Started = Result<Process, &'static str>;

type Start = fn(&Path, &Certificates) -> Result<Started>;

pub(crate) const ALL: [(&str, Start); 4] =
    [("postgresql", postgresql), ("redis", redis), ("mariadb", mariadb), ("mosquitto", mosquitto)];

/// A server, stopped on drop.
pub(crate) struct Process {
    pub(crate) port: u16,
    child: Child,
}

impl Drop for Process {
    fn drop(&mut self) {
        // SIGTERM: PostgreSQL and MariaDB would leave children or files behind after SIGKILL.
        let pid = self.child.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &pid]).status();
        for _ in 0..100 {
            if let Ok(Some(_)) = self.child.try_wait() {
                return;
            }
            thread::sleep(Duration::from_millis(100));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn postgresql(folder: &Path, certificates: &Certificates) -> Result<Started> {
    let Some(programs) = newest_postgresql() else { return Ok(Err("postgresql")) };
    let folder = server_folder(folder, "postgresql", certificates)?;
    let data = folder.join("data");
    fs::write(folder.join("password"), PASSWORD)?;
    // PostgreSQL refuses to run as root.
    let root = is_root()?;
    if root {
        let parent = folder.parent().context("the folder has a parent")?;
        fs::set_permissions(parent, Permissions::from_mode(0o755))?;
        run(Command::new("chown").args(["-R", "postgres"]).arg(&folder))?;
    }
    let command = |program: &str| {
        let program = programs.join(program);
        let mut command = match root {
            true => Command::new("setpriv"),
            false => Command::new(&program),
        };
        if root {
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(&program);
        }
        command.current_dir(&folder).arg("-D").arg(&data);
        command
    };
    run(command("initdb")
        .args(["-U", USER, "-A", "scram-sha-256", "--no-sync"])
        .arg("--pwfile=password"))?;
    let (chain, key) = (folder.join("chain.pem"), folder.join("key.pem"));
    let port = unused_port()?;
    let settings = [
        format!("port={port}"),
        "listen_addresses=localhost".to_owned(),
        format!("unix_socket_directories={}", folder.display()),
        "ssl=on".to_owned(),
        format!("ssl_cert_file={}", chain.display()),
        format!("ssl_key_file={}", key.display()),
        "fsync=off".to_owned(),
    ];
    let mut server = command("postgres");
    for setting in settings {
        server.arg("-c").arg(setting);
    }
    start(&mut server, &folder, port)
}

fn redis(folder: &Path, certificates: &Certificates) -> Result<Started> {
    let Some(program) = find("redis-server") else { return Ok(Err("redis-server")) };
    let folder = server_folder(folder, "redis", certificates)?;
    let port = unused_port()?;
    let port_text = port.to_string();
    let mut server = Command::new(program);
    server.current_dir(&folder).args(["--port", "0", "--tls-port", &port_text]);
    server.args(["--tls-cert-file", "chain.pem", "--tls-key-file", "key.pem"]);
    server.args(["--tls-auth-clients", "no", "--tls-ca-cert-file", "chain.pem"]);
    server.args(["--bind", "127.0.0.1", "--save", ""]);
    start(&mut server, &folder, port)
}

fn mariadb(folder: &Path, certificates: &Certificates) -> Result<Started> {
    let (Some(program), Some(install)) = (find("mariadbd"), find("mariadb-install-db")) else {
        return Ok(Err("mariadb-server"));
    };
    let folder = server_folder(folder, "mariadb", certificates)?;
    let base = program.ancestors().nth(2).context("the program is in a folder")?.to_owned();
    let common = [
        "--no-defaults".to_owned(),
        format!("--basedir={}", base.display()),
        format!("--datadir={}", folder.join("data").display()),
    ];
    let user = if is_root()? { &["--user=root"][..] } else { &[] };
    let method = "--auth-root-authentication-method=normal";
    run(Command::new(install).current_dir(&folder).args(&common).args(user).arg(method))?;
    let setup = format!(
        "CREATE DATABASE IF NOT EXISTS test;\n\
         CREATE USER '{USER}'@'%' IDENTIFIED BY '{PASSWORD}' REQUIRE SSL;\n\
         GRANT ALL ON test.* TO '{USER}'@'%';\n"
    );
    fs::write(folder.join("setup.sql"), setup)?;
    let port = unused_port()?;
    let mut server = Command::new(program);
    server.current_dir(&folder).args(&common).args(user).args([
        format!("--port={port}"),
        "--bind-address=127.0.0.1".to_owned(),
        "--skip-name-resolve".to_owned(),
        format!("--socket={}", folder.join("socket").display()),
        format!("--init-file={}", folder.join("setup.sql").display()),
        format!("--ssl-cert={}", folder.join("chain.pem").display()),
        format!("--ssl-key={}", folder.join("key.pem").display()),
    ]);
    start(&mut server, &folder, port)
}

fn mosquitto(folder: &Path, certificates: &Certificates) -> Result<Started> {
    let Some(program) = find("mosquitto") else { return Ok(Err("mosquitto")) };
    let folder = server_folder(folder, "mosquitto", certificates)?;
    let port = unused_port()?;
    let mut config = format!(
        "listener {port} localhost\nallow_anonymous true\ncertfile {}\nkeyfile {}\n",
        folder.join("chain.pem").display(),
        folder.join("key.pem").display()
    );
    if is_root()? {
        config += "user root\n";
    }
    fs::write(folder.join("config"), config)?;
    let mut server = Command::new(program);
    server.current_dir(&folder).args(["-c", "config"]);
    start(&mut server, &folder, port)
}

/// A folder with copies of the certificate and of the key, which only the owner may read.
fn server_folder(folder: &Path, name: &str, certificates: &Certificates) -> Result<PathBuf> {
    let folder = folder.join(name);
    fs::create_dir(&folder)?;
    fs::copy(&certificates.chain, folder.join("chain.pem"))?;
    fs::copy(&certificates.key, folder.join("key.pem"))?;
    fs::set_permissions(folder.join("key.pem"), Permissions::from_mode(0o600))?;
    Ok(folder)
}

/// Starts a server and waits until it accepts connections.
fn start(command: &mut Command, folder: &Path, port: u16) -> Result<Started> {
    let log = folder.join("log");
    let file = File::create(&log)?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    let mut process = Process { port, child: command.spawn()? };
    for _ in 0..300 {
        if TcpStream::connect(("localhost", port)).is_ok() {
            return Ok(Ok(process));
        }
        if process.child.try_wait()?.is_some() {
            break;
        }
        thread::sleep(Duration::from_millis(100));
    }
    bail!("{command:?} does not serve: {}", fs::read_to_string(log)?)
}

fn run(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{command:?}: {}{text}",
        String::from_utf8_lossy(&output.stdout)
    );
    Ok(())
}

fn unused_port() -> Result<u16> {
    Ok(TcpListener::bind(("localhost", 0))?.local_addr()?.port())
}

/// A program in `PATH`, or in the folder of servers, which is not in the `PATH` of all users.
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    folders.map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// The folder with the programs of the newest PostgreSQL, which Debian keeps out of `PATH`.
fn newest_postgresql() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = versions.flatten().map(|entry| entry.path()).max_by_key(number)?;
    let programs = newest.join("bin");
    programs.join("postgres").is_file().then_some(programs)
}

fn is_root() -> Result<bool> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("Uid:"));
    Ok(line.context("no user")?.split_whitespace().nth(1) == Some("0"))
}
