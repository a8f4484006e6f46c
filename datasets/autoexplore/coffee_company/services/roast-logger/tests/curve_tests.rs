//! Tests of the curve with made readings: straight lines with known corners.

#[path = "../src/curve.rs"]
mod curve;

use curve::Curve;

/// A charge at 190 °C, a turning point of 92 °C at 80 s, then a straight climb.
fn batch(rate_per_minute: f64, until_celsius: f64) -> Curve {
    let mut curve = Curve::default();
    for second in 0..=80 {
        curve.push(f64::from(second), 190.0 - f64::from(second) * 98.0 / 80.0);
    }
    let mut second = 80.0;
    let mut celsius = 92.0;
    while celsius < until_celsius {
        second += 1.0;
        celsius += rate_per_minute / 60.0;
        curve.push(second, celsius);
    }
    curve
}

fn close(got: Option<f64>, want: f64) -> bool {
    got.is_some_and(|value| (value - want).abs() < 0.05)
}

#[test]
fn the_coldest_point_is_the_turning_point() {
    let turning = batch(12.0, 150.0).turning_point().expect("a turning point");
    assert!((turning.celsius - 92.0).abs() < 0.01);
    assert!((turning.seconds - 80.0).abs() < 0.01);
}

#[test]
fn a_falling_curve_has_not_turned() {
    let mut curve = Curve::default();
    for second in 0..60 {
        curve.push(f64::from(second), 190.0 - f64::from(second));
    }
    assert!(curve.turning_point().is_none());
}

#[test]
fn rate_of_a_straight_climb_is_its_slope() {
    assert!(close(batch(12.0, 170.0).rate_of_rise(), 12.0));
}

#[test]
fn no_rate_in_the_first_half_minute() {
    let mut curve = Curve::default();
    for second in 0..30 {
        curve.push(f64::from(second), 100.0);
    }
    assert!(curve.rate_of_rise().is_none());
    curve.push(30.0, 100.0);
    assert!(close(curve.rate_of_rise(), 0.0));
}

#[test]
fn a_dip_above_193_is_first_crack() {
    let mut curve = batch(9.0, 196.0);
    let start = 80.0 + (196.0 - 92.0) / 9.0 * 60.0;
    for step in 1..=40 {
        curve.push(start + f64::from(step) + 1.0, 196.0 + f64::from(step) * 4.0 / 60.0);
    }
    let crack = curve.first_crack().expect("first crack");
    assert!(crack.celsius > 196.0 && crack.celsius < 198.5);
    assert!(curve.development().is_some_and(|share| share > 0.0 && share < 8.0));
}

#[test]
fn an_open_yard_door_at_180_is_not() {
    let mut curve = batch(9.0, 180.0);
    let last = 80.0 + (180.0 - 92.0) / 9.0 * 60.0;
    for step in 1..=40 {
        curve.push(last + f64::from(step) + 1.0, 180.0);
    }
    assert!(curve.first_crack().is_none());
}

#[test]
fn cold_beans_in_a_hot_drum_are_a_charge() {
    let mut curve = Curve::default();
    curve.push(0.0, 205.0);
    curve.push(10.0, 190.0);
    assert!(!curve.looks_like_charge());
    curve.push(18.0, 179.5);
    assert!(curve.looks_like_charge());
}

#[test]
fn time_does_not_run_backwards() {
    let mut curve = batch(9.0, 150.0);
    let before = curve.rate_of_rise();
    curve.push(10.0, 20.0);
    assert_eq!(before.is_some(), curve.rate_of_rise().is_some());
    assert!(close(curve.rate_of_rise(), 9.0));
}
