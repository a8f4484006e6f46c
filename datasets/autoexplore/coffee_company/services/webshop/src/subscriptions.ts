/** Subscriptions: SB-601 one bag a month, SB-602 two bags a month, SB-603 one bag a week. */

export type Plan = "SB-601" | "SB-602" | "SB-603";

export interface Subscription {
  plan: Plan;
  /** ISO day on which the subscription began. */
  start: string;
  /** No bag leaves from the first to the last of these days, both included. */
  pause?: { from: string; to: string };
  /** Dispatch days the subscriber has skipped. */
  skipped: string[];
  cancelledAfter?: string;
}

export const BAGS: Record<Plan, number> = { "SB-601": 1, "SB-602": 2, "SB-603": 1 };
/** Charged at each dispatch, in pence. */
export const CHARGE: Record<Plan, number> = { "SB-601": 900, "SB-602": 1700, "SB-603": 850 };

const LONGEST_PAUSE_DAYS = 92;
/** Changes are accepted until noon of the second day before dispatch, when the roast list is closed. */
export const CUT_OFF_DAYS = 2;

export class SubscriptionError extends Error {}

const DAY_MS = 86_400_000;
const toDay = (iso: string): number => Date.parse(`${iso}T00:00:00Z`) / DAY_MS;
const toIso = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);
/** 1 January 1970 was a Thursday. */
const weekday = (day: number): number => (day + 4) % 7;

/** Weekly bags leave on Wednesdays; monthly ones on the first Wednesday after the 3rd of the month. */
function isDispatchDay(plan: Plan, day: number): boolean {
  if (weekday(day) !== 3) return false;
  if (plan === "SB-603") return true;
  const date = new Date(day * DAY_MS).getUTCDate();
  return date >= 4 && date <= 10;
}

export function nextDispatch(s: Subscription, today: string): string | undefined {
  const first = Math.max(toDay(today) + CUT_OFF_DAYS, toDay(s.start));
  // This many days hold the longest pause and one dispatch more, so the loop always finds a day if there is one.
  for (let day = first; day <= first + LONGEST_PAUSE_DAYS + 28 + 7; day += 1) {
    const iso = toIso(day);
    if (s.cancelledAfter !== undefined && iso > s.cancelledAfter) return undefined;
    const paused = s.pause !== undefined && s.pause.from <= iso && iso <= s.pause.to;
    if (isDispatchDay(s.plan, day) && !paused && !s.skipped.includes(iso)) return iso;
  }
  return undefined;
}

export function pause(s: Subscription, from: string, to: string): Subscription {
  const days = toDay(to) - toDay(from) + 1;
  if (days < 1) throw new SubscriptionError("the pause ends before it begins");
  if (days > LONGEST_PAUSE_DAYS) throw new SubscriptionError(`a pause lasts at most ${LONGEST_PAUSE_DAYS} days`);
  return { ...s, pause: { from, to } };
}

/** Two skips in a row are fine; a third means the subscriber wants to stop and nobody asked. */
export function skip(s: Subscription, today: string): Subscription {
  const next = nextDispatch(s, today);
  if (next === undefined) throw new SubscriptionError("there is no dispatch to skip");
  const step = s.plan === "SB-603" ? 7 : 35;
  const recent = s.skipped.filter((iso) => toDay(next) - toDay(iso) <= 2 * step);
  if (recent.length >= 2) throw new SubscriptionError("two skipped already: offer a pause or an end");
  return { ...s, skipped: [...s.skipped, next] };
}
