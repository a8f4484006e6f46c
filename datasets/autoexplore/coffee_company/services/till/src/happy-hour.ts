/**
 * Offers that take money off at the till. Offers that give something else (a tasting card, double
 * stamps, the refill of Early Tide, the gift box) are not here: they need no arithmetic.
 */

import type { Line } from "./basket.js";

interface Moment {
  day: string;
  minute: number;
}

interface Offer {
  name: string;
  first: string; // both days included, Brackmouth's calendar
  last: string;
  pence(lines: readonly Line[], at: Moment): number;
}

const EIGHT = 8 * 60;
const drinks = (sku: string): boolean => sku.startsWith("DR-");

/** Two offers never add up: the guest gets the better one. */
const OFFERS: readonly Offer[] = [
  {
    name: "Foghorn Mornings",
    first: "2025-01-13",
    last: "2025-02-28",
    // £1 off once a person, and a receipt is a person. The time is the receipt's, not the wall clock's.
    pence: (lines, at) => (at.minute < EIGHT && units(lines, drinks) > 0 ? 100 : 0),
  },
  {
    name: "Cold Brew Summer 2025",
    first: "2025-06-09",
    last: "2025-08-31",
    // Every second cold brew at half price: 420 / 2 = 210 for each full pair.
    pence: (lines) => pairs(lines) * Math.floor(coldBrewPence(lines) / 2),
  },
  {
    name: "Fifteen on the Quay",
    first: "2026-05-07",
    last: "2026-05-07",
    // Espresso at £1.50, every one of them; the difference is taken from the list price of the day.
    pence: (lines) =>
      lines.filter((l) => l.sku === "DR-101").reduce((sum, l) => sum + Math.max(0, l.unitPence - 150) * l.quantity, 0),
  },
  {
    name: "Cold Brew Summer 2026",
    first: "2026-06-08",
    last: "2026-08-30",
    // A pair for £6.30 from 13:00 on, which is 13:00:00 and not 13:01.
    pence: (lines, at) => (at.minute >= 13 * 60 ? pairs(lines) * Math.max(0, 2 * coldBrewPence(lines) - 630) : 0),
  },
];

export function discountFor(lines: readonly Line[], _cafe: string, at: Date): number {
  const moment = local(at);
  const amounts = OFFERS.filter((o) => o.first <= moment.day && moment.day <= o.last).map((o) => o.pence(lines, moment));
  return Math.max(0, ...amounts);
}

function units(lines: readonly Line[], fits: (sku: string) => boolean): number {
  return lines.reduce((sum, l) => sum + (fits(l.sku) ? l.quantity : 0), 0);
}

function pairs(lines: readonly Line[]): number {
  return Math.floor(units(lines, (sku) => sku === "DR-111") / 2);
}

function coldBrewPence(lines: readonly Line[]): number {
  return lines.find((l) => l.sku === "DR-111")?.unitPence ?? 0;
}

function local(at: Date): Moment {
  // The Swedish locale writes 2025-01-13 07:59:00, which sorts and splits well.
  const text = at.toLocaleString("sv-SE", { timeZone: "Europe/London" });
  const [day = "", clock = ""] = text.split(" ");
  const [hours, minutes] = clock.split(":").map(Number);
  return { day, minute: (hours ?? 0) * 60 + (minutes ?? 0) };
}
