// Package store keeps orders in PostgreSQL.
package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"code.int.brackmouthcoffee.example/order-api/internal/api"
	"code.int.brackmouthcoffee.example/order-api/internal/money"
	"code.int.brackmouthcoffee.example/order-api/internal/refund"
)

// Postgres implements api.Store and the outbox of the publisher.
type Postgres struct{ pool *pgxpool.Pool }

// Open connects and checks that the migrations have run.
func Open(ctx context.Context, dsn string) (*Postgres, error) {
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	var version int
	if err := pool.QueryRow(ctx, `SELECT max(version) FROM schema_version`).Scan(&version); err != nil {
		return nil, fmt.Errorf("schema version: %w", err)
	}
	if version < 2 {
		return nil, fmt.Errorf("database is at version %d, this build needs 2", version)
	}
	return &Postgres{pool}, nil
}

// Close gives the connections back.
func (p *Postgres) Close() { p.pool.Close() }

// Ping is used by the health check.
func (p *Postgres) Ping(ctx context.Context) error { return p.pool.Ping(ctx) }

// Insert stores an order once; a repeated key returns the first one.
func (p *Postgres) Insert(ctx context.Context, o api.Order) (api.Order, bool, error) {
	lines, err := json.Marshal(o.Lines)
	if err != nil {
		return o, false, err
	}
	// Lines stay as JSON beside the row: the tills send them whole, nobody
	// updates one, and the warehouse unpacks them at night.
	err = p.pool.QueryRow(ctx, `
		INSERT INTO orders (idempotency_key, cafe, placed_at, lines, discount_pence, total_pence, loyalty_token)
		VALUES ($1, $2, $3, $4, $5, $6, nullif($7, ''))
		ON CONFLICT (idempotency_key) DO NOTHING
		RETURNING id`,
		o.IdempotencyKey, o.Cafe, o.PlacedAt, lines, o.Discount, o.Total, o.LoyaltyToken).Scan(&o.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		stored, err := p.one(ctx, `idempotency_key = $1`, o.IdempotencyKey)
		return stored, false, err
	}
	return o, err == nil, err
}

// ByID returns an order with what has been refunded on it so far.
func (p *Postgres) ByID(ctx context.Context, id string) (api.Order, error) {
	return p.one(ctx, `id::text = $1`, id)
}

func (p *Postgres) one(ctx context.Context, where, value string) (api.Order, error) {
	var o api.Order
	var lines []byte
	err := p.pool.QueryRow(ctx, `
		SELECT id::text, cafe, placed_at, lines, discount_pence, total_pence,
		       coalesce((SELECT sum(amount_pence) FROM refunds WHERE order_id = orders.id), 0)
		FROM orders WHERE `+where, value).
		Scan(&o.ID, &o.Cafe, &o.PlacedAt, &lines, &o.Discount, &o.Total, &o.Refunded)
	if errors.Is(err, pgx.ErrNoRows) {
		return o, api.ErrNotFound
	}
	if err != nil {
		return o, err
	}
	return o, json.Unmarshal(lines, &o.Lines)
}

// AddRefund relies on the table's trigger to refuse more than was paid, so two
// shift leads pressing the button at once cannot refund twice.
func (p *Postgres) AddRefund(ctx context.Context, orderID string, amount money.Pence, reason refund.Reason) error {
	_, err := p.pool.Exec(ctx, `INSERT INTO refunds (order_id, amount_pence, reason) VALUES ($1, $2, $3)`,
		orderID, amount, string(reason))
	return err
}

// Keep puts an event aside until the broker is back.
func (p *Postgres) Keep(ctx context.Context, key string, body []byte) error {
	_, err := p.pool.Exec(ctx, `INSERT INTO event_outbox (routing_key, body) VALUES ($1, $2)`, key, body)
	return err
}

// Drain hands at most 250 kept events to send, oldest first, and stops at the first failure.
func (p *Postgres) Drain(ctx context.Context, send func(key string, body []byte) error) error {
	return pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT id, routing_key, body FROM event_outbox ORDER BY id LIMIT 250 FOR UPDATE SKIP LOCKED`)
		if err != nil {
			return err
		}
		type kept struct {
			ID         int64
			RoutingKey string
			Body       []byte
		}
		list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[kept])
		if err != nil {
			return err
		}
		for _, k := range list {
			if send(k.RoutingKey, k.Body) != nil {
				return nil // keep what has been sent, try the rest in the next round
			}
			if _, err := tx.Exec(ctx, `DELETE FROM event_outbox WHERE id = $1`, k.ID); err != nil {
				return err
			}
		}
		return nil
	})
}
