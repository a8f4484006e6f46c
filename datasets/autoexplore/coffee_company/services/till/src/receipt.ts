/** Receipts for the 58 mm printer: 32 columns of fixed width, code page 858 (it has the pound sign). */

import { type Line, type Modifier, type Totals, unitWithModifiers } from "./basket.js";

export const COLUMNS = 32;

const MODIFIER_TEXT: Record<Modifier, string> = {
  OAT: "oat",
  SHOT: "extra shot",
  SYRUP: "syrup",
  OWN_CUP: "own cup",
};

export interface Head {
  cafe: string;
  address: string;
  phone: string;
  number: number;
  at: Date;
  servedBy: string; // employee id; names are not printed since a guest followed a barista home in 2022
}

export function pounds(pence: number): string {
  const sign = pence < 0 ? "-" : "";
  const value = Math.abs(pence);
  return `${sign}£${Math.floor(value / 100)}.${String(value % 100).padStart(2, "0")}`;
}

/** Left text and right amount on one row; a long name is cut, never the amount. */
export function row(left: string, right: string): string {
  const room = COLUMNS - right.length - 1;
  return left.slice(0, room).padEnd(COLUMNS - right.length) + right;
}

export function centre(text: string): string {
  const cut = text.slice(0, COLUMNS);
  return " ".repeat(Math.floor((COLUMNS - cut.length) / 2)) + cut;
}

export function receipt(head: Head, lines: Line[], totals: Totals, vatPence: number, paidBy: string): string[] {
  const out = [
    centre("BRACKMOUTH COFFEE COMPANY"),
    centre(head.address),
    centre(head.phone),
    "=".repeat(COLUMNS),
    row(`No ${String(head.number).padStart(3, "0")} ${head.cafe}`, stamp(head.at)),
    "-".repeat(COLUMNS),
  ];
  for (const line of lines) {
    out.push(row(`${line.quantity} ${line.name}`, pounds(unitWithModifiers(line) * line.quantity)));
    if (line.modifiers.length > 0) out.push(`   ${line.modifiers.map((m) => MODIFIER_TEXT[m]).join(", ")}`.slice(0, COLUMNS));
  }
  out.push("-".repeat(COLUMNS));
  if (totals.discountPence > 0) out.push(row("Offer", pounds(-totals.discountPence)));
  out.push(
    row("TOTAL", pounds(totals.duePence)),
    row("of which VAT", pounds(vatPence)),
    row("Paid by", paidBy),
    "=".repeat(COLUMNS),
    centre("VAT GB 000 4417 21"),
    centre(`Served by ${head.servedBy}`),
    centre("Bring it back within 14 days"),
  );
  return out;
}

function stamp(at: Date): string {
  const parts = new Intl.DateTimeFormat("en-GB", {
    timeZone: "Europe/London", day: "2-digit", month: "2-digit", hour: "2-digit", minute: "2-digit", hourCycle: "h23",
  }).formatToParts(at);
  const part = (type: string): string => parts.find((p) => p.type === type)?.value ?? "";
  return `${part("day")}/${part("month")} ${part("hour")}:${part("minute")}`;
}
