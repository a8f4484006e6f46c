package bcc.stock;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** Books a delivery in: what was counted at the door against what was ordered. */
public final class DeliveryBooking {

    /** Below this share of a line the delivery is short; sacks may lose a little weight on the way. */
    private static final BigDecimal SHORT_BELOW = new BigDecimal("0.985");

    /** Above this share the surplus is refused and goes back with the driver. */
    private static final BigDecimal OVER_ABOVE = new BigDecimal("1.10");

    /** The bakery comes at 05:30 and takes claims until 07:30; the other suppliers are more patient. */
    public static final Duration CLAIM_WITHIN = Duration.ofHours(2);

    /** One line of the delivery note, quantities in the product's own unit. */
    public record Line(String sku, long ordered, long counted, Integer chilledTenths) {
    }

    public enum Verdict { FULL, SHORT, OVER, REFUSED_WARM }

    /** What happens with a line: how much goes on the shelf and what the supplier owes. */
    public record Result(String sku, Verdict verdict, long accepted, long owed, boolean claim) {
    }

    private DeliveryBooking() {
    }

    /**
     * Judges every line.
     *
     * @param arrived when the driver rang
     * @param booked when the count was typed in
     */
    public static List<Result> book(List<Line> lines, Instant arrived, Instant booked) {
        if (booked.isBefore(arrived)) {
            throw new IllegalArgumentException("booked before it arrived");
        }
        boolean inTime = Duration.between(arrived, booked).compareTo(CLAIM_WITHIN) <= 0;
        List<Result> results = new ArrayList<>();
        for (Line line : lines) {
            results.add(judge(line, inTime));
        }
        return results;
    }

    private static Result judge(Line line, boolean inTime) {
        if (line.ordered() < 1 || line.counted() < 0) {
            throw new IllegalArgumentException(line.sku() + ": " + line.counted() + " of " + line.ordered());
        }
        // Chilled goods above 5.0 °C at the door are refused whole, whoever signed for them.
        if (line.chilledTenths() != null && line.chilledTenths() > 50) {
            return new Result(line.sku(), Verdict.REFUSED_WARM, 0, line.ordered(), true);
        }
        BigDecimal share = BigDecimal.valueOf(line.counted())
                .divide(BigDecimal.valueOf(line.ordered()), 4, RoundingMode.HALF_UP);
        if (share.compareTo(SHORT_BELOW) < 0) {
            return new Result(line.sku(), Verdict.SHORT, line.counted(), line.ordered() - line.counted(), inTime);
        }
        if (share.compareTo(OVER_ABOVE) > 0) {
            long kept = BigDecimal.valueOf(line.ordered()).multiply(OVER_ABOVE)
                    .setScale(0, RoundingMode.FLOOR).longValueExact();
            return new Result(line.sku(), Verdict.OVER, kept, 0, false);
        }
        return new Result(line.sku(), Verdict.FULL, line.counted(), 0, false);
    }
}
