package agent.launcher.options;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.types.Prefix;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class Nat46RangeTest {
  private static Prefix range(String... arguments) {
    return Nat46Range.of(OptionValues.read(List.of(arguments), Map.of()));
  }

  @Test
  void shouldTranslateNothingByDefault() {
    assertNull(range());
    assertNull(range("--nat46-range=::ffff:0:0/96"));
  }

  @Test
  void shouldTakeAPrefixOf96Bits() {
    assertEquals(Prefix.parse("64:ff9b::/96"), range("--nat46-range=64:ff9b::/96"));
    assertEquals(Prefix.parse("fd00:46::/96"), range("--nat46-range", "fd00:46::1.2.3.4/96"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"64:ff9b::/64", "64:ff9b::1", "10.0.0.0/8", "64:ff9b::/104"})
  void shouldNameTheOptionWhoseValueIsNoSuchPrefix(String text) {
    assertRefused(
        "--nat46-range: '" + text + "' is not an IPv6 prefix of 96 bits", "--nat46-range=" + text);
  }

  @Test
  void shouldNameTheOptionWhoseValueIsNoPrefix() {
    assertRefused("--nat46-range: 'six' is not a CIDR", "--nat46-range=six");
  }

  @ParameterizedTest
  @ValueSource(strings = {"--enable-ipv4=false", "--enable-ipv6=false"})
  void shouldNeedBothFamilies(String option) {
    assertRefused(
        "--nat46-range 64:ff9b::/96: requires --enable-ipv4 and --enable-ipv6",
        "--nat46-range=64:ff9b::/96",
        option);
  }

  private static void assertRefused(String message, String... arguments) {
    assertEquals(message, assertThrows(OptionException.class, () -> range(arguments)).getMessage());
  }
}
