//! PostgreSQL: sqlx, and tokio-postgres with the channel binding of SCRAM.

use anyhow::{Result, ensure};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions, PgSslMode};
use tokio_postgres::config::{ChannelBinding, SslMode};

use super::{PASSWORD, USER};

const QUERY: &str = "SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()";

pub(crate) async fn sqlx(port: u16) -> Result<String> {
    let options = PgConnectOptions::new()
        .host("localhost")
        .port(port)
        .username(USER)
        .password(PASSWORD)
        .database("postgres")
        .ssl_mode(PgSslMode::VerifyFull);
    let pool = PgPoolOptions::new().max_connections(3).connect_with(options).await?;
    let version: String = sqlx::query_scalar(QUERY).fetch_one(&pool).await?;
    let rows: Vec<i32> =
        sqlx::query_scalar("SELECT generate_series(1, 100000)").fetch_all(&pool).await?;
    ensure!(rows.len() == 100_000, "{} rows", rows.len());
    pool.close().await;
    Ok(format!("{version}, {} rows", rows.len()))
}

pub(crate) async fn tokio_postgres(port: u16) -> Result<String> {
    let connector = native_tls::TlsConnector::new()?;
    let (client, connection) = tokio_postgres::Config::new()
        .host("localhost")
        .port(port)
        .user(USER)
        .password(PASSWORD)
        .dbname("postgres")
        .ssl_mode(SslMode::Require)
        .channel_binding(ChannelBinding::Require)
        .connect(postgres_native_tls::MakeTlsConnector::new(connector))
        .await?;
    let connection = tokio::spawn(connection);
    let version: String = client.query_one(QUERY, &[]).await?.get(0);
    let rows = client.query("SELECT generate_series(1, 100000)", &[]).await?;
    ensure!(rows.len() == 100_000, "{} rows", rows.len());
    drop(client);
    connection.await??;
    Ok(format!("{version}, channel binding"))
}
