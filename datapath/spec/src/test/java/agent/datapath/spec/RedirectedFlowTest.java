package agent.datapath.spec;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.types.IpAddress;
import java.util.List;
import org.junit.jupiter.api.Test;

class RedirectedFlowTest {
  private static final IpAddress CLIENT = IpAddress.parse("10.210.0.2");
  private static final IpAddress SERVER = IpAddress.parse("192.0.2.1");
  private static final RedirectedFlow FLOW =
      new RedirectedFlow(6, CLIENT, 4000, 1001, 7, SERVER, 80, 1002, 8);

  @Test
  void shouldHaveTheSameEndsWithOtherIdentities() {
    assertTrue(FLOW.hasEndsOf(FLOW));
    assertTrue(FLOW.hasEndsOf(new RedirectedFlow(6, CLIENT, 4000, 1003, 7, SERVER, 80, 1004, 8)));
  }

  @Test
  void shouldBeAnotherFlowByEachOtherPart() {
    for (final RedirectedFlow other :
        List.of(
            new RedirectedFlow(17, CLIENT, 4000, 1001, 7, SERVER, 80, 1002, 8),
            new RedirectedFlow(6, SERVER, 4000, 1001, 7, SERVER, 80, 1002, 8),
            new RedirectedFlow(6, CLIENT, 4001, 1001, 7, SERVER, 80, 1002, 8),
            new RedirectedFlow(6, CLIENT, 4000, 1001, 9, SERVER, 80, 1002, 8),
            new RedirectedFlow(6, CLIENT, 4000, 1001, 7, CLIENT, 80, 1002, 8),
            new RedirectedFlow(6, CLIENT, 4000, 1001, 7, SERVER, 81, 1002, 8),
            new RedirectedFlow(6, CLIENT, 4000, 1001, 7, SERVER, 80, 1002, 9))) {
      assertFalse(FLOW.hasEndsOf(other), other.toString());
    }
  }
}
