/// A return half that was not used is worth a third of its price for one year.
pub fn refund(price_cents: u32, days: u32) -> u32 {
    if days > 365 { 0 } else { price_cents / 3 }
}
