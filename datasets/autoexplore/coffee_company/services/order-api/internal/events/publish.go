// Package events announces orders on the exchange bcc.events.
package events

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const exchange = "bcc.events"

// The waits between four attempts. Together with the attempts themselves they
// stay below the 3 s a till waits, as long as the broker refuses quickly.
var backOff = []time.Duration{200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond}

// Outbox keeps what could not be sent.
type Outbox interface {
	Keep(ctx context.Context, key string, body []byte) error
	Drain(ctx context.Context, send func(key string, body []byte) error) error
}

// Publisher sends events and falls back to the outbox.
type Publisher struct {
	url     string
	outbox  Outbox
	mu      sync.Mutex
	channel *amqp.Channel
	sleep   func(time.Duration)
}

// NewPublisher does not connect; the first event does.
func NewPublisher(url string, outbox Outbox) *Publisher {
	return &Publisher{url: url, outbox: outbox, sleep: time.Sleep}
}

// Publish tries four times and then keeps the event. It returns nothing: a
// sale is a sale even when nobody hears of it at once.
func (p *Publisher) Publish(ctx context.Context, key string, body any) {
	raw, err := json.Marshal(body)
	if err != nil {
		slog.Error("event cannot be written as JSON", "key", key, "error", err)
		return
	}
	for attempt := 0; ; attempt++ {
		if err = p.send(key, raw); err == nil {
			return
		}
		if attempt == len(backOff) {
			break
		}
		p.sleep(backOff[attempt])
	}
	slog.Warn("event kept in the outbox", "key", key, "error", err)
	if err := p.outbox.Keep(context.WithoutCancel(ctx), key, raw); err != nil {
		slog.Error("event lost", "key", key, "body", string(raw), "error", err)
	}
}

// DrainOutbox sends kept events in rounds until ctx ends. Consumers must
// accept an event twice: a crash between sending and deleting repeats it.
func (p *Publisher) DrainOutbox(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := p.outbox.Drain(ctx, p.send); err != nil {
				slog.Warn("outbox not drained", "error", err)
			}
		}
	}
}

func (p *Publisher) send(key string, body []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.channel == nil || p.channel.IsClosed() {
		conn, err := amqp.DialConfig(p.url, amqp.Config{Heartbeat: 10 * time.Second, Dial: amqp.DefaultDial(500 * time.Millisecond)})
		if err != nil {
			return err
		}
		if p.channel, err = conn.Channel(); err != nil {
			return err
		}
	}
	// Messages expire after 6 hours: the consumers read the database after a
	// longer break, because a late order.placed would add stamps twice.
	return p.channel.Publish(exchange, key, false, false, amqp.Publishing{
		ContentType: "application/json", DeliveryMode: amqp.Persistent, Expiration: "21600000", Body: body,
	})
}
