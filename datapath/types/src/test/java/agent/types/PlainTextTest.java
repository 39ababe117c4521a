package agent.types;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class PlainTextTest {
  @Test
  void shouldRefuseControlAndBidirectionalCharactersAlone() {
    final int[] refused = {
      0, 9, 10, 0x1f, 0x7f, 0x80, 0x9f, 0x61c, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202e,
      0x2066, 0x2069
    };
    for (final int c : refused) {
      assertFalse(PlainText.isPlain("a" + (char) c + "b"), Integer.toHexString(c));
    }
    for (final int c : new int[] {' ', '~', 0xa0, 0x61b, 0x200d, 0x2010, 0x202f, 0x2065, 0x206a}) {
      assertTrue(PlainText.isPlain("a" + (char) c + "b"), Integer.toHexString(c));
    }
  }

  @Test
  void shouldNameTheField() {
    assertEquals("web", PlainText.checked("name", "web"));
    assertNull(PlainText.checked("name", null));
    assertEquals(
        "name: contains a control or bidirectional character",
        assertThrows(Refusal.class, () -> PlainText.checked("name", "w\u202eeb")).getMessage());
  }
}
