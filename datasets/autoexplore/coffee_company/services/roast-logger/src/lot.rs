//! Lot codes: day, roaster, number of the batch. 251203M07 is the seventh batch of Marjorie on 3 December 2025.

use std::fmt;
use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Roaster {
    Bertha,
    Marjorie,
}

impl Roaster {
    pub fn letter(self) -> char {
        match self {
            Roaster::Bertha => 'B',
            Roaster::Marjorie => 'M',
        }
    }

    /// Green coffee of a full batch in kilograms. Less than half is not roasted: the bean probe
    /// would hang in the air.
    pub fn batch_kg(self) -> u32 {
        match self {
            Roaster::Bertha => 10,
            Roaster::Marjorie => 22,
        }
    }
}

/// Field order gives the order of the codes: by day, then by roaster, then by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lot {
    year: u16,
    month: u8,
    day: u8,
    roaster: Roaster,
    number: u8,
}

impl Lot {
    /// Number 0 and numbers above 99 do not fit the label; the most on one day was 18.
    pub fn new(year: u16, month: u8, day: u8, roaster: Roaster, number: u8) -> Result<Self, String> {
        // The first logged roast was in 2022; a smaller year is a clock that was reset.
        if !(2022..=2099).contains(&year) {
            return Err(format!("year {year}: check the clock of roast-01"));
        }
        if day == 0 || day > days_in(year, month) {
            return Err(format!("{year}-{month:02}-{day:02} is not a day"));
        }
        if !(1..=99).contains(&number) {
            return Err(format!("batch number {number} is not 1 to 99"));
        }
        Ok(Lot { year, month, day, roaster, number })
    }

    /// The next batch of the same drum on the same day. Numbers of lost batches are not used again.
    pub fn next(self) -> Result<Self, String> {
        Lot::new(self.year, self.month, self.day, self.roaster, self.number + 1)
    }

    pub fn roaster(self) -> Roaster {
        self.roaster
    }
}

impl fmt::Display for Lot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let year = self.year % 100;
        write!(f, "{year:02}{:02}{:02}{}{:02}", self.month, self.day, self.roaster.letter(), self.number)
    }
}

impl FromStr for Lot {
    type Err = String;

    /// Small letters are accepted, since the planner's keyboard makes them; blanks are not.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("\"{text}\" is not a lot code like 251203M07");
        if text.len() != 9 || !text.is_ascii() {
            return Err(wrong());
        }
        let part = |from: usize, to: usize| text[from..to].parse::<u8>().map_err(|_| wrong());
        let roaster = match text[6..7].to_ascii_uppercase().as_str() {
            "B" => Roaster::Bertha,
            "M" => Roaster::Marjorie,
            _ => return Err(wrong()),
        };
        Lot::new(2000 + u16::from(part(0, 2)?), part(2, 4)?, part(4, 6)?, roaster, part(7, 9)?)
    }
}

fn days_in(year: u16, month: u8) -> u8 {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 => 29, // enough until 2099
        2 => 28,
        _ => 0,
    }
}
