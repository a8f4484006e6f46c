//! Alarms of a roast: the drum while it turns, the weight when it is done.

/// Wanted loss of weight in per cent, and the limits outside which the batch is held.
pub const LOSS_TARGET: f64 = 14.5;
pub const LOSS_LOW: f64 = 12.5;
pub const LOSS_HIGH: f64 = 16.5;

/// No profile of ours goes above 212 °C.
const WARN_ABOVE: f64 = 218.0;
/// Chaff in the bean mass can catch fire from here; gas off, door shut, water to hand.
const STOP_ABOVE: f64 = 228.0;
/// After first crack a rise as fast as this runs away within a minute.
const STOP_RATE: f64 = 22.0;
const STOP_RATE_FROM: f64 = 200.0;

#[derive(Debug, PartialEq)]
pub enum Temperature {
    Fine,
    Warn(String),
    Stop(String),
}

/// Judges one reading of the bean probe; the rate is in degrees a minute.
pub fn temperature(celsius: f64, rate: Option<f64>) -> Temperature {
    if celsius > STOP_ABOVE {
        return Temperature::Stop(format!("bean {celsius:.1} °C, above {STOP_ABOVE:.0}: gas off"));
    }
    if let Some(rate) = rate {
        if celsius > STOP_RATE_FROM && rate > STOP_RATE {
            return Temperature::Stop(format!("rising {rate:.1} °C a minute at {celsius:.1} °C: gas off"));
        }
    }
    if celsius > WARN_ABOVE {
        return Temperature::Warn(format!("bean {celsius:.1} °C, above every profile"));
    }
    Temperature::Fine
}

#[derive(Debug, PartialEq)]
pub enum Weight {
    Fine,
    /// Held for the cupping table; the text says which way to look.
    Hold(String),
    /// The scale or the typing is wrong, the batch is not judged.
    Unbelievable(String),
}

/// Loss in per cent of the green weight; grams, because the scale counts in 10 g.
pub fn loss_percent(green_g: u32, roasted_g: u32) -> f64 {
    100.0 * (f64::from(green_g) - f64::from(roasted_g)) / f64::from(green_g)
}

/// Judges the weights the roaster has typed in at the drop.
pub fn weight(green_g: u32, roasted_g: u32) -> Weight {
    if green_g == 0 || roasted_g >= green_g {
        return Weight::Unbelievable(format!("{roasted_g} g out of {green_g} g: weigh again"));
    }
    let loss = loss_percent(green_g, roasted_g);
    // A tub left on the scale makes about 6%, a tub forgotten in the tare about 24%.
    if !(8.0..=22.0).contains(&loss) {
        return Weight::Unbelievable(format!("{loss:.1}% loss: is the tub on the scale?"));
    }
    if loss < LOSS_LOW {
        return Weight::Hold(format!("{loss:.1}% loss, {:.1} below target: under-roasted or wet", LOSS_TARGET - loss));
    }
    if loss > LOSS_HIGH {
        return Weight::Hold(format!("{loss:.1}% loss, {:.1} above target: over-roasted or dry green", loss - LOSS_TARGET));
    }
    Weight::Fine
}
