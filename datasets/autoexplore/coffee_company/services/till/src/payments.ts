/** Card payments through the Cordline Pay terminal on the counter. */

export const FLOOR_LIMIT_PENCE = 4500;

/** The provider accepts this many stored authorisations from one terminal, then it insists on a line. */
const MAX_STORED = 60;

/** A terminal that says nothing for this long has lost its cable; guests give up after about 40 s. */
const ANSWER_MS = 25_000;

export type Outcome =
  | { kind: "approved"; reference: string; offline: boolean }
  | { kind: "declined"; message: string }
  | { kind: "cash-only"; message: string };

export interface Terminal {
  online(): Promise<boolean>;
  authorise(pence: number, reference: string, signal: AbortSignal): Promise<{ ok: boolean; text: string }>;
  store(pence: number, reference: string): Promise<void>;
  storedCount(): Promise<number>;
}

export async function takeCard(terminal: Terminal, pence: number, reference: string): Promise<Outcome> {
  if (!Number.isInteger(pence) || pence <= 0) throw new Error(`cannot charge ${pence} pence`);
  if (await terminal.online()) {
    try {
      const answer = await terminal.authorise(pence, reference, AbortSignal.timeout(ANSWER_MS));
      return answer.ok
        ? { kind: "approved", reference, offline: false }
        : { kind: "declined", message: answer.text };
    } catch (error) {
      // After a time-out we do not know whether the card was charged. Asking again under the same
      // reference is safe: the provider answers with the first result instead of charging twice.
      if (!(error instanceof DOMException && error.name === "TimeoutError")) throw error;
      const again = await terminal.authorise(pence, reference, AbortSignal.timeout(ANSWER_MS));
      return again.ok
        ? { kind: "approved", reference, offline: false }
        : { kind: "declined", message: again.text };
    }
  }
  return offline(terminal, pence, reference);
}

async function offline(terminal: Terminal, pence: number, reference: string): Promise<Outcome> {
  if (pence > FLOOR_LIMIT_PENCE) {
    return { kind: "cash-only", message: "No line: cards up to £45.00 only" };
  }
  if ((await terminal.storedCount()) >= MAX_STORED) {
    return { kind: "cash-only", message: "60 cards stored: cash until the line is back" };
  }
  // Our risk: a stored payment that is refused later is written off, £37.40 in the first half of 2025.
  await terminal.store(pence, reference);
  return { kind: "approved", reference, offline: true };
}

/** Cash due is rounded to nothing: we still give 1p and 2p, the founders insist. */
export function change(duePence: number, givenPence: number): number {
  if (givenPence < duePence) throw new Error(`${duePence - givenPence} pence short`);
  return givenPence - duePence;
}

/** Coins and notes to hand back, largest first; the drawer holds no £50 notes. */
export function coins(pence: number): Map<number, number> {
  const out = new Map<number, number>();
  for (const piece of [2000, 1000, 500, 200, 100, 50, 20, 10, 5, 2, 1]) {
    const count = Math.floor(pence / piece);
    if (count > 0) out.set(piece, count);
    pence -= count * piece;
  }
  return out;
}
