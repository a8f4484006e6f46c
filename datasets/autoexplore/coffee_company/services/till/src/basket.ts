/** What is being rung up. All amounts are whole pence, VAT included. */

import { discountFor } from "./happy-hour.js";

export const MODIFIER_PENCE = { OAT: 40, SHOT: 60, SYRUP: 50, OWN_CUP: -30 } as const;
export type Modifier = keyof typeof MODIFIER_PENCE;

/** At most this many of one modifier on a drink; the fourth shot was a joke that a guest paid for. */
const MODIFIER_LIMIT: Record<Modifier, number> = { OAT: 1, SHOT: 3, SYRUP: 2, OWN_CUP: 1 };

/** The bar code reader presses Enter twice, so the same code within this time is one scan. */
const DOUBLE_SCAN_MS = 300;

/** order-api refuses more. */
const MAX_LINES = 40;

export interface Line {
  sku: string;
  name: string;
  unitPence: number;
  quantity: number;
  modifiers: Modifier[];
}

export interface Totals {
  grossPence: number;
  discountPence: number;
  duePence: number;
}

export class BasketError extends Error {}

export class Basket {
  readonly lines: Line[] = [];
  private lastScan = { sku: "", at: -Infinity };

  constructor(private readonly cafe: string) {}

  /** Adds one unit; equal lines are merged so that the receipt stays short. */
  add(item: { sku: string; name: string; unitPence: number }, modifiers: Modifier[] = []): void {
    if (!Number.isInteger(item.unitPence)) throw new BasketError(`${item.sku}: price is not whole pence`);
    for (const kind of new Set(modifiers)) {
      if (!item.sku.startsWith("DR-")) throw new BasketError(`${kind} goes with drinks only`);
      const count = modifiers.filter((m) => m === kind).length;
      if (count > MODIFIER_LIMIT[kind]) throw new BasketError(`at most ${MODIFIER_LIMIT[kind]} × ${kind} on a drink`);
    }
    const sorted = [...modifiers].sort();
    const same = this.lines.find((l) => l.sku === item.sku && l.modifiers.join() === sorted.join());
    if (same) {
      same.quantity += 1;
      return;
    }
    if (this.lines.length === MAX_LINES) throw new BasketError("40 lines: please make it two receipts");
    this.lines.push({ ...item, quantity: 1, modifiers: sorted });
  }

  /** Returns false when the scan was the reader's echo. */
  scan(item: { sku: string; name: string; unitPence: number }, atMs: number): boolean {
    const echo = item.sku === this.lastScan.sku && atMs - this.lastScan.at < DOUBLE_SCAN_MS;
    this.lastScan = { sku: item.sku, at: atMs };
    if (!echo) this.add(item);
    return !echo;
  }

  remove(index: number): void {
    if (!(index in this.lines)) throw new BasketError(`there is no line ${index + 1}`);
    this.lines.splice(index, 1);
  }

  totals(at: Date): Totals {
    const grossPence = this.lines.reduce((sum, l) => sum + unitWithModifiers(l) * l.quantity, 0);
    // A discount never makes the receipt negative, not even with own cups.
    const discountPence = Math.min(grossPence, discountFor(this.lines, this.cafe, at));
    return { grossPence, discountPence, duePence: grossPence - discountPence };
  }
}

export function unitWithModifiers(line: Line): number {
  return line.unitPence + line.modifiers.reduce((sum, m) => sum + MODIFIER_PENCE[m], 0);
}
