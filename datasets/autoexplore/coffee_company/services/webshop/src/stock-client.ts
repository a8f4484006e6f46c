/** Asks the stock service how many bags may be promised, and holds them for the length of a checkout. */

import { request } from "undici";

const BASE = process.env["STOCK_URL"] ?? "http://10.20.0.12:8070";
/** A page must not wait for the stock service longer than this. */
const TIMEOUT_MS = 800;
/** How long a checkout may take; the median is 3 minutes. */
export const HOLD_MINUTES = 20;
/** Bags kept back from the shop for the cafés' own shelves. */
const KEEP_BACK = 12;
/** What we promise when the service does not answer: little enough that packing can roast around it. */
const BLIND_PROMISE = 4;

export interface Availability {
  bags: number;
  certain: boolean;
}

interface LevelAnswer {
  onHand: number;
  reserved: number;
}

export async function available(sku: string): Promise<Availability> {
  try {
    const answer = await request(`${BASE}/levels/${encodeURIComponent(sku)}?site=ROASTERY`, {
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
    });
    if (answer.statusCode === 404) {
      await answer.body.dump();
      return { bags: 0, certain: true };
    }
    if (answer.statusCode !== 200) throw new Error(`stock answered ${answer.statusCode}`);
    const level = (await answer.body.json()) as LevelAnswer;
    return { bags: Math.max(0, level.onHand - level.reserved - KEEP_BACK), certain: true };
  } catch (error) {
    console.warn(`stock: ${sku}: ${String(error)}`);
    return { bags: BLIND_PROMISE, certain: false };
  }
}

/** Returns the id of the reservation, or undefined when there are too few bags. */
export async function hold(orderId: string, lines: ReadonlyMap<string, number>): Promise<string | undefined> {
  const answer = await request(`${BASE}/reservations`, {
    method: "POST",
    headersTimeout: 4 * TIMEOUT_MS, // once a checkout, so it may take longer than a page
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      reference: orderId,
      site: "ROASTERY",
      minutes: HOLD_MINUTES,
      lines: [...lines].map(([sku, quantity]) => ({ sku, quantity })),
    }),
  });
  if (answer.statusCode === 409) {
    await answer.body.dump();
    return undefined;
  }
  if (answer.statusCode !== 201) throw new Error(`stock refused reservation of ${orderId}: ${answer.statusCode}`);
  const { id } = (await answer.body.json()) as { id: string };
  return id;
}

/** Letting go twice is harmless; forgetting is repaired by the 20 minutes. */
export async function release(id: string): Promise<void> {
  const answer = await request(`${BASE}/reservations/${id}`, { method: "DELETE", headersTimeout: TIMEOUT_MS });
  await answer.body.dump();
}
