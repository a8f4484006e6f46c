// Firings are on Tuesdays and Saturdays; a firing is called off when less than half of the kiln is booked.
export function fires(day, booked, shelves) {
  return [2, 6].includes(day) && booked * 2 >= shelves;
}
