# A tool can be booked at most 60 days ahead, and not twice in a row by the same household.
def bookable?(tool, household, day, today)
  return false if day - today > 60
  tool.bookings.max_by(&:last_day)&.household != household
end
