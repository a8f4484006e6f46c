/** Orders wait here until order-api has them. The till writes first and sends second, always. */

import Database from "better-sqlite3";

const HOUR_MS = 3_600_000;
/** Eight hours after the oldest unsent order the till stops; the café goes on with paper slips. */
export const MAX_AGE_MS = 8 * HOUR_MS;
export const WARN_AGE_MS = 7 * HOUR_MS;
/** Sending takes a moment even on a good line; nobody should see a cloud for that. */
const CALM_MS = 60_000;

export type SendResult = "stored" | "refused" | "unreachable";
export type Send = (key: string, body: string, replay: boolean) => Promise<SendResult>;
export type Cloud = "green" | "grey" | "blinking" | "red";

interface Row {
  seq: number;
  key: string;
  body: string;
  placedMs: number;
}

export interface Replay {
  sent: number;
  /** Key of the order that order-api refused and that now blocks the queue. */
  blockedBy?: string;
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
        key TEXT PRIMARY KEY, body TEXT NOT NULL, placedMs INTEGER NOT NULL, ticket TEXT NOT NULL);`);
  }

  /** A sale is finished when it stands here. */
  put(key: string, body: string, nowMs: number): void {
    this.db.prepare("INSERT OR IGNORE INTO waiting (key, body, placedMs) VALUES (?, ?, ?)").run(key, body, nowMs);
  }

  /** Sends in the order of ringing up and stops at the first order that is not taken. */
  async replay(send: Send, nowMs: number): Promise<Replay> {
    if (this.busy) return { sent: 0 }; // two replays at once would overtake each other
    this.busy = true;
    let sent = 0;
    try {
      for (let row = this.first(); row; row = this.first()) {
        const result = await send(row.key, row.body, nowMs - row.placedMs > CALM_MS);
        if (result === "unreachable") return { sent };
        if (result === "refused") return { sent, blockedBy: row.key };
        this.db.prepare("DELETE FROM waiting WHERE seq = ?").run(row.seq);
        sent += 1;
      }
      return { sent };
    } finally {
      this.busy = false;
    }
  }

  waiting(): number {
    return (this.db.prepare("SELECT count(*) AS n FROM waiting").get() as { n: number }).n;
  }

  cloud(nowMs: number): Cloud {
    const age = nowMs - (this.first()?.placedMs ?? nowMs);
    if (age >= MAX_AGE_MS) return "red";
    if (age >= WARN_AGE_MS) return "blinking";
    return age >= CALM_MS ? "grey" : "green";
  }

  /** Nothing is sold while this is false. */
  sellingAllowed(nowMs: number): boolean {
    return this.cloud(nowMs) !== "red";
  }

  /** Sets the head aside; a person decides this and names the ticket. */
  parkHead(ticket: string): void {
    const head = this.first();
    if (!head) throw new Error("nothing is waiting");
    if (!/^T-\d{5}$/.test(ticket)) throw new Error(`"${ticket}" is not a ticket number`);
    this.db.transaction(() => {
      this.db.prepare("INSERT INTO parked VALUES (?, ?, ?, ?)").run(head.key, head.body, head.placedMs, ticket);
      this.db.prepare("DELETE FROM waiting WHERE seq = ?").run(head.seq);
    })();
  }

  /** For the closing slip. */
  parkedSlip(): string[] {
    const rows = this.db.prepare("SELECT key, ticket FROM parked ORDER BY placedMs").all() as { key: string; ticket: string }[];
    return rows.map((r) => `${r.ticket} ${r.key.slice(0, 8)}`);
  }

  private first(): Row | undefined {
    return this.db.prepare("SELECT * FROM waiting ORDER BY seq LIMIT 1").get() as Row | undefined;
  }
}
