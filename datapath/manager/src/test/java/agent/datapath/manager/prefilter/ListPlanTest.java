package agent.datapath.manager.prefilter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.maps.layout.PrefilterGeometry;
import agent.maps.layout.PrefilterSlotFlyweight;
import agent.types.Prefix;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

/** The list that the next run reads is the one that was written. */
class ListPlanTest {
  private static final List<Prefix> DENY =
      List.of(
          Prefix.parse("0.0.0.0/0"),
          Prefix.parse("192.0.2.128/25"),
          Prefix.parse("255.255.255.255/32"),
          Prefix.parse("::/0"),
          Prefix.parse("2001:db8::8000:0:0:1/128"));

  private final ListPlan plan = new ListPlan();

  private List<Prefix> decoded() {
    final UnsafeBuffer table =
        new UnsafeBuffer(new byte[plan.slots() * PrefilterSlotFlyweight.LENGTH]);
    for (int i = 0; i < plan.slots() * PrefilterGeometry.WORDS_PER_SLOT; i++) {
      table.putLong(i * Long.BYTES, plan.word(i));
    }
    final List<Prefix> read = new ArrayList<>();
    final PrefilterSlotFlyweight slot = new PrefilterSlotFlyweight();
    for (int i = 0; i < plan.slots(); i++) {
      read.add(ListPlan.decode(slot.wrap(table, i * PrefilterSlotFlyweight.LENGTH)));
    }
    return read;
  }

  @Test
  void shouldReadThePrefixesThatItHasWritten() {
    plan.rebuild(DENY);
    assertEquals(DENY.size(), plan.slots());
    assertEquals(DENY, decoded());
  }

  @Test
  void shouldHaveOneEmptySlotWithoutPrefixes() {
    assertEquals(1, plan.slots());
    assertNull(decoded().getFirst());
    plan.rebuild(DENY);
    plan.rebuild(List.of());
    assertEquals(1, plan.slots());
    assertNull(decoded().getFirst());
  }

  @Test
  void shouldBeEmptyAndRefuseEveryChangeWithoutADevice() {
    final NoPrefilter none = new NoPrefilter();
    final OptionalLong any = OptionalLong.empty();
    assertEquals(List.of(), none.get().deny());
    assertOff(assertThrows(Refusal.class, () -> none.add(any, DENY)));
    assertOff(assertThrows(Refusal.class, () -> none.remove(any, DENY)));
  }

  private static void assertOff(Refusal refusal) {
    assertEquals(Refusal.Kind.DISABLED, refusal.kind());
    assertEquals(
        "the prefilter is disabled: --prefilter-device names no device", refusal.getMessage());
  }
}
