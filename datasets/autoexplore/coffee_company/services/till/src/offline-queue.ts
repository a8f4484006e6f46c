/** Orders wait here until order-api has them. The till writes first and sends second, always. */

import Database from "better-sqlite3";

const HOUR_MS = 3_600_000;
export const MAX_AGE_MS = 8 * HOUR_MS;
export const WARN_AGE_MS = 7 * HOUR_MS;

export type SendResult = "stored" | "refused" | "unreachable";
export type Send = (key: string, body: string, replay: boolean) => Promise<SendResult>;
export type Light = "grey" | "yellow" | "orange" | "red" | "stopped";

interface Row {
  seq: number;
  key: string;
  body: string;
  placedMs: number;
}

export class OfflineQueue {
  private readonly db: Database.Database;
  private busy = false;

  constructor(file: string) {
    this.db = new Database(file);
    // FULL, not NORMAL: a café box is switched off at the wall more often than one would think.
    this.db.pragma("journal_mode = WAL");
    this.db.pragma("synchronous = FULL");
    this.db.exec(`
      CREATE TABLE IF NOT EXISTS waiting (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, body TEXT NOT NULL, placedMs INTEGER NOT NULL);
      CREATE TABLE IF NOT EXISTS parked (
        key TEXT PRIMARY KEY, body TEXT NOT NULL, placedMs INTEGER NOT NULL, parkedMs INTEGER NOT NULL);`);
  }

  /** Throws when the oldest waiting order is too old for the till to go on selling. */
  put(key: string, body: string, nowMs: number): void {
    if (this.light(nowMs) === "stopped") throw new Error("offline for 8 hours: the till may not sell");
    this.db.prepare("INSERT OR IGNORE INTO waiting (key, body, placedMs) VALUES (?, ?, ?)").run(key, body, nowMs);
  }

  /** Sends in the order of ringing up and stops at the first order that cannot be delivered. */
  async replay(send: Send, nowMs: number): Promise<number> {
    if (this.busy) return 0; // two replays at once would overtake each other
    this.busy = true;
    let done = 0;
    try {
      for (let row = this.first(); row; row = this.first()) {
        const late = nowMs - row.placedMs > 10_000;
        const result = await send(row.key, row.body, late);
        if (result === "unreachable") break;
        if (result === "refused") this.park(row, nowMs);
        this.db.prepare("DELETE FROM waiting WHERE seq = ?").run(row.seq);
        done += 1;
      }
    } finally {
      this.busy = false;
    }
    return done;
  }

  waiting(): number {
    return (this.db.prepare("SELECT count(*) AS n FROM waiting").get() as { n: number }).n;
  }

  light(nowMs: number): Light {
    const oldest = this.first();
    if (!oldest) return "grey";
    const age = nowMs - oldest.placedMs;
    if (age >= MAX_AGE_MS) return "stopped";
    if (age >= WARN_AGE_MS) return "red";
    return this.waiting() > 20 || age > 15 * 60_000 ? "orange" : "yellow";
  }

  /** Printed at closing; the manager keys these in by hand. */
  parkedSlip(): string[] {
    const rows = this.db.prepare("SELECT key, placedMs FROM parked ORDER BY placedMs").all() as Row[];
    return rows.map((r) => `${new Date(r.placedMs).toISOString().slice(11, 16)} ${r.key.slice(0, 8)}`);
  }

  private first(): Row | undefined {
    return this.db.prepare("SELECT * FROM waiting ORDER BY seq LIMIT 1").get() as Row | undefined;
  }

  private park(row: Row, nowMs: number): void {
    this.db
      .prepare("INSERT OR REPLACE INTO parked (key, body, placedMs, parkedMs) VALUES (?, ?, ?, ?)")
      .run(row.key, row.body, row.placedMs, nowMs);
  }
}
