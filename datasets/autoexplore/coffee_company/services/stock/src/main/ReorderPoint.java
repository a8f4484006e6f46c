package bcc.stock;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.LocalDate;
import java.util.Map;
import java.util.OptionalLong;

/**
 * When to order again: mean daily use × lead time × 1.25, rounded up to whole packs.
 *
 * <p>The quarter on top replaced a table of safety days by product in June 2024. The table had 190
 * rows, and nobody could say who had typed them.
 */
public final class ReorderPoint {

    /** Covers a delivery that is late by a quarter of its lead time. */
    public static final BigDecimal SAFETY = new BigDecimal("1.25");

    /** Eight weeks: long enough for four pay days, short enough to follow the season. */
    public static final int WINDOW_DAYS = 56;

    /** Fewer open days than this say nothing about the use. */
    public static final int FEWEST_DAYS = 14;

    private ReorderPoint() {
    }

    /**
     * Computes the reorder point of one product at one site.
     *
     * @param useByOpenDay used or wasted quantity for each day on which the site was open
     * @param today the day after the last one that counts
     * @param leadTimeDays days from order to delivery, as agreed with the supplier
     * @param packSize smallest quantity the supplier sends
     * @return the level at which to order, or nothing if the product is too young
     */
    public static OptionalLong of(Map<LocalDate, Long> useByOpenDay, LocalDate today, int leadTimeDays, long packSize) {
        if (leadTimeDays < 1) {
            throw new IllegalArgumentException("lead time of " + leadTimeDays + " days");
        }
        if (packSize < 1) {
            throw new IllegalArgumentException("pack size of " + packSize);
        }
        LocalDate from = today.minusDays(WINDOW_DAYS);
        long days = 0;
        long used = 0;
        for (Map.Entry<LocalDate, Long> day : useByOpenDay.entrySet()) {
            if (day.getKey().isBefore(from) || !day.getKey().isBefore(today)) {
                continue;
            }
            if (day.getValue() < 0) {
                throw new IllegalArgumentException("negative use on " + day.getKey());
            }
            days++;
            used += day.getValue();
        }
        if (days < FEWEST_DAYS) {
            return OptionalLong.empty();
        }
        // Multiply first and divide once: the other order lost up to a pack to rounding.
        long quantity = BigDecimal.valueOf(used)
                .multiply(BigDecimal.valueOf(leadTimeDays))
                .multiply(SAFETY)
                .divide(BigDecimal.valueOf(days), 0, RoundingMode.CEILING)
                .longValueExact();
        long packs = Math.ceilDiv(quantity, packSize);
        return OptionalLong.of(packs * packSize);
    }
}
