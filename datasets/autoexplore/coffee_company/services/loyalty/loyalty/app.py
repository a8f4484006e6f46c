"""HTTP endpoints of the loyalty service, used by the tills, the app and the support desk."""

import os
from datetime import UTC, datetime
from typing import Annotated

import psycopg
from fastapi import Depends, FastAPI, Header, HTTPException
from psycopg.rows import tuple_row

from loyalty import stamps, tokens

app = FastAPI(title="loyalty", docs_url=None)

# May move the stamps of a card that was lost twice within six months.
SUPPORT_IDS = frozenset({"E023", "E024"})


def connection():
    """One connection a request; the pool of two workers stays far below the server's limit."""
    with psycopg.connect(os.environ["LOYALTY_DB"], row_factory=tuple_row) as conn:
        yield conn


Conn = Annotated[psycopg.Connection, Depends(connection)]


def checked(token: str) -> str:
    """Refuse a mistyped token before the database is asked."""
    if not tokens.valid(token):
        raise HTTPException(422, "this is not a card of ours")
    return tokens.normalise(token)


Token = Annotated[str, Depends(checked)]


def load(conn: psycopg.Connection, token: str, *, lock: bool = False) -> list[stamps.Stamp]:
    """Read the unused stamps of a card, oldest first."""
    known = conn.execute("SELECT 1 FROM cards WHERE token = %s" + (" FOR UPDATE" if lock else ""), [token])
    if known.fetchone() is None:
        raise HTTPException(404, "unknown card")
    rows = conn.execute(
        "SELECT id, given_at FROM stamps WHERE token = %s AND used_at IS NULL ORDER BY given_at, id", [token]
    )
    return [stamps.Stamp(*row) for row in rows]


@app.get("/cards/{token}")
def balance(token: Token, conn: Conn) -> dict[str, object]:
    """Tell how many stamps count today and when the next one is lost."""
    now = datetime.now(UTC)
    live = stamps.live(load(conn, token), now)
    return {
        "stamps": len(live),
        "free_drinks": len(live) // stamps.STAMPS_FOR_A_DRINK,
        "next_expiry": stamps.expiry(live[0].given_at).date().isoformat() if live else None,
    }


@app.post("/cards/{token}/redeem")
def redeem(token: Token, conn: Conn) -> dict[str, int]:
    """Use up the nine oldest stamps.

    The card's row is locked, so two terminals of one café cannot give the same drink twice.
    """
    now = datetime.now(UTC)
    used = stamps.to_use(load(conn, token, lock=True), now)
    if used is None:
        raise HTTPException(409, "fewer than nine stamps")
    conn.execute("UPDATE stamps SET used_at = %s WHERE id = ANY(%s)", [now, [s.id for s in used]])
    return {"used": len(used)}


@app.post("/cards/{token}/merge")
def merge(token: Token, lost: str, conn: Conn, x_employee: Annotated[str, Header()]) -> dict[str, int]:
    """Move the unused stamps of a lost card to this one and close the lost one."""
    again = conn.execute("SELECT 1 FROM merges WHERE token = %s AND merged_at > now() - interval '183 days'", [checked(lost)])
    if again.fetchone() is not None and x_employee not in SUPPORT_IDS:
        raise HTTPException(403, "second loss in six months: ask the support desk")
    old = checked(lost)
    if old == token:
        raise HTTPException(409, "both cards are the same")
    load(conn, token, lock=True)
    load(conn, old, lock=True)
    moved = conn.execute("UPDATE stamps SET token = %s WHERE token = %s AND used_at IS NULL", [token, old])
    conn.execute("INSERT INTO merges (token, lost, merged_at) VALUES (%s, %s, now())", [token, old])
    conn.execute("UPDATE cards SET closed_at = now(), closed_by = %s WHERE token = %s", [x_employee, old])
    return {"moved": moved.rowcount}
