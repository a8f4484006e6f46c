//! The rule: above 5.0 °C for 15 minutes, a freezer above −15.0 °C for 30.

use serde::Deserialize;

/// Seconds between two alarms of the same stretch.
const REPEAT: u64 = 30 * 60;
const SILENT_AFTER: u64 = 30 * 60;
/// A door left open does 4 °C a minute at most; more than this is the radio.
const JUMP_TENTHS: i16 = 120;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Fridge,
    Freezer,
}

impl Kind {
    fn limit_tenths(self) -> i16 {
        match self {
            Kind::Fridge => 50,
            Kind::Freezer => -150,
        }
    }

    fn patience(self) -> u64 {
        match self {
            Kind::Fridge => 15 * 60,
            Kind::Freezer => 30 * 60,
        }
    }
}

/// Something to tell: still too warm, or over.
#[derive(Debug, PartialEq, Eq)]
pub struct News {
    pub tenths: i16,
    pub minutes: u64,
    pub over: bool,
}

/// One appliance.
pub struct Watch {
    kind: Kind,
    warm_since: Option<u64>,
    told_at: Option<u64>,
    seen_at: Option<u64>,
    last_tenths: Option<i16>,
    doubted: bool,
    reported_silent: bool,
}

impl Watch {
    pub fn new(kind: Kind) -> Self {
        Watch { kind, warm_since: None, told_at: None, seen_at: None, last_tenths: None, doubted: false, reported_silent: false }
    }

    /// Takes a reading; times are seconds since 1970.
    pub fn reading(&mut self, tenths: i16, now: u64) -> Option<News> {
        self.seen_at = Some(now);
        self.reported_silent = false;
        let jumped = self.last_tenths.is_some_and(|last| (tenths - last).abs() > JUMP_TENTHS);
        if jumped && !self.doubted {
            self.doubted = true; // believed if the next one says the same
            return None;
        }
        self.doubted = false;
        self.last_tenths = Some(tenths);

        if tenths <= self.kind.limit_tenths() {
            let since = self.warm_since.take();
            // Only an alarm that was told needs to be called off.
            return self.told_at.take().zip(since).map(|(_, since)| News {
                tenths,
                minutes: now.saturating_sub(since) / 60,
                over: true,
            });
        }
        let since = *self.warm_since.get_or_insert(now);
        let length = now.saturating_sub(since);
        let due = self.told_at.map_or(length >= self.kind.patience(), |told| now.saturating_sub(told) >= REPEAT);
        due.then(|| {
            self.told_at = Some(now);
            News { tenths, minutes: length / 60, over: false }
        })
    }

    /// True once when a sensor has not been heard for half an hour.
    pub fn fell_silent(&mut self, now: u64) -> bool {
        let silent = self.seen_at.is_some_and(|seen| now.saturating_sub(seen) > SILENT_AFTER);
        if silent && !self.reported_silent {
            self.reported_silent = true;
            self.warm_since = None; // silence is not warmth: the stretch starts anew
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifteen_minutes_above_and_not_fourteen() {
        let mut watch = Watch::new(Kind::Fridge);
        assert_eq!(watch.reading(51, 0), None);
        assert_eq!(watch.reading(55, 14 * 60), None);
        assert_eq!(watch.reading(55, 15 * 60), Some(News { tenths: 55, minutes: 15, over: false }));
        assert_eq!(watch.reading(50, 17 * 60), Some(News { tenths: 50, minutes: 17, over: true }));
    }

    #[test]
    fn exactly_five_degrees_is_good() {
        let mut watch = Watch::new(Kind::Fridge);
        assert_eq!(watch.reading(50, 0), None);
        assert_eq!(watch.reading(50, 3600), None);
    }

    #[test]
    fn a_freezer_has_half_an_hour() {
        let mut watch = Watch::new(Kind::Freezer);
        assert_eq!(watch.reading(-149, 0), None);
        assert_eq!(watch.reading(-140, 29 * 60), None);
        assert!(watch.reading(-140, 30 * 60).is_some());
    }
}
