// Command label-printer takes print jobs over HTTP and feeds the two label
// printers of the roastery.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"code.int.brackmouthcoffee.example/label-printer/labels"
)

const (
	maxCopies  = 320
	jobLife    = 30 * time.Minute
	retryEvery = 15 * time.Second
)

// The printers by the first letters of the SKU. Film in the paper printer
// melts on its head, so nobody may choose.
var printers = map[string]string{
	"BN-": "10.20.8.21:9100", // starboard
	"WS-": "10.20.8.22:9100", // port
}

type job struct {
	Lot    string `json:"lot"`
	SKU    string `json:"sku"`
	Copies int    `json:"copies"`
}

// held knows the lots that did not pass the cupping table.
type held interface{ Held(lot string) bool }

type heldFile string

// Held reads the file afresh each time: Vikram Nair edits it with a text editor.
func (f heldFile) Held(lot string) bool {
	raw, err := os.ReadFile(string(f))
	return err == nil && strings.Contains("\n"+string(raw)+"\n", "\n"+lot+"\n")
}

type server struct {
	queue chan job
	held  held
	now   func() time.Time
}

func main() {
	s := server{queue: make(chan job, 64), held: heldFile("/srv/roast/held.txt"), now: time.Now}
	go s.feed()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /jobs", s.accept)
	mux.HandleFunc("GET /healthz", health)
	slog.Info("label-printer listening", "port", 8060)
	if err := http.ListenAndServe(":8060", mux); err != nil {
		slog.Error("stopped", "error", err)
		os.Exit(1)
	}
}

func (s server) accept(w http.ResponseWriter, r *http.Request) {
	var j job
	if err := json.NewDecoder(r.Body).Decode(&j); err != nil {
		http.Error(w, "not a job: "+err.Error(), http.StatusBadRequest)
		return
	}
	if j.Copies < 1 || j.Copies > maxCopies {
		http.Error(w, fmt.Sprintf("%d copies, 1 to %d are possible", j.Copies, maxCopies), http.StatusUnprocessableEntity)
		return
	}
	if s.held.Held(j.Lot) {
		http.Error(w, "held: ask Vikram", http.StatusConflict)
		return
	}
	if _, err := labels.New(j.Lot, j.SKU); err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	select {
	case s.queue <- j:
		w.WriteHeader(http.StatusAccepted)
	default: // 64 jobs wait: both printers stand still and nobody has noticed
		http.Error(w, "queue is full", http.StatusServiceUnavailable)
	}
}

// feed prints one job after the other. Two at once would mix two lots on the
// packing table, which is how the recall drill of 2023 began.
func (s server) feed() {
	for j := range s.queue {
		deadline := s.now().Add(jobLife)
		for {
			err := print(j)
			if err == nil {
				break
			}
			if s.now().After(deadline) {
				slog.Error("job vanished", "lot", j.Lot, "sku", j.SKU, "error", err)
				break
			}
			time.Sleep(retryEvery)
		}
	}
}

func print(j job) error {
	address, ok := printers[j.SKU[:3]]
	if !ok {
		return errors.New("no printer for " + j.SKU)
	}
	label, err := labels.New(j.Lot, j.SKU)
	if err != nil {
		return err
	}
	conn, err := net.DialTimeout("tcp", address, 2*time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Write([]byte(label.Commands(j.Copies)))
	return err
}

func health(w http.ResponseWriter, _ *http.Request) {
	names := map[string]string{"BN-": "starboard", "WS-": "port"}
	state := map[string]string{}
	for prefix, address := range printers {
		state[names[prefix]] = "ready"
		conn, err := net.DialTimeout("tcp", address, 500*time.Millisecond)
		if err != nil {
			state[names[prefix]] = "gone"
			continue
		}
		conn.Close()
	}
	_ = json.NewEncoder(w).Encode(state)
}
