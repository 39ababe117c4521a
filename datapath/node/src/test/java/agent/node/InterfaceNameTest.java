package agent.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.types.Refusal;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class InterfaceNameTest {
  @ParameterizedTest
  @ValueSource(strings = {"eth0", "lxc12345abcdef0", "veth-a.100", "a@b", "0", "_x+y"})
  void shouldAcceptNamesThatTheKernelAccepts(String name) {
    assertEquals(name, InterfaceName.check("interface-name", name));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        ".",
        "..",
        "a/b",
        "../etc",
        "a\0b",
        "a b",
        "a:b",
        "a\nlink",
        "a#b",
        "a'b",
        "a\"b",
        "a\\b",
        "-force",
        "sixteen-letters0",
        "vethé"
      })
  void shouldRefuseInvalidNamesAndSpecialCharacters(String name) {
    final Refusal refusal =
        assertThrows(Refusal.class, () -> InterfaceName.check("interface-name", name));
    assertEquals(Refusal.Kind.INVALID, refusal.kind());
    assertEquals("interface-name", refusal.field());
    assertTrue(refusal.getMessage().chars().noneMatch(Character::isISOControl));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "a!b|", // the first character that is allowed
        "a~b|", // the last one
        "exactly15letter|",
        "a#b|'a#b' is not an interface name: character '#'",
        "a b|'a b' is not an interface name: character U+0020",
        "a\u007fb|'a?b' is not an interface name: character U+007F",
        "sixteen-letters0|'sixteen-letters0' is longer than 15 characters",
      })
  void shouldSayWhatIsWrongWithAName(String name, String message) {
    if (message == null) {
      assertEquals(name, InterfaceName.check("interface-name", name));
    } else {
      assertEquals(
          "interface-name: " + message,
          assertThrows(Refusal.class, () -> InterfaceName.check("interface-name", name))
              .getMessage());
    }
  }

  @Test
  void shouldCutALongNameInTheMessage() {
    assertEquals(
        "interface-name: '" + "x".repeat(64) + "...' is longer than 15 characters",
        assertThrows(Refusal.class, () -> InterfaceName.check("interface-name", "x".repeat(65)))
            .getMessage());
    assertEquals(
        "interface-name: '" + "x".repeat(64) + "' is longer than 15 characters",
        assertThrows(Refusal.class, () -> InterfaceName.check("interface-name", "x".repeat(64)))
            .getMessage());
  }
}
