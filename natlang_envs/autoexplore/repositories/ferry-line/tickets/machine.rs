/// The machine at the pier gives no change above twenty and sleeps at night to spare its battery.
pub fn accepts(note: u32, owed: u32) -> bool {
    note >= owed && note - owed <= 20
}
