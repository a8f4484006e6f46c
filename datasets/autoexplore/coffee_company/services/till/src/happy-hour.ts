/**
 * Offers that take money off at the till. Offers that give something else (a tasting card, double
 * stamps, the gift box) are not here: they need no arithmetic.
 */

import type { Line } from "./basket.js";

interface Offer {
  name: string;
  first: string; // both days included, Brackmouth's calendar
  last: string;
  cafes: "all" | readonly string[];
  pence(lines: readonly Line[], minuteOfDay: number): number;
}

/** Two offers never add up: the guest gets the better one. */
const OFFERS: readonly Offer[] = [
  {
    name: "Foghorn Mornings",
    first: "2025-01-13",
    last: "2025-02-28",
    // C02 opens at 08:00, C06 and C07 too: they are in the list so that the report shows a zero for them.
    cafes: "all",
    // £1 off any drink, each drink on the receipt, while the clock says 07:59 or earlier.
    pence: (lines, minute) => (minute < 8 * 60 ? 100 * units(lines, (sku) => sku.startsWith("DR-")) : 0),
  },
  {
    name: "Cold Brew Summer",
    first: "2025-06-09",
    last: "2025-08-31",
    cafes: "all",
    // Every second cold brew at half price: 420 / 2 = 210 for each full pair.
    pence: (lines) => {
      const cold = lines.filter((l) => l.sku === "DR-111");
      const pairs = Math.floor(units(cold, () => true) / 2);
      return pairs * Math.floor((cold[0]?.unitPence ?? 0) / 2);
    },
  },
  {
    // Agreed with Ruth Kamau as a trial and extended twice; ends with the winter rota.
    name: "Night Ward Filter",
    first: "2025-10-27",
    last: "2026-03-28",
    cafes: ["C09"],
    // 50p off each batch filter from 19:30 to closing, for the change of shift.
    pence: (lines, minute) => (minute >= 19 * 60 + 30 ? 50 * units(lines, (sku) => sku === "DR-109") : 0),
  },
];

export function discountFor(lines: readonly Line[], cafe: string, at: Date): number {
  const { day, minute } = local(at);
  const amounts = OFFERS.filter((o) => o.first <= day && day <= o.last)
    .filter((o) => o.cafes === "all" || o.cafes.includes(cafe))
    .map((o) => o.pence(lines, minute));
  return Math.max(0, ...amounts);
}

function units(lines: readonly Line[], fits: (sku: string) => boolean): number {
  return lines.reduce((sum, l) => sum + (fits(l.sku) ? l.quantity : 0), 0);
}

function local(at: Date): { day: string; minute: number } {
  // The Swedish locale writes 2025-01-13 07:59:00, which sorts and splits well.
  const text = at.toLocaleString("sv-SE", { timeZone: "Europe/London" });
  const [day = "", clock = ""] = text.split(" ");
  const [hours, minutes] = clock.split(":").map(Number);
  return { day, minute: (hours ?? 0) * 60 + (minutes ?? 0) };
}
