package agent.maps.kernel;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.bindings.Errno;
import org.junit.jupiter.api.Test;

/** Which slots count as occupied after each operation and its result. */
class SlotsInUseTest {
  private final SlotsInUse slots = new SlotsInUse();

  private void assertSlots(int... expected) {
    assertArrayEquals(expected, slots.toArray());
    assertEquals(expected.length, slots.count());
  }

  @Test
  void shouldListTheSlotsThatWereWrittenInTheirOrder() {
    assertSlots();
    slots.onUpdate(70_000, 0);
    slots.onUpdate(3, 0);
    slots.onUpdate(9, -Errno.ENOSPC);
    slots.onUpdate(12, 0);
    slots.onUpdate(3, 0);
    assertSlots(3, 12, 70_000);
    slots.onUpdate(12, -Errno.ENOSPC);
    assertSlots(3, 12, 70_000);
  }

  @Test
  void shouldLearnByLookups() {
    slots.onLookup(5, 0);
    slots.onLookup(6, -Errno.ENOENT);
    slots.onLookup(7, -Errno.ENOMEM);
    assertSlots(5);
    slots.onLookup(5, -Errno.ENOMEM);
    assertSlots(5);
    slots.onLookup(5, -Errno.ENOENT);
    assertSlots();
  }

  @Test
  void shouldForgetASlotThatIsEmptyAfterADeletion() {
    slots.onUpdate(1, 0);
    slots.onUpdate(2, 0);
    slots.onUpdate(3, 0);
    slots.onDelete(1, 0);
    slots.onDelete(2, -Errno.ENOENT);
    slots.onDelete(3, -Errno.ENOMEM);
    assertSlots(3);
  }
}
