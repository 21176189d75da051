//! redis: its connection manager.

use anyhow::{Result, ensure};
use redis::aio::ConnectionManagerConfig;

pub(crate) async fn run(port: u16) -> Result<String> {
    let client = redis::Client::open(format!("rediss://localhost:{port}/"))?;
    let config = ConnectionManagerConfig::new().set_number_of_retries(0);
    let mut connection = client.get_connection_manager_with_config(config).await?;
    let value = vec![7_u8; 300_000];
    redis::cmd("SET").arg("key").arg(&value).exec_async(&mut connection).await?;
    let got: Vec<u8> = redis::cmd("GET").arg("key").query_async(&mut connection).await?;
    ensure!(got == value, "another value");
    Ok(format!("a value of {} bytes", got.len()))
}
