package agent.maps.btf.generator;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

class JavaNamesTest {
  @Test
  void shouldNameTypesAndAccessors() {
    assertEquals("Conntrack4Key", JavaNames.type("conntrack4_key"));
    assertEquals("PolicyKeyFlyweight", JavaNames.flyweight("policy_key"));
    assertEquals("lowPort", JavaNames.accessor("low_port_be"));
    assertEquals("nat46Range", JavaNames.accessor("nat46_range"));
    assertEquals("id", JavaNames.accessor("id_be"));
    assertEquals("LOW_PORT_BE", JavaNames.constant("low_port_be"));
  }

  @Test
  void shouldLeaveOutTheWordsThatAllConstantsShareWithTheirEnum() {
    assertEquals("FLAG_", JavaNames.prefix("old_flag", List.of("FLAG_A", "FLAG_B_C")));
    assertEquals("OLD_FLAG_", JavaNames.prefix("old_flag", List.of("OLD_FLAG_A", "OLD_FLAG_B")));
    assertEquals("OLD_", JavaNames.prefix("old_flag", List.of("OLD_NEW_A", "OLD_NEW_B")));
    assertEquals("", JavaNames.prefix("old_flag", List.of("OLD_A", "FLAG_A")));
  }

  @Test
  void shouldKeepAtLeastOneWordOfEachConstant() {
    assertEquals("GATE_", JavaNames.prefix("gate_open", List.of("GATE_OPEN")));
    assertEquals("", JavaNames.prefix("gate", List.of("GATE", "GATE_OPEN")));
    assertEquals("", JavaNames.prefix("gate", List.of("GATE_OPEN", "GATE")));
  }
}
