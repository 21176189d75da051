//! The programs, one for each library. Each connects to `localhost`, exchanges data, and returns a
//! line about it.

mod hyper_tls;
mod lettre;
mod mysql;
mod postgres;
mod redis;
mod reqwest;
mod rumqttc;
mod tokio_tungstenite;

use std::time::Duration;

use anyhow::{Context, Result, bail};
// The credentials of the databases.
pub(crate) use timed_programs::{PASSWORD, USER};

/// Each program and its server.
pub(crate) const ALL: [(&str, &str); 12] = [
    ("reqwest-http2", "http"),
    ("reqwest-http1", "http"),
    ("tokio-tungstenite", "websocket"),
    ("sqlx-postgres", "postgresql"),
    ("redis-connection-manager", "redis"),
    ("tokio-postgres-native-tls", "postgresql"),
    ("sqlx-mysql", "mariadb"),
    ("mysql_async", "mariadb"),
    ("lettre-starttls", "smtp"),
    ("lettre-pool", "smtp"),
    ("rumqttc", "mosquitto"),
    ("hyper-tls", "http"),
];

pub(crate) async fn run(program: &str, port: u16) -> Result<String> {
    let running = async {
        match program {
            "reqwest-http2" => reqwest::http2(port).await,
            "reqwest-http1" => reqwest::http1(port).await,
            "tokio-tungstenite" => tokio_tungstenite::run(port).await,
            "sqlx-postgres" => postgres::sqlx(port).await,
            "redis-connection-manager" => redis::run(port).await,
            "tokio-postgres-native-tls" => postgres::tokio_postgres(port).await,
            "sqlx-mysql" => mysql::sqlx(port).await,
            "mysql_async" => mysql::mysql_async(port).await,
            "lettre-starttls" => lettre::starttls(port).await,
            "lettre-pool" => lettre::pool(port),
            "rumqttc" => rumqttc::run(port).await,
            "hyper-tls" => hyper_tls::run(port).await,
            _ => bail!("no program {program}"),
        }
    };
    tokio::time::timeout(Duration::from_secs(60), running).await.context("no end after 60 s")?
}
