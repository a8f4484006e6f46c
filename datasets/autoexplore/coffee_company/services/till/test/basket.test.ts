import { describe, expect, it } from "vitest";
import { Basket, BasketError } from "../src/basket.js";

const flatWhite = { sku: "DR-104", name: "Flat white", unitPence: 370 };
const coldBrew = { sku: "DR-111", name: "Cold brew", unitPence: 420 };
const filter = { sku: "DR-109", name: "Batch filter", unitPence: 290 };
const bun = { sku: "FD-203", name: "Cinnamon bun", unitPence: 340 };

const quietDay = new Date("2026-01-20T11:00:00Z");

describe("adding", () => {
  it("merges equal lines and keeps different ones apart", () => {
    const basket = new Basket("C03");
    basket.add(flatWhite, ["OAT", "SHOT"]);
    basket.add(flatWhite, ["SHOT", "OAT"]);
    basket.add(flatWhite);
    expect(basket.lines.map((l) => l.quantity)).toEqual([2, 1]);
    expect(basket.totals(quietDay).duePence).toBe(2 * 470 + 370);
  });

  it("takes 30p off for an own cup", () => {
    const basket = new Basket("C10");
    basket.add(filter, ["OWN_CUP"]);
    expect(basket.totals(quietDay).duePence).toBe(260);
  });

  it("refuses two own cups, a fourth shot and oat drink in a bun", () => {
    const basket = new Basket("C03");
    expect(() => basket.add(flatWhite, ["OWN_CUP", "OWN_CUP"])).toThrow(BasketError);
    expect(() => basket.add(flatWhite, ["SHOT", "SHOT", "SHOT", "SHOT"])).toThrow("at most 3");
    expect(() => basket.add(bun, ["OAT"])).toThrow("drinks only");
  });

  it("ignores the echo of the bar code reader", () => {
    const basket = new Basket("C03");
    expect(basket.scan(bun, 1000)).toBe(true);
    expect(basket.scan(bun, 1299)).toBe(false);
    expect(basket.scan(bun, 1700)).toBe(true);
    expect(basket.lines[0]?.quantity).toBe(2);
  });
});

describe("offers", () => {
  it("gives £1 off once a receipt until 07:59 in Foghorn Mornings", () => {
    const basket = new Basket("C04");
    basket.add(flatWhite);
    basket.add(filter);
    basket.add(bun);
    expect(basket.totals(new Date("2025-01-14T07:59:59Z")).discountPence).toBe(100);
    expect(basket.totals(new Date("2025-01-14T08:00:00Z")).discountPence).toBe(0);
  });

  it("gives nothing off food alone", () => {
    const basket = new Basket("C04");
    basket.add(bun);
    expect(basket.totals(new Date("2025-01-14T07:00:00Z")).discountPence).toBe(0);
  });

  it("halves every second cold brew in the summer of 2025, by local time", () => {
    const basket = new Basket("C06");
    for (let i = 0; i < 3; i += 1) basket.add(coldBrew);
    // 23:30 UTC on 8 June is already 9 June in Brackmouth.
    expect(basket.totals(new Date("2025-06-08T23:30:00Z")).discountPence).toBe(210);
    expect(basket.totals(new Date("2025-06-08T22:30:00Z")).discountPence).toBe(0);
  });

  it("sells a pair for £6.30 after 13:00 in the summer of 2026", () => {
    const basket = new Basket("C06");
    for (let i = 0; i < 2; i += 1) basket.add(coldBrew);
    expect(basket.totals(new Date("2026-07-01T12:00:00Z")).duePence).toBe(630);
    expect(basket.totals(new Date("2026-07-01T11:59:00Z")).duePence).toBe(840);
  });

  it("takes nothing off for Early Tide, whose offer is a refill", () => {
    const basket = new Basket("C01");
    basket.add(flatWhite);
    expect(basket.totals(new Date("2026-01-16T07:30:00Z")).discountPence).toBe(0);
  });
});
