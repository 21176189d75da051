//! lettre: STARTTLS, and its pool of connections.

use anyhow::{Result, ensure};
use lettre::transport::smtp::PoolConfig;
use lettre::{
    AsyncSmtpTransport, AsyncTransport, Message, SmtpTransport, Tokio1Executor, Transport,
};

pub(crate) async fn starttls(port: u16) -> Result<String> {
    let transport = AsyncSmtpTransport::<Tokio1Executor>::starttls_relay("localhost")?
        .port(port)
        .build::<Tokio1Executor>();
    ensure!(transport.send(message()?).await?.is_positive(), "the message was refused");
    Ok("STARTTLS, 1 message".to_owned())
}

pub(crate) fn pool(port: u16) -> Result<String> {
    let transport = SmtpTransport::starttls_relay("localhost")?
        .port(port)
        .pool_config(PoolConfig::new().max_size(2))
        .build();
    for _ in 0..5 {
        ensure!(transport.send(&message()?)?.is_positive(), "a message was refused");
    }
    Ok("STARTTLS, 5 messages".to_owned())
}

fn message() -> Result<Message> {
    let builder =
        Message::builder().from("from@example.test".parse()?).to("to@example.test".parse()?);
    Ok(builder.subject("A message").body("A line.\r\n".repeat(5000))?)
}
