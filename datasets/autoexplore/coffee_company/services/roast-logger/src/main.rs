//! Reads both roasters, one thread each, and keeps what they say.

mod alarm;
mod curve;
mod lot;
mod probe;

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read, Write};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use alarm::Temperature;
use curve::Curve;
use probe::{Decoder, Machine};

/// The newest temperature of each probe, shared with the thread that answers `/status`.
type Board = Arc<Mutex<HashMap<(char, u8), f64>>>;

fn main() {
    let board: Board = Arc::default();
    let workers: Vec<_> = [Machine::bertha(), Machine::marjorie()]
        .into_iter()
        .map(|machine| {
            let board = Arc::clone(&board);
            thread::Builder::new()
                .name(machine.name.to_string())
                .spawn(move || follow(&machine, &board))
        })
        .collect();
    for worker in workers {
        match worker.map(thread::JoinHandle::join) {
            // One drum without a logger must not stop the other: the unit restarts
            // the whole program only when both threads have ended.
            Ok(Ok(Err(error))) => eprintln!("roast-logger: {error}"),
            Ok(Ok(Ok(()))) => eprintln!("roast-logger: device closed"),
            other => eprintln!("roast-logger: worker ended: {:?}", other.is_ok()),
        }
    }
    std::process::exit(1);
}

/// Reads one device until it closes. The unit sets the speed with stty before we start.
fn follow(machine: &Machine, board: &Board) -> std::io::Result<()> {
    let mut device = BufReader::new(File::open(machine.device)?);
    let mut raw = OpenOptions::new().append(true).create(true).open(machine.raw_path())?;
    let mut decoder = Decoder::new(machine);
    let mut curve = Curve::default();
    let mut charged: Option<Instant> = None;
    let mut block = [0u8; 64];
    loop {
        let count = device.read(&mut block)?;
        if count == 0 {
            return Ok(());
        }
        // Raw bytes first: a fault in what follows can be repaired by a replay.
        raw.write_all(&block[..count])?;
        for reading in decoder.feed(&block[..count]) {
            if let Ok(mut board) = board.lock() {
                board.insert((machine.letter, reading.probe), reading.celsius);
            }
            if reading.probe != probe::BEAN {
                continue;
            }
            let start = *charged.get_or_insert_with(Instant::now);
            let seconds = start.elapsed().as_secs_f64();
            curve.push(seconds, reading.celsius);
            if curve.looks_like_charge() && seconds > 60.0 {
                // A new batch: the curve before it has been stored at its drop.
                curve = Curve::default();
                charged = Some(Instant::now());
            }
            match alarm::temperature(reading.celsius, curve.rate_of_rise()) {
                Temperature::Fine => {}
                Temperature::Warn(why) => println!("{} WARN {why}", machine.name),
                Temperature::Stop(why) => println!("{} STOP {why}", machine.name),
            }
        }
    }
}
