/** Prices and limits of parcels. Weights in grams, money in pence with VAT. */

export type Zone = "mainland" | "islands" | "collect";

export interface Parcel {
  grams: number;
  valuePence: number;
  zone: Zone;
  subscription: boolean;
}

export interface Quote {
  pence: number;
  service: "letterbox" | "parcel" | "collect";
  days: string;
}

export class ShippingError extends Error {}

/** A bag of 250 g weighs 268 g with the bag itself; the box or mailer is added once. */
export const BAG_GRAMS = 268;
const MAILER_GRAMS = 35;
const BOX_GRAMS = 140;

/** Up to two bags fit through a letterbox. The mailer is 24 mm thick, one millimetre below the limit. */
const LETTERBOX_GRAMS = 2 * BAG_GRAMS + MAILER_GRAMS;
/** Above this the packers would have to lift it in twos, and the courier refuses it anyway. */
const MAX_GRAMS = 15_000;

const FREE_FROM_PENCE = 3500;

const PARCEL_PENCE: ReadonlyArray<{ upTo: number; mainland: number; islands: number }> = [
  { upTo: 2_000, mainland: 395, islands: 695 },
  { upTo: 5_000, mainland: 545, islands: 945 },
  { upTo: MAX_GRAMS, mainland: 790, islands: 1490 },
];

/** Postcode areas that the courier calls islands or highlands, whatever the map says. */
const ISLAND_AREAS = new Set(["HS", "ZE", "KW", "IV", "IM", "JE", "GY", "BT", "TR21", "TR22"]);

export function zoneOf(postcode: string): Zone {
  const outward = postcode.trim().toUpperCase().split(/\s+/)[0] ?? "";
  const area = /^[A-Z]{1,2}/.exec(outward)?.[0];
  if (!area) throw new ShippingError(`"${postcode}" is not a postcode`);
  return ISLAND_AREAS.has(area) || ISLAND_AREAS.has(outward) ? "islands" : "mainland";
}

export function quote(parcel: Parcel): Quote {
  if (!Number.isInteger(parcel.grams) || parcel.grams <= 0) throw new ShippingError("the parcel is empty");
  if (parcel.zone === "collect") return { pence: 0, service: "collect", days: "next working day from 11:00" };
  if (parcel.grams + MAILER_GRAMS <= LETTERBOX_GRAMS) {
    // Subscriptions include postage in the price, on the islands too: there were 14 subscribers
    // there when it was decided, and the difference was £31 a month.
    const free = parcel.subscription || parcel.valuePence >= FREE_FROM_PENCE;
    return { pence: free ? 0 : 285, service: "letterbox", days: "1–2" };
  }
  const weight = parcel.grams + BOX_GRAMS;
  const step = PARCEL_PENCE.find((s) => weight <= s.upTo);
  if (!step) throw new ShippingError("above 15 kg: please write to wholesale");
  const price = step[parcel.zone];
  if (parcel.subscription) return { pence: 0, service: "parcel", days: "1–3" };
  if (parcel.valuePence < FREE_FROM_PENCE) return { pence: price, service: "parcel", days: "1–3" };
  // Free on the mainland; islands pay the difference only.
  return { pence: price - step.mainland, service: "parcel", days: parcel.zone === "islands" ? "3–5" : "1–3" };
}

/** Roast-to-order beans leave Tuesday to Friday, so that no parcel lies in a depot over Sunday. */
export function dispatchDay(paidAt: Date): Date {
  const day = new Date(Date.UTC(paidAt.getUTCFullYear(), paidAt.getUTCMonth(), paidAt.getUTCDate()));
  if (paidAt.getUTCHours() >= 12) day.setUTCDate(day.getUTCDate() + 1);
  while (day.getUTCDay() < 2 || day.getUTCDay() > 5) day.setUTCDate(day.getUTCDate() + 1);
  return day;
}
