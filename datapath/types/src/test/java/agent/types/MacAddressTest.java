package agent.types;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MacAddressTest {
  @Test
  void shouldReadBothCasesAndWriteLowerCase() {
    final MacAddress address = MacAddress.parse("0A:1b:2C:3d:4E:ff");
    assertEquals("0a:1b:2c:3d:4e:ff", address.toString());
    assertArrayEquals(new byte[] {0x0a, 0x1b, 0x2c, 0x3d, 0x4e, (byte) 0xff}, address.toBytes());
    assertEquals(address, MacAddress.of(address.toBytes()));
    assertEquals(address, MacAddress.of(address.bits()));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "0a:1b:2c:3d:4e",
        "0a:1b:2c:3d:4e:ff:00",
        "0a-1b-2c-3d-4e-ff",
        "0a:1b:2c:3d:4e:fg",
        "0a:1b:2c:3d:4e:f",
        "a:1b:2c:3d:4e:ff0",
        "0a:1b:2c:3d:4e:٠١"
      })
  void shouldRefuseWhatIsNoMacAddress(String text) {
    final Refusal refusal = assertThrows(Refusal.class, () -> MacAddress.parse("mac", text));
    assertEquals("mac: '" + text + "' is not a MAC address", refusal.getMessage());
  }

  @Test
  void shouldKnowGroupAddresses() {
    assertTrue(MacAddress.parse("33:33:00:00:00:01").isMulticast());
    assertTrue(MacAddress.parse("ff:ff:ff:ff:ff:ff").isMulticast());
    assertFalse(MacAddress.parse("02:00:00:00:00:01").isMulticast());
  }

  @Test
  void shouldCompareByItsBits() {
    final MacAddress low = MacAddress.parse("00:00:00:00:00:01");
    final MacAddress high = MacAddress.parse("fe:00:00:00:00:00");
    assertEquals(-1, Integer.signum(low.compareTo(high)));
    assertEquals(1, Integer.signum(high.compareTo(low)));
    assertEquals(0, low.compareTo(MacAddress.parse("00:00:00:00:00:01")));
    assertEquals(low, MacAddress.parse("00:00:00:00:00:01"));
    assertFalse(low.equals(high));
    assertFalse(low.equals((Object) "00:00:00:00:00:01"));
  }
}
