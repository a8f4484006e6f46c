//! Decoding the frame of a fridge sensor.
//!
//! Eleven bytes: version (0x02), id as a big-endian u32, temperature in sixteenths of a degree as a
//! big-endian i16, battery in 20 mV steps, a counter, and a CRC-16 over the first nine.

const VERSION: u8 = 0x02;
/// Below this the radio starts to fail; a fresh cell has 3.0 V.
pub const BATTERY_LOW_MV: u32 = 2_440;

#[derive(Debug, PartialEq, Eq)]
pub struct Frame {
    pub id: u32,
    /// Tenths of a degree, rounded half away from zero.
    pub tenths: i16,
    pub battery_mv: u32,
    pub counter: u8,
}

/// Reads a frame, or says in a few words why it is none.
pub fn decode(bytes: &[u8]) -> Result<Frame, String> {
    let &[version, i3, i2, i1, i0, t1, t0, battery, counter, c1, c0] = bytes else {
        return Err(format!("{} bytes instead of 11", bytes.len()));
    };
    // Version 1 sensors counted in Fahrenheit; the last one was found at C02 in 2023.
    if version != VERSION {
        return Err(format!("version {version}"));
    }
    let body = bytes.get(..9).unwrap_or_default();
    let (want, got) = (u16::from_be_bytes([c1, c0]), crc16(body));
    if want != got {
        return Err(format!("check sum {got:04x}, the frame says {want:04x}"));
    }
    let sixteenths = i32::from(i16::from_be_bytes([t1, t0]));
    // ×10/16 in whole numbers; half goes away from zero so that −15.0625 does not become −15.0.
    let tenths = (sixteenths * 10 + 8 * sixteenths.signum()) / 16;
    Ok(Frame {
        id: u32::from_be_bytes([i3, i2, i1, i0]),
        tenths: i16::try_from(tenths).map_err(|_| "impossible temperature".to_string())?,
        battery_mv: u32::from(battery) * 20,
        counter,
    })
}

/// CRC-16 with polynomial 0x1021 and start value 0xFFFF, as the sensor's maker has it.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0xFFFF, |start, byte| {
        (0..8).fold(start ^ (u16::from(*byte) << 8), |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(sixteenths: i16) -> Vec<u8> {
        let mut bytes = vec![VERSION, 0, 0, 0x06, 0x02];
        bytes.extend(sixteenths.to_be_bytes());
        bytes.extend([150, 9]);
        let sum = crc16(&bytes);
        bytes.extend(sum.to_be_bytes());
        bytes
    }

    #[test]
    fn a_good_frame() {
        let read = decode(&frame(101)).expect("a frame"); // 6.3125 °C
        assert_eq!(read, Frame { id: 0x602, tenths: 63, battery_mv: 3_000, counter: 9 });
    }

    #[test]
    fn cold_is_rounded_like_warm() {
        assert_eq!(decode(&frame(-241)).map(|f| f.tenths), Ok(-151)); // −15.0625 °C
        assert_eq!(decode(&frame(-240)).map(|f| f.tenths), Ok(-150));
    }

    #[test]
    fn short_frames_and_wrong_sums_are_refused() {
        assert_eq!(decode(&frame(80)[..10]), Err("10 bytes instead of 11".to_string()));
        let mut wrong = frame(80);
        wrong[6] ^= 1;
        assert!(decode(&wrong).is_err());
    }
}
