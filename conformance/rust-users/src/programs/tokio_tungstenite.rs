//! tokio-tungstenite: messages that a server returns.

use anyhow::{Context, Result, ensure};
use futures_util::{SinkExt, StreamExt};
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;

pub(crate) async fn run(port: u16) -> Result<String> {
    let (mut socket, _) = connect_async(format!("wss://localhost:{port}/")).await?;
    for size in [1, 1000, 200_000] {
        let message = Message::binary(vec![7; size]);
        socket.send(message.clone()).await?;
        let answer = socket.next().await.context("the connection ended")??;
        ensure!(answer == message, "another message of {} bytes", answer.len());
    }
    socket.close(None).await?;
    Ok("3 messages".to_owned())
}
