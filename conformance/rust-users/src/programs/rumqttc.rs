//! rumqttc: a message that the broker returns to its sender.

use anyhow::{Result, ensure};
use rumqttc::{AsyncClient, Event, MqttOptions, Packet, QoS, TlsConfiguration, Transport};

pub(crate) async fn run(port: u16) -> Result<String> {
    let mut options = MqttOptions::new("rust-users", "localhost", port);
    options.set_transport(Transport::tls_with_config(TlsConfiguration::Native));
    let (client, mut events) = AsyncClient::new(options, 10);
    client.subscribe("topic", QoS::AtLeastOnce).await?;
    client.publish("topic", QoS::AtLeastOnce, false, vec![7; 5000]).await?;
    loop {
        if let Event::Incoming(Packet::Publish(message)) = events.poll().await? {
            ensure!(message.payload.len() == 5000, "{} bytes", message.payload.len());
            return Ok("a message of 5000 bytes".to_owned());
        }
    }
}
