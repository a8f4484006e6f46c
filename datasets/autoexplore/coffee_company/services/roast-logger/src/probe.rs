//! The serial protocol of the probes.
//!
//! A reading is five bytes: 0xA5, probe number, temperature in tenths of a degree as a big-endian
//! i16, and the XOR of the first four. The box sends 0x8000 for a probe that is not plugged in.

/// Probe 1 sits in the bean mass on both machines.
pub const BEAN: u8 = 1;

const START: u8 = 0xA5;
const UNPLUGGED: i16 = i16::MIN;
/// A drum cannot be colder than the yard or hotter than the probe bears.
const BELIEVABLE: std::ops::RangeInclusive<f64> = -20.0..=420.0;

/// One roaster with its wires.
pub struct Machine {
    pub name: &'static str,
    pub letter: char,
    pub device: &'static str,
    pub baud: u32,
    /// Added to a reading, by probe number; measured each January in ice water and in oil at 200 °C.
    pub offsets: &'static [f64],
}

impl Machine {
    pub fn bertha() -> Self {
        Machine {
            name: "Bertha",
            letter: 'B',
            device: "/dev/roaster-bertha",
            baud: 19_200,
            offsets: &[0.4, -1.1, 0.0],
        }
    }

    pub fn marjorie() -> Self {
        Machine {
            name: "Marjorie",
            letter: 'M',
            device: "/dev/roaster-marjorie",
            baud: 57_600,
            // Probe 5, the cooling tray, lies against the steel and reads low.
            offsets: &[-0.8, 0.3, 0.2, 0.0, 2.5, 0.0],
        }
    }

    pub fn raw_path(&self) -> String {
        format!("/srv/roast/raw/today-{}.raw", self.letter)
    }
}

/// A temperature after the offset.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    pub probe: u8,
    pub celsius: f64,
}

/// Finds readings in a stream of bytes that may begin anywhere.
pub struct Decoder {
    offsets: &'static [f64],
    held: Vec<u8>,
    /// Frames with a wrong check byte or an impossible value since the start.
    pub lost: u64,
}

impl Decoder {
    pub fn new(machine: &Machine) -> Self {
        Decoder { offsets: machine.offsets, held: Vec::with_capacity(128), lost: 0 }
    }

    /// Takes bytes in and gives whole readings back; the rest waits for the next call.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Reading> {
        self.held.extend_from_slice(bytes);
        let mut readings = Vec::new();
        let mut at = 0;
        while self.held.len() - at >= 5 {
            let frame = &self.held[at..at + 5];
            if frame[0] != START {
                at += 1;
                continue;
            }
            if frame[..4].iter().fold(0, |sum, byte| sum ^ byte) != frame[4] {
                // 0xA5 may also be part of a temperature: go on one byte later, not five.
                self.lost += 1;
                at += 1;
                continue;
            }
            let tenths = i16::from_be_bytes([frame[2], frame[3]]);
            match self.offset(frame[1]) {
                Some(offset) if tenths != UNPLUGGED => {
                    let celsius = f64::from(tenths) / 10.0 + offset;
                    if BELIEVABLE.contains(&celsius) {
                        readings.push(Reading { probe: frame[1], celsius });
                    } else {
                        self.lost += 1;
                    }
                }
                Some(_) => {} // unplugged, and the screen shows it after three silent seconds
                None => self.lost += 1,
            }
            at += 5;
        }
        self.held.drain(..at);
        readings
    }

    fn offset(&self, probe: u8) -> Option<f64> {
        self.offsets.get(usize::from(probe).checked_sub(1)?).copied()
    }
}
