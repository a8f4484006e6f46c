import { describe, expect, it } from "vitest";
import type { Line } from "../src/basket.js";
import { COLUMNS, centre, pounds, receipt, row } from "../src/receipt.js";

const head = {
  cafe: "C07",
  address: "5 Abbey Row, Thornwick TW1 3AB",
  phone: "01632 960207",
  number: 42,
  at: new Date("2026-01-17T10:40:00Z"),
  servedBy: "E057",
};

const lines: Line[] = [
  { sku: "DR-104", name: "Flat white", unitPence: 370, quantity: 2, modifiers: ["OAT"] },
  { sku: "FD-207", name: "Lemon drizzle slice", unitPence: 330, quantity: 1, modifiers: [] },
];

describe("rows", () => {
  it("fills 32 columns with the amount at the right edge", () => {
    const text = row("2 Flat white", "£8.20");
    expect(text).toHaveLength(COLUMNS);
    expect(text).toBe("2 Flat white" + " ".repeat(15) + "£8.20");
  });

  it("cuts a long name and leaves a blank before the amount", () => {
    const text = row("3 Guatemala Cumbre Alta whole bean", "£33.00");
    expect(text).toHaveLength(COLUMNS);
    expect(text.endsWith(" £33.00")).toBe(true);
  });

  it("centres on the left of the middle when it cannot be even", () => {
    expect(centre("TOTAL").indexOf("T")).toBe(13);
  });
});

describe("amounts", () => {
  it("writes pence with two digits and the sign before the pound", () => {
    expect([5, 370, -30, 0].map(pounds)).toEqual(["£0.05", "£3.70", "-£0.30", "£0.00"]);
  });
});

describe("a whole receipt", () => {
  const totals = { grossPence: 1150, discountPence: 0, duePence: 1150 };

  it("never leaves the paper", () => {
    for (const text of receipt(head, lines, totals, 192, "Card")) expect(text.length).toBeLessThanOrEqual(COLUMNS);
  });

  it("shows number, local time, modifiers and the total", () => {
    const text = receipt(head, lines, totals, 192, "Card");
    expect(text[4]).toBe(row("No 042 C07", "17/01 10:40"));
    expect(text).toContain("   oat");
    expect(text).toContain(row("TOTAL", "£11.50"));
    expect(text.some((t) => t.startsWith("Offer"))).toBe(false);
  });

  it("prints the offer as a negative row", () => {
    const text = receipt(head, lines, { grossPence: 1150, discountPence: 200, duePence: 950 }, 158, "Cash");
    expect(text).toContain(row("Offer", "-£2.00"));
  });

  it("moves the clock in summer", () => {
    const summer = { ...head, at: new Date("2025-07-05T06:31:00Z") };
    expect(receipt(summer, lines, totals, 192, "Card")[4]).toContain("05/07 07:31");
  });
});
