package agent.maps.layout;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class EnumSpecTest {
  @Test
  void shouldNameNumbersAsTheyAreGiven() {
    assertEquals(
        new EnumSpec("shape", Map.of("SIDES", 4L, "ALL", -1L)),
        EnumSpec.of("shape", Map.of("SIDES", 4, "ALL", -1)));
  }

  @Test
  void shouldPutThePrefixBeforeTheNamesOfConstantsInTheirOrder() {
    final EnumSpec cells = EnumSpec.of("cell", "CELL_", PrefilterCell.values());
    assertEquals(
        new EnumSpec("cell", Map.of("CELL_NONE", 0L, "CELL_PART", 1L, "CELL_WHOLE", 3L)), cells);
    assertEquals(
        List.of("CELL_NONE", "CELL_PART", "CELL_WHOLE"), List.copyOf(cells.constants().keySet()));
  }

  @Test
  void shouldNumberTheStatesOfTheGateFromOneOn() {
    assertEquals(1, ServiceGate.CLOSED.number(), "0: the map is new");
    assertEquals(2, ServiceGate.OPEN.number());
  }
}
