package bcc.stock;

import java.time.DayOfWeek;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.List;
import java.util.Set;

/**
 * A supplier as far as ordering goes: how long it takes and until when an order counts for the day.
 * Prices and contracts are the finance team's and are not kept here.
 */
public record Supplier(String id, String name, int leadTimeDays, LocalTime cutOff, Set<DayOfWeek> delivers) {

    private static final Set<DayOfWeek> WEEKDAYS = Set.of(DayOfWeek.MONDAY, DayOfWeek.TUESDAY,
            DayOfWeek.WEDNESDAY, DayOfWeek.THURSDAY, DayOfWeek.FRIDAY);
    private static final Set<DayOfWeek> ALL = Set.of(DayOfWeek.values());
    private static final LocalTime NOON = LocalTime.NOON;

    /** The goods suppliers. Green coffee (SUP-01 to 06) is bought by contract, not by reorder point. */
    public static final List<Supplier> GOODS = List.of(
            new Supplier("SUP-07", "Northfold Dairy", 1, LocalTime.of(15, 30), ALL),
            new Supplier("SUP-08", "Havre Oats", 14, NOON, Set.of(DayOfWeek.TUESDAY)),
            new Supplier("SUP-09", "Brackmouth Bakehouse", 1, LocalTime.of(14, 0), ALL),
            new Supplier("SUP-10", "Kiln & Thread", 35, NOON, WEEKDAYS),
            new Supplier("SUP-11", "PaperBoat Packaging", 21, LocalTime.of(11, 0), Set.of(DayOfWeek.WEDNESDAY)),
            new Supplier("SUP-12", "Ferrant Machines", 10, LocalTime.of(13, 0), WEEKDAYS),
            new Supplier("SUP-13", "Blue Hill Tea Merchants", 12, LocalTime.of(17, 0), WEEKDAYS),
            new Supplier("SUP-14", "Tidy Harbour Services", 2, NOON, WEEKDAYS),
            new Supplier("SUP-15", "Cove Water Treatment", 5, NOON, WEEKDAYS),
            new Supplier("SUP-16", "Moss & Ember Chocolate", 18, LocalTime.of(17, 0), WEEKDAYS));

    public Supplier {
        if (!id.matches("SUP-(0[1-9]|1[0-6])")) {
            throw new IllegalArgumentException("supplier id " + id);
        }
        if (leadTimeDays < 1 || delivers.isEmpty()) {
            throw new IllegalArgumentException(name + ": lead time or delivery days missing");
        }
        delivers = Set.copyOf(delivers);
    }

    public static Supplier byId(String id) {
        return GOODS.stream().filter(s -> s.id().equals(id)).findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no goods supplier " + id));
    }

    /** First day on which goods ordered now can arrive. */
    public LocalDate arrival(LocalDateTime ordered) {
        boolean late = ordered.toLocalTime().isAfter(cutOff);
        LocalDate day = ordered.toLocalDate().plusDays(leadTimeDays + (late ? 1 : 0));
        while (!delivers.contains(day.getDayOfWeek())) {
            day = day.plusDays(1);
        }
        return day;
    }

    /**
     * Lead time for the reorder point: the agreed one plus the longest wait for a delivery day. Without
     * the wait, oat drink ran out on two Mondays of 2023.
     */
    public int worstLeadTimeDays() {
        int longestGap = 0;
        for (DayOfWeek start : DayOfWeek.values()) {
            int gap = 0;
            while (!delivers.contains(start.plus(gap))) {
                gap++;
            }
            longestGap = Math.max(longestGap, gap);
        }
        return leadTimeDays + longestGap;
    }
}
