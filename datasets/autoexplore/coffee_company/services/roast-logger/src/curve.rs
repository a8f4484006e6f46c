//! What can be read off a bean curve: turning point, rate of rise, first crack.

/// The rate of rise is taken over this many seconds; less shows the drum's turning, more hides the crack.
pub const RATE_WINDOW: f64 = 30.0;
/// The turning point is looked for in this time after the charge.
pub const TURNING_WITHIN: f64 = 180.0;
/// First crack is looked for from here on; below it a dip is a draught from the yard door.
pub const CRACK_FROM: f64 = 193.0;
/// At first crack steam leaves the bean and the rate dips by at least this much against the minute before.
pub const CRACK_DIP: f64 = 1.8;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub seconds: f64,
    pub celsius: f64,
}

/// The bean probe from the charge on.
#[derive(Debug, Default)]
pub struct Curve {
    points: Vec<Point>,
    rates: Vec<(f64, f64)>,
    first_crack: Option<Point>,
}

impl Curve {
    /// Adds a reading; seconds must not go back.
    pub fn push(&mut self, seconds: f64, celsius: f64) {
        if self.points.last().is_some_and(|last| seconds < last.seconds) {
            return;
        }
        let point = Point { seconds, celsius };
        self.points.push(point);
        if let Some(rate) = self.rate_of_rise() {
            self.rates.push((seconds, rate));
            if self.first_crack.is_none() && celsius >= CRACK_FROM && self.dips(seconds, rate) {
                self.first_crack = Some(point);
            }
        }
    }

    /// Degrees a minute by least squares over the last 30 seconds; none before there are 30.
    pub fn rate_of_rise(&self) -> Option<f64> {
        let end = self.points.last()?.seconds;
        if end - self.points.first()?.seconds < RATE_WINDOW {
            return None;
        }
        let from = self.points.partition_point(|p| p.seconds < end - RATE_WINDOW);
        let window = &self.points[from..];
        let count = window.len() as f64;
        let mean_s = window.iter().map(|p| p.seconds).sum::<f64>() / count;
        let mean_c = window.iter().map(|p| p.celsius).sum::<f64>() / count;
        let above: f64 = window.iter().map(|p| (p.seconds - mean_s) * (p.celsius - mean_c)).sum();
        let below: f64 = window.iter().map(|p| (p.seconds - mean_s).powi(2)).sum();
        (below > 0.0).then(|| 60.0 * above / below)
    }

    /// The coldest point of the first three minutes, once the curve has risen 2 °C above it.
    pub fn turning_point(&self) -> Option<Point> {
        let lowest = self
            .points
            .iter()
            .take_while(|p| p.seconds <= TURNING_WITHIN)
            .copied()
            .min_by(|a, b| a.celsius.total_cmp(&b.celsius))?;
        (self.points.last()?.celsius >= lowest.celsius + 2.0).then_some(lowest)
    }

    pub fn first_crack(&self) -> Option<Point> {
        self.first_crack
    }

    /// Share of the roast that lay after first crack, in per cent. The cuppers like 15 to 20.
    pub fn development(&self) -> Option<f64> {
        let drop = self.points.last()?.seconds;
        let crack = self.first_crack?.seconds;
        (drop > 0.0).then(|| 100.0 * (drop - crack) / drop)
    }

    /// More than 25 °C down within 20 seconds: cold beans have fallen into a hot drum.
    pub fn looks_like_charge(&self) -> bool {
        let Some(last) = self.points.last() else { return false };
        let from = self.points.partition_point(|p| p.seconds < last.seconds - 20.0);
        self.points[from..].iter().any(|p| p.celsius - last.celsius > 25.0)
    }

    fn dips(&self, now: f64, rate: f64) -> bool {
        let before: Vec<f64> =
            self.rates.iter().filter(|(s, _)| *s >= now - 60.0 && *s < now).map(|(_, r)| *r).collect();
        !before.is_empty() && before.iter().sum::<f64>() / before.len() as f64 - rate >= CRACK_DIP
    }
}
