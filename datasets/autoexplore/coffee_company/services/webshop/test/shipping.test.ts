import { describe, expect, it } from "vitest";
import { BAG_GRAMS, ShippingError, dispatchDay, quote, zoneOf } from "../src/shipping.js";

const order = (bags: number, valuePence: number, zone: "mainland" | "islands" | "collect" = "mainland") =>
  quote({ grams: bags * BAG_GRAMS, valuePence, zone, subscription: false });

describe("price of a parcel", () => {
  it("sends one or two bags through the letterbox", () => {
    expect(order(1, 950)).toMatchObject({ pence: 285, service: "letterbox" });
    expect(order(2, 1900).service).toBe("letterbox");
    expect(order(3, 2850)).toMatchObject({ pence: 395, service: "parcel" });
  });

  it("is free from £35 on the mainland", () => {
    expect(order(4, 3499).pence).toBe(395);
    expect(order(4, 3500).pence).toBe(0);
  });

  it("lets islands pay only the difference above £35", () => {
    expect(order(4, 3000, "islands").pence).toBe(695);
    expect(order(4, 4000, "islands")).toMatchObject({ pence: 300, days: "3–5" });
  });

  it("counts the box: seven bags are 2,016 g and go into the next step", () => {
    expect(order(6, 3000).pence).toBe(395);
    expect(order(7, 3400).pence).toBe(545);
  });

  it("includes postage in a subscription", () => {
    expect(quote({ grams: BAG_GRAMS, valuePence: 900, zone: "islands", subscription: true }).pence).toBe(0);
  });

  it("refuses more than 15 kg and an empty parcel", () => {
    expect(() => order(56, 53_200)).toThrow(ShippingError);
    expect(() => order(0, 0)).toThrow("empty");
  });

  it("costs nothing to collect", () => {
    expect(order(20, 19_000, "collect").pence).toBe(0);
  });
});

describe("zones", () => {
  it("goes by area, and by district for Scilly", () => {
    expect(zoneOf("br1 4ry")).toBe("mainland");
    expect(zoneOf("ZE1 0AA")).toBe("islands");
    expect(zoneOf("TR21 0AA")).toBe("islands");
    expect(zoneOf("TR1 1AA")).toBe("mainland");
    expect(() => zoneOf("12345")).toThrow("not a postcode");
  });
});

describe("day of dispatch", () => {
  it.each([
    ["2026-01-14T11:59:00Z", "2026-01-14"], // Wednesday before noon
    ["2026-01-14T12:00:00Z", "2026-01-15"],
    ["2026-01-16T13:00:00Z", "2026-01-20"], // Friday afternoon waits until Tuesday
    ["2026-01-19T09:00:00Z", "2026-01-20"], // nothing leaves on a Monday
  ])("paid %s leaves %s", (paid, leaves) => {
    expect(dispatchDay(new Date(paid)).toISOString().slice(0, 10)).toBe(leaves);
  });
});
