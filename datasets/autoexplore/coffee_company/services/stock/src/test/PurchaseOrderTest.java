package bcc.stock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import bcc.stock.PurchaseOrder.Approver;
import bcc.stock.PurchaseOrder.State;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PurchaseOrderTest {

    private static PurchaseOrder waiting(long pence) {
        PurchaseOrder order = new PurchaseOrder("PO-26-00017", "E012", pence);
        order.submit();
        return order;
    }

    @ParameterizedTest
    @CsvSource({
        "25000, CAFE_MANAGER", "25001, AREA_MANAGER", "100000, AREA_MANAGER", "100001, DEPARTMENT_LEAD",
        "250001, FINANCE_DIRECTOR", "1500000, FINANCE_DIRECTOR", "1500001, BOARD"})
    void limitsAreInclusive(long pence, Approver needed) {
        assertEquals(needed, Approver.needed(pence));
    }

    @Test
    void theUsualWay() {
        PurchaseOrder order = waiting(84_000);
        order.approve("E014", Approver.AREA_MANAGER);
        order.send();
        order.receive(false);
        order.receive(true);
        assertEquals(State.RECEIVED, order.state());
        assertEquals("E014", order.approvedBy());
    }

    @Test
    void aHigherRankMayAlwaysSign() {
        PurchaseOrder order = waiting(900);
        order.approve("E003", Approver.FINANCE_DIRECTOR);
        assertEquals(State.APPROVED, order.state());
    }

    @Test
    void aLowerRankMayNot() {
        PurchaseOrder order = waiting(260_000);
        Exception refused = assertThrows(IllegalStateException.class,
                () -> order.approve("E004", Approver.DEPARTMENT_LEAD));
        assertTrue(refused.getMessage().contains("needs FINANCE_DIRECTOR"));
        assertEquals(State.WAITING, order.state());
    }

    @Test
    void nobodyApprovesTheirOwn() {
        assertThrows(IllegalStateException.class, () -> waiting(900).approve("E012", Approver.BOARD));
    }

    @Test
    void aSentOrderIsNotCancelledButClosed() {
        PurchaseOrder order = waiting(900);
        order.approve("E014", Approver.AREA_MANAGER);
        order.send();
        assertThrows(IllegalStateException.class, order::cancel);
        order.close();
        assertEquals(State.RECEIVED, order.state());
    }

    @Test
    void sendingBackAndAgain() {
        PurchaseOrder order = waiting(900);
        order.sendBack();
        order.submit();
        assertEquals(State.WAITING, order.state());
    }

    @Test
    void numbersHaveTheYearInThem() {
        assertThrows(IllegalArgumentException.class, () -> new PurchaseOrder("PO-17", "E012", 900));
    }
}
