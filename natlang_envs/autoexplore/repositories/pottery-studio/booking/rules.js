// A member may hold two kiln shelves at a time; a third is offered one day before the firing if it is still free.
export function mayBook(held, daysBefore, free) {
  return held < 2 || (daysBefore <= 1 && free > 0);
}
