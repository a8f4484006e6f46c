-- Orders of the tills. Money is whole pence, VAT included.
-- Applied to production on 2021-03-02, the week after the Infirmary opened.
BEGIN;

CREATE TABLE schema_version (
    version    integer PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE orders (
    id              uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    idempotency_key char(32) NOT NULL UNIQUE,
    cafe            char(3) NOT NULL CHECK (cafe ~ '^C(0[1-9]|10)$'),
    -- Time of the till, not of the insert: a replayed order keeps the hour in
    -- which the guest stood at the counter.
    placed_at       timestamptz NOT NULL,
    stored_at       timestamptz NOT NULL DEFAULT now(),
    lines           jsonb NOT NULL CHECK (jsonb_array_length(lines) BETWEEN 1 AND 40),
    discount_pence  integer NOT NULL DEFAULT 0 CHECK (discount_pence >= 0),
    total_pence     integer NOT NULL CHECK (abs(total_pence) <= 50000),
    loyalty_token   char(12)
);

-- The area manager's screen asks for one café and one day.
CREATE INDEX orders_cafe_day ON orders (cafe, placed_at);

-- Only one order in three carries a token, so the index leaves the others out.
CREATE INDEX orders_token ON orders (loyalty_token) WHERE loyalty_token IS NOT NULL;

-- Late arrivals, for the check of the morning after an outage.
CREATE VIEW late_orders AS
SELECT id, cafe, placed_at, stored_at - placed_at AS delay, total_pence
FROM orders
WHERE stored_at - placed_at > interval '10 minutes';

CREATE TABLE event_outbox (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    routing_key text NOT NULL CHECK (routing_key IN ('order.placed', 'order.refunded')),
    body        bytea NOT NULL,
    kept_at     timestamptz NOT NULL DEFAULT now()
);

-- The service may add and read, never change: corrections are refunds.
GRANT SELECT, INSERT ON orders TO order_api;
GRANT SELECT, INSERT, DELETE ON event_outbox TO order_api;
GRANT SELECT ON orders, late_orders TO warehouse_reader;
GRANT SELECT ON schema_version TO order_api;

INSERT INTO schema_version (version) VALUES (1);
COMMIT;
