// Command server runs order-api. It only wires the parts together; each part
// is tested in its own package.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"gopkg.in/yaml.v3"

	"code.int.brackmouthcoffee.example/order-api/internal/api"
	"code.int.brackmouthcoffee.example/order-api/internal/events"
	"code.int.brackmouthcoffee.example/order-api/internal/store"
)

type config struct {
	Server struct {
		Listen         string        `yaml:"listen"`
		RequestTimeout time.Duration `yaml:"request_timeout"`
		ReadTimeout    time.Duration `yaml:"read_timeout"`
		ShutdownGrace  time.Duration `yaml:"shutdown_grace"`
	} `yaml:"server"`
	Database struct {
		Host           string `yaml:"host"`
		Port           int    `yaml:"port"`
		Name           string `yaml:"name"`
		User           string `yaml:"user"`
		MaxConnections int    `yaml:"max_connections"`
	} `yaml:"database"`
	Events struct {
		URL              string        `yaml:"url"`
		OutboxDrainEvery time.Duration `yaml:"outbox_drain_every"`
	} `yaml:"events"`
}

func main() {
	path := flag.String("config", "/etc/bcc/order-api.yaml", "settings file")
	flag.Parse()
	if err := run(*path); err != nil {
		slog.Error("order-api stopped", "error", err)
		os.Exit(1)
	}
}

func run(path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	var cfg config
	if err := yaml.Unmarshal(raw, &cfg); err != nil {
		return fmt.Errorf("settings %s: %w", path, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()

	dsn := fmt.Sprintf("postgres://%s:%s@%s:%d/%s?pool_max_conns=%d", cfg.Database.User,
		os.Getenv("ORDERS_DB_PASSWORD"), cfg.Database.Host, cfg.Database.Port, cfg.Database.Name,
		cfg.Database.MaxConnections)
	db, err := store.Open(ctx, dsn)
	if err != nil {
		return err
	}
	defer db.Close()

	// A broker that is down must not keep the tills from selling: the publisher
	// starts without it and fills the outbox until it comes back.
	pub := events.NewPublisher(cfg.Events.URL, db)
	go pub.DrainOutbox(ctx, cfg.Events.OutboxDrainEvery)

	srv := &http.Server{
		Addr:        cfg.Server.Listen,
		Handler:     http.TimeoutHandler(api.NewHandler(db, pub, time.Now), cfg.Server.RequestTimeout, "timeout"),
		ReadTimeout: cfg.Server.ReadTimeout,
	}
	go func() {
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.Background(), cfg.Server.ShutdownGrace)
		defer cancel()
		_ = srv.Shutdown(grace)
	}()
	slog.Info("order-api listening", "address", cfg.Server.Listen)
	if err := srv.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
