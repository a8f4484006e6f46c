import { describe, expect, it } from "vitest";
import { CHARGE, type Subscription, SubscriptionError, nextDispatch, pause, skip } from "../src/subscriptions.js";

const weekly: Subscription = { plan: "SB-603", start: "2025-03-01", skipped: [] };
const monthly: Subscription = { plan: "SB-601", start: "2025-03-01", skipped: [] };

describe("next dispatch", () => {
  it("is a Wednesday for the weekly bag", () => {
    // 18 January 2026 is a Sunday.
    expect(nextDispatch(weekly, "2026-01-18")).toBe("2026-01-21");
    expect(nextDispatch(weekly, "2026-01-19")).toBe("2026-01-21");
  });

  it("moves on when the roast list of this week is closed", () => {
    expect(nextDispatch(weekly, "2026-01-20")).toBe("2026-01-28");
  });

  it("is the first Wednesday after the 3rd for monthly bags", () => {
    expect(nextDispatch(monthly, "2026-01-20")).toBe("2026-02-04");
    // 3 December 2025 is a Wednesday but not after the 3rd.
    expect(nextDispatch(monthly, "2025-11-20")).toBe("2025-12-10");
  });

  it("does not start before the start", () => {
    expect(nextDispatch({ ...weekly, start: "2026-02-15" }, "2026-01-18")).toBe("2026-02-18");
  });

  it("ends with the subscription", () => {
    expect(nextDispatch({ ...weekly, cancelledAfter: "2026-01-20" }, "2026-01-18")).toBeUndefined();
  });
});

describe("pausing", () => {
  it("counts both ends of the pause", () => {
    const away = pause(weekly, "2026-01-21", "2026-01-28");
    expect(nextDispatch(away, "2026-01-18")).toBe("2026-02-04");
  });

  it("lasts at most 92 days", () => {
    expect(() => pause(weekly, "2026-02-01", "2026-05-03")).not.toThrow();
    expect(() => pause(weekly, "2026-02-01", "2026-05-04")).toThrow(SubscriptionError);
    expect(() => pause(weekly, "2026-02-02", "2026-02-01")).toThrow("before it begins");
  });
});

describe("skipping", () => {
  it("takes the next bag out and refuses a third in a row", () => {
    const once = skip(weekly, "2026-01-18");
    const twice = skip(once, "2026-01-18");
    expect(twice.skipped).toEqual(["2026-01-21", "2026-01-28"]);
    expect(() => skip(twice, "2026-01-18")).toThrow("offer a pause");
  });
});

describe("charges", () => {
  it("makes two bags cheaper than twice one", () => {
    expect(CHARGE["SB-602"]).toBe(1700);
    expect(2 * CHARGE["SB-601"] - CHARGE["SB-602"]).toBe(100);
  });
});
