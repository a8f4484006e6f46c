// Package api holds the HTTP side of order-api.
package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"code.int.brackmouthcoffee.example/order-api/internal/money"
	"code.int.brackmouthcoffee.example/order-api/internal/refund"
)

// ErrNotFound is returned by a Store for an unknown order.
var ErrNotFound = errors.New("order not found")

// Store keeps orders; the PostgreSQL one is in package store.
type Store interface {
	Insert(ctx context.Context, o Order) (stored Order, created bool, err error)
	ByID(ctx context.Context, id string) (Order, error)
	AddRefund(ctx context.Context, orderID string, amount money.Pence, reason refund.Reason) error
	Ping(ctx context.Context) error
}

// Publisher announces what happened; it never fails the request.
type Publisher interface {
	Publish(ctx context.Context, key string, body any)
}

// NewHandler returns the routes. The clock is passed in so that tests own it.
func NewHandler(s Store, p Publisher, now func() time.Time) http.Handler {
	h := handler{store: s, events: p, now: now}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/orders", h.placeOrder)
	mux.HandleFunc("GET /v1/orders/{id}", h.getOrder)
	mux.HandleFunc("POST /v1/orders/{id}/refunds", h.refundOrder)
	mux.HandleFunc("GET /healthz", h.health)
	return mux
}

type handler struct {
	store  Store
	events Publisher
	now    func() time.Time
}

func (h handler) placeOrder(w http.ResponseWriter, r *http.Request) {
	var o Order
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&o); err != nil {
		answer(w, http.StatusBadRequest, map[string]string{"error": "not an order: " + err.Error()})
		return
	}
	o.IdempotencyKey = r.Header.Get("Idempotency-Key")
	if err := Validate(o, h.now(), r.Header.Get("X-Bcc-Replay") == "true"); err != nil {
		answer(w, http.StatusUnprocessableEntity, map[string]string{"error": err.Error()})
		return
	}
	stored, created, err := h.store.Insert(r.Context(), o)
	if err != nil {
		slog.Error("insert order", "cafe", o.Cafe, "error", err)
		answer(w, http.StatusServiceUnavailable, map[string]string{"error": "try again"})
		return
	}
	if !created { // The till lost our first answer; the event is already out.
		answer(w, http.StatusOK, stored)
		return
	}
	h.events.Publish(r.Context(), "order.placed", stored)
	answer(w, http.StatusCreated, stored)
}

func (h handler) getOrder(w http.ResponseWriter, r *http.Request) {
	o, err := h.store.ByID(r.Context(), r.PathValue("id"))
	if err != nil {
		answer(w, http.StatusNotFound, map[string]string{"error": err.Error()})
		return
	}
	answer(w, http.StatusOK, o)
}

func (h handler) refundOrder(w http.ResponseWriter, r *http.Request) {
	o, err := h.store.ByID(r.Context(), r.PathValue("id"))
	if err != nil {
		answer(w, http.StatusNotFound, map[string]string{"error": err.Error()})
		return
	}
	var req refund.Request
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		answer(w, http.StatusBadRequest, map[string]string{"error": "not a refund: " + err.Error()})
		return
	}
	sale := refund.Sale{PlacedAt: o.PlacedAt, Paid: o.Total, Refunded: o.Refunded}
	if err := refund.Check(sale, req, h.now()); err != nil {
		answer(w, http.StatusConflict, map[string]string{"error": err.Error()})
		return
	}
	if err := h.store.AddRefund(r.Context(), o.ID, req.Amount, req.Reason); err != nil {
		answer(w, http.StatusServiceUnavailable, map[string]string{"error": "try again"})
		return
	}
	body := map[string]any{"order_id": o.ID, "cafe": o.Cafe, "amount_pence": req.Amount, "reason": req.Reason, "by": req.By}
	h.events.Publish(r.Context(), "order.refunded", body)
	answer(w, http.StatusCreated, body)
}

func (h handler) health(w http.ResponseWriter, r *http.Request) {
	if err := h.store.Ping(r.Context()); err != nil {
		answer(w, http.StatusServiceUnavailable, map[string]string{"database": err.Error()})
		return
	}
	answer(w, http.StatusOK, map[string]string{"database": "ok"})
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}
