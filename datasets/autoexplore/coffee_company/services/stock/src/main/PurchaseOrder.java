package bcc.stock;

import java.util.EnumSet;
import java.util.Map;
import java.util.Set;

/** A purchase order and the states it may pass through. */
public final class PurchaseOrder {

    public enum State { DRAFT, WAITING, APPROVED, SENT, PART_RECEIVED, RECEIVED, CANCELLED }

    /** Who may approve, in rising order, with the highest sum in pence. */
    public enum Approver {
        CAFE_MANAGER(25_000), AREA_MANAGER(100_000), DEPARTMENT_LEAD(250_000),
        FINANCE_DIRECTOR(1_500_000), BOARD(Long.MAX_VALUE);

        private final long limitPence;

        Approver(long limitPence) {
            this.limitPence = limitPence;
        }

        /** The lowest rank that may sign for this sum. */
        public static Approver needed(long pence) {
            for (Approver rank : values()) {
                if (pence <= rank.limitPence) {
                    return rank;
                }
            }
            throw new AssertionError("the board has no limit");
        }
    }

    // An order that has been sent cannot be cancelled here: somebody has to ring the supplier, and
    // the buyer then books the rest as not coming with close().
    private static final Map<State, Set<State>> NEXT = Map.of(
            State.DRAFT, EnumSet.of(State.WAITING, State.CANCELLED),
            State.WAITING, EnumSet.of(State.APPROVED, State.DRAFT, State.CANCELLED),
            State.APPROVED, EnumSet.of(State.SENT, State.CANCELLED),
            State.SENT, EnumSet.of(State.PART_RECEIVED, State.RECEIVED),
            State.PART_RECEIVED, EnumSet.of(State.RECEIVED),
            State.RECEIVED, EnumSet.noneOf(State.class),
            State.CANCELLED, EnumSet.noneOf(State.class));

    private final String number;
    private final String requestedBy;
    private final long pence;
    private State state = State.DRAFT;
    private String approvedBy;

    public PurchaseOrder(String number, String requestedBy, long pence) {
        if (!number.matches("PO-[0-9]{2}-[0-9]{5}") || pence < 1) {
            throw new IllegalArgumentException("order " + number + " over " + pence + " pence");
        }
        this.number = number;
        this.requestedBy = requestedBy;
        this.pence = pence;
    }

    public State state() {
        return state;
    }

    public String approvedBy() {
        return approvedBy;
    }

    public void submit() {
        move(State.WAITING);
    }

    /** Nobody approves an order of their own, not even below £250; that rule came with the 2022 audit. */
    public void approve(String employee, Approver rank) {
        if (employee.equals(requestedBy)) {
            throw new IllegalStateException(number + ": " + employee + " asked for it and may not approve it");
        }
        Approver needed = Approver.needed(pence);
        if (rank.compareTo(needed) < 0) {
            throw new IllegalStateException(number + " needs " + needed + ", not " + rank);
        }
        move(State.APPROVED);
        approvedBy = employee;
    }

    public void sendBack() {
        move(State.DRAFT);
    }

    public void send() {
        move(State.SENT);
    }

    public void receive(boolean everything) {
        move(everything ? State.RECEIVED : State.PART_RECEIVED);
    }

    /** The rest is not coming. */
    public void close() {
        move(State.RECEIVED);
    }

    public void cancel() {
        move(State.CANCELLED);
    }

    private void move(State to) {
        if (!NEXT.get(state).contains(to)) {
            throw new IllegalStateException(number + " cannot go from " + state + " to " + to);
        }
        state = to;
    }
}
