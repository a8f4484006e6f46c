package bcc.stock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.time.DayOfWeek;
import java.time.LocalDate;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class ReorderPointTest {

    private static final LocalDate TODAY = LocalDate.of(2026, 1, 19);

    private static Map<LocalDate, Long> daily(int days, long quantity) {
        Map<LocalDate, Long> use = new HashMap<>();
        for (int back = 1; back <= days; back++) {
            use.put(TODAY.minusDays(back), quantity);
        }
        return use;
    }

    @Test
    void oatDrinkAtMarketStreet() {
        // 18 litres a day over 14 days and a quarter on top: 315 litres, a whole number of 6-litre cases
        // is 318.
        assertEquals(OptionalLong.of(318_000), ReorderPoint.of(daily(56, 18_000), TODAY, 14, 6_000));
    }

    @Test
    void wholePacksStayAsTheyAre() {
        assertEquals(OptionalLong.of(50), ReorderPoint.of(daily(20, 4), TODAY, 10, 10));
    }

    @Test
    void closedDaysDoNotThinTheMean() {
        Map<LocalDate, Long> use = daily(56, 40);
        use.keySet().removeIf(d -> d.getDayOfWeek() == DayOfWeek.TUESDAY || d.getDayOfWeek() == DayOfWeek.WEDNESDAY);
        assertEquals(40, use.size());
        assertEquals(OptionalLong.of(100), ReorderPoint.of(use, TODAY, 2, 1));
    }

    @Test
    void daysBeforeTheWindowAreForgotten() {
        Map<LocalDate, Long> use = daily(56, 10);
        use.put(TODAY.minusDays(57), 1_000_000L);
        use.put(TODAY, 1_000_000L);
        assertEquals(OptionalLong.of(63), ReorderPoint.of(use, TODAY, 5, 1));
    }

    @Test
    void aYoungProductHasNoPoint() {
        assertEquals(OptionalLong.empty(), ReorderPoint.of(daily(13, 10), TODAY, 5, 1));
        assertEquals(OptionalLong.of(63), ReorderPoint.of(daily(14, 10), TODAY, 5, 1));
    }

    @Test
    void badInputIsNamed() {
        assertThrows(IllegalArgumentException.class, () -> ReorderPoint.of(daily(20, 1), TODAY, 0, 1));
        assertThrows(IllegalArgumentException.class, () -> ReorderPoint.of(daily(20, 1), TODAY, 1, 0));
        assertThrows(IllegalArgumentException.class, () -> ReorderPoint.of(daily(20, -1), TODAY, 1, 1));
    }

    @Test
    void weeklyDeliveryAddsSixDays() {
        assertEquals(20, Supplier.byId("SUP-08").worstLeadTimeDays());
        assertEquals(1, Supplier.byId("SUP-07").worstLeadTimeDays());
    }
}
