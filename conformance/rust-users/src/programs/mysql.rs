//! MariaDB: sqlx and mysql_async.

use anyhow::{Context, Result, ensure};
use mysql_async::prelude::Queryable;
use mysql_async::{OptsBuilder, Pool, SslOpts};
use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions, MySqlSslMode};

use super::{PASSWORD, USER};

const VERSION: &str = "SHOW STATUS LIKE 'Ssl_version'";
const ROWS: &str = "SELECT seq FROM seq_1_to_100000";

pub(crate) async fn sqlx(port: u16) -> Result<String> {
    let options = MySqlConnectOptions::new()
        .host("localhost")
        .port(port)
        .username(USER)
        .password(PASSWORD)
        .database("test")
        .ssl_mode(MySqlSslMode::VerifyIdentity);
    let pool = MySqlPoolOptions::new().max_connections(3).connect_with(options).await?;
    let (_, version): (String, String) = sqlx::query_as(VERSION).fetch_one(&pool).await?;
    let rows = sqlx::query(ROWS).fetch_all(&pool).await?;
    ensure!(rows.len() == 100_000, "{} rows", rows.len());
    pool.close().await;
    Ok(format!("{version}, {} rows", rows.len()))
}

pub(crate) async fn mysql_async(port: u16) -> Result<String> {
    let options = OptsBuilder::default()
        .ip_or_hostname("localhost")
        .tcp_port(port)
        .user(Some(USER))
        .pass(Some(PASSWORD))
        .db_name(Some("test"))
        .prefer_socket(false)
        .ssl_opts(SslOpts::default());
    let pool = Pool::new(options);
    let mut connection = pool.get_conn().await?;
    let row: Option<(String, String)> = connection.query_first(VERSION).await?;
    let rows: Vec<u64> = connection.query(ROWS).await?;
    ensure!(rows.len() == 100_000, "{} rows", rows.len());
    drop(connection);
    pool.disconnect().await?;
    Ok(format!("{}, {} rows", row.context("no version")?.1, rows.len()))
}
