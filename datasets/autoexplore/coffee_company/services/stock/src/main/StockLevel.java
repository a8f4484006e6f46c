package bcc.stock;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * What lies at one site of one product, and who has been promised a part of it. Immutable: every
 * change returns a new level, and the caller stores it with the version it read.
 */
public record StockLevel(String sku, String site, long onHand, List<Reservation> reservations, long version) {

    /** A promise that ends by itself. */
    public record Reservation(String id, long quantity, Instant until) {
    }

    /** No checkout and no pick list may hold goods for longer. */
    public static final Duration LONGEST = Duration.ofHours(36);

    public StockLevel {
        if (quantityTooLow(onHand, site)) {
            throw new IllegalArgumentException(sku + " at " + site + ": " + onHand + " on hand");
        }
        reservations = List.copyOf(reservations);
    }

    /**
     * Cafés may go below zero by 20 pieces: they sell a pastry before somebody books the delivery of
     * 05:30. The roastery may not, since a lot that is not there cannot be labelled.
     */
    private static boolean quantityTooLow(long onHand, String site) {
        return onHand < (site.startsWith("C") ? -20 : 0);
    }

    /** Quantity that is still promised to somebody. */
    public long reserved(Instant now) {
        return reservations.stream().filter(r -> r.until().isAfter(now)).mapToLong(Reservation::quantity).sum();
    }

    public long available(Instant now) {
        return onHand - reserved(now);
    }

    /** Promises a quantity; empty when there is too little. */
    public Optional<StockLevel> reserve(String id, long quantity, Duration length, Instant now) {
        if (quantity < 1 || length.compareTo(LONGEST) > 0) {
            throw new IllegalArgumentException("cannot reserve " + quantity + " for " + length);
        }
        if (available(now) < quantity) {
            return Optional.empty();
        }
        List<Reservation> kept = new ArrayList<>(stillRunning(now));
        kept.add(new Reservation(id, quantity, now.plus(length)));
        return Optional.of(new StockLevel(sku, site, onHand, kept, version));
    }

    /** Takes the goods of a reservation out; one that has run out counts as not made. */
    public StockLevel pick(String id, Instant now) {
        Reservation found = stillRunning(now).stream()
                .filter(r -> r.id().equals(id))
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("reservation " + id + " has run out"));
        return new StockLevel(sku, site, onHand - found.quantity(), without(id, now), version);
    }

    /** Letting go twice is harmless. */
    public StockLevel release(String id, Instant now) {
        return new StockLevel(sku, site, onHand, without(id, now), version);
    }

    /** Sales, waste and deliveries. */
    public StockLevel change(long difference) {
        return new StockLevel(sku, site, onHand + difference, reservations, version);
    }

    private List<Reservation> stillRunning(Instant now) {
        return reservations.stream().filter(r -> r.until().isAfter(now)).toList();
    }

    private List<Reservation> without(String id, Instant now) {
        return stillRunning(now).stream().filter(r -> !r.id().equals(id)).toList();
    }
}
