//! Listens to the gateway's datagrams and raises alarms.

mod sensor;
mod threshold;

use std::collections::HashMap;
use std::net::UdpSocket;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use amiquip::{Connection, Exchange, Publish};
use serde::Deserialize;
use threshold::{Kind, News, Watch};

#[derive(Deserialize)]
struct Settings {
    sensor: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: u32,
    cafe: String,
    name: String,
    kind: Kind,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cafe = std::env::var("BCC_CAFE")?; // C01 … C10, set when the box is made
    let text = std::fs::read_to_string("/etc/bcc/sensors.toml")?;
    let settings: Settings = toml::from_str(&text)?;
    let mut watches: HashMap<u32, (String, Watch)> = settings
        .sensor
        .into_iter()
        .filter(|entry| entry.cafe == cafe)
        .map(|entry| (entry.id, (entry.name, Watch::new(entry.kind))))
        .collect();

    let socket = UdpSocket::bind("0.0.0.0:8120")?;
    // Wakes up when nothing comes, so that silent sensors are noticed.
    socket.set_read_timeout(Some(Duration::from_secs(20)))?;
    let mut waiting: Vec<String> = Vec::new();
    let mut buffer = [0u8; 64];
    loop {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        if let Ok((length, _)) = socket.recv_from(&mut buffer) {
            match buffer.get(..length).map(sensor::decode) {
                Some(Ok(frame)) => {
                    if let Some((name, watch)) = watches.get_mut(&frame.id) {
                        if let Some(news) = watch.reading(frame.tenths, now) {
                            waiting.push(message(&cafe, name, &news));
                        }
                    }
                }
                Some(Err(why)) => eprintln!("frame: {why}"),
                None => {}
            }
        }
        for (name, watch) in watches.values_mut() {
            if watch.fell_silent(now) {
                println!("last seen {cafe} {name} more than 30 minutes ago");
            }
        }
        if !waiting.is_empty() && publish(&waiting).is_ok() {
            waiting.clear();
        }
        // Six hours of one alarm each half hour for four appliances; older news helps nobody.
        let surplus = waiting.len().saturating_sub(48);
        waiting.drain(..surplus);
    }
}

fn message(cafe: &str, name: &str, news: &News) -> String {
    serde_json::json!({
        "cafe": cafe,
        "appliance": name,
        "tenths": news.tenths,
        "minutes": news.minutes,
        "over": news.over,
    })
    .to_string()
}

/// A new connection for each alarm: there are two on a busy day, and a heartbeat over 4G costs more.
fn publish(messages: &[String]) -> amiquip::Result<()> {
    let url = std::env::var("BCC_MQ_URL").unwrap_or_else(|_| "amqp://fridge@10.20.0.31:5672/bcc".into());
    let mut connection = Connection::insecure_open(&url)?;
    let channel = connection.open_channel(None)?;
    let exchange: Exchange = channel.exchange_declare_passive("bcc.events")?;
    for message in messages {
        exchange.publish(Publish::new(message.as_bytes(), "fridge.alarm"))?;
    }
    connection.close()
}
