package agent.types;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class IpAddressTest {
  @ParameterizedTest
  @CsvSource({
    "0.0.0.0, 0.0.0.0",
    "10.1.0.9, 10.1.0.9",
    "255.255.255.255, 255.255.255.255",
    "::, ::",
    "::1, ::1",
    "1::, 1::",
    "2001:DB8::1, 2001:db8::1",
    "2001:0db8:0000:0000:0000:0000:0002:0001, 2001:db8::2:1",
    "2001:db8:0:1:1:1:1:1, 2001:db8:0:1:1:1:1:1",
    "2001:0:0:1:0:0:0:1, 2001:0:0:1::1",
    "2001:db8:0:0:1:0:0:1, 2001:db8::1:0:0:1",
    "1:2:3:4:5:6:7::, 1:2:3:4:5:6:7:0",
    "::2:3:4:5:6:7:8, 0:2:3:4:5:6:7:8",
    "::ffff:10.1.0.9, ::ffff:10.1.0.9",
    "::ffff:a01:9, ::ffff:10.1.0.9",
    "64:ff9b::192.0.2.33, 64:ff9b::c000:221",
    "1:2:3:4:5:6:1.2.3.4, 1:2:3:4:5:6:102:304"
  })
  void shouldWriteTheFormOfRfc5952(String text, String canonical) {
    assertEquals(canonical, IpAddress.parse(text).toString());
    assertEquals(IpAddress.parse(text), IpAddress.parse(canonical));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        " ",
        "1",
        "1.2.3",
        "1.2.3.4.5",
        "1.2.3.",
        ".1.2.3",
        "1..2.3",
        "256.1.1.1",
        "01.2.3.4",
        "1.2.3.04",
        "0x1.2.3.4",
        "1.2.3.4 ",
        " 1.2.3.4",
        "1.2.3.4/32",
        "1.2.3.4444",
        "1.2.3.-4",
        "1.2.3.٤",
        "localhost",
        ":",
        ":::",
        "1:",
        ":1",
        "::1::",
        "1::2::3",
        "12345::",
        "g::",
        "1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:8:9",
        "1:2:3:4:5:6:7:8::",
        "::1:2:3:4:5:6:7:8",
        "fe80::1%eth0",
        "[::1]",
        "::1.2.3",
        "::1.2.3.4.5",
        "1.2.3.4::",
        "::1.2.3.4:5",
        "1:2:3:4:5:6:7:1.2.3.4",
        "0000:0000:0000:0000:0000:ffff:255.255.255.2555"
      })
  void shouldRefuseWhatIsNoAddress(String text) {
    final Refusal refusal =
        assertThrows(Refusal.class, () -> IpAddress.parse("addressing.ipv4", text));
    assertEquals(Refusal.Kind.INVALID, refusal.kind());
    assertTrue(refusal.getMessage().startsWith("addressing.ipv4: '" + text + "' is not an IP"));
  }

  @Test
  void shouldNameTheFieldAndTheFamilyInTheRefusal() {
    final Refusal refusal =
        assertThrows(Refusal.class, () -> IpAddress.parse("addressing.ipv4", "10.0.0.999"));
    assertEquals("addressing.ipv4: '10.0.0.999' is not an IPv4 address", refusal.getMessage());
    assertEquals(
        "'zz::' is not an IPv6 address",
        assertThrows(Refusal.class, () -> IpAddress.parse("zz::")).getMessage());
    assertThrows(Refusal.class, () -> IpAddress.parse(null));
  }

  @Test
  void shouldReadWhatItWroteAndAgreeWithThePlatform() throws UnknownHostException {
    final Random random = new Random(5952);
    for (int i = 0; i < 20_000; i++) {
      final byte[] bytes = new byte[random.nextInt(3) == 0 ? 4 : 16];
      for (int b = 0; b < bytes.length; b++) {
        bytes[b] = random.nextInt(2) == 0 ? 0 : (byte) random.nextInt(256);
      }
      final IpAddress address = IpAddress.of(bytes);
      assertEquals(address, IpAddress.parse(address.toString()), address::toString);
      assertArrayEquals(bytes, address.toBytes());
      if (bytes.length == 16 && !address.toString().startsWith("::ffff:")) {
        assertArrayEquals(bytes, InetAddress.getByName(address.toString()).getAddress());
      }
    }
  }

  @Test
  void shouldSurviveRandomText() {
    final Random random = new Random(4291);
    final String alphabet = "0123456789abcdefABCDEF::::....%/ xg";
    for (int i = 0; i < 200_000; i++) {
      final StringBuilder text = new StringBuilder();
      for (int length = random.nextInt(20); length > 0; length--) {
        text.append(alphabet.charAt(random.nextInt(alphabet.length())));
      }
      try {
        final IpAddress address = IpAddress.parse(text.toString());
        assertEquals(address, IpAddress.parse(address.toString()));
      } catch (Refusal refusal) {
        assertEquals(Refusal.Kind.INVALID, refusal.kind());
      }
    }
  }

  @Test
  void shouldKeepMappedAddressesInTheirFamily() {
    final IpAddress mapped = IpAddress.parse("::ffff:10.0.0.1");
    assertTrue(mapped.isIpv6());
    assertFalse(mapped.isIpv4());
    assertEquals(16, mapped.toBytes().length);
  }

  @Test
  void shouldNotLetItsBytesBeChanged() {
    final byte[] bytes = {10, 0, 0, 1};
    final IpAddress address = IpAddress.of(bytes);
    bytes[0] = 11;
    address.toBytes()[1] = 12;
    assertEquals("10.0.0.1", address.toString());
    assertThrows(IllegalArgumentException.class, () -> IpAddress.of(new byte[5]));
  }

  @Test
  void shouldOrderByFamilyAndUnsignedNumber() {
    final List<IpAddress> sorted = new ArrayList<>();
    for (final String text :
        List.of("0.0.0.1", "127.0.0.1", "128.0.0.1", "255.0.0.1", "::1", "7fff::", "8000::1")) {
      sorted.add(IpAddress.parse(text));
    }
    final List<IpAddress> shuffled = new ArrayList<>(sorted);
    Collections.shuffle(shuffled, new Random(1));
    Collections.sort(shuffled);
    assertEquals(sorted, shuffled);
  }

  @ParameterizedTest
  @CsvSource({
    "10.0.0.255, 1, 10.0.1.0",
    "10.0.1.0, -1, 10.0.0.255",
    "255.255.255.255, 1, 0.0.0.0",
    "2001:db8::ffff:ffff:ffff:ffff, 1, 2001:db8:0:1::",
    "2001:db8:0:1::, -1, 2001:db8::ffff:ffff:ffff:ffff",
    "2001:db8::5, 0, 2001:db8::5"
  })
  void shouldCountOverAllBits(String from, long offset, String to) {
    assertEquals(to, IpAddress.parse(from).plus(offset).toString());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"::a", "::f", "1:2:3:4:5:6:7:8", "255.255.255.255", "0.0.0.0", "9.10.99.100"})
  void shouldReadAndWriteTheEdgesOfDigitsAndGroups(String text) {
    assertEquals(text, IpAddress.parse(text).toString());
  }

  @ParameterizedTest
  @ValueSource(strings = {"::g", "::`", "::@", "::G", "::/", "1.2.3", "1.2.3.", "1.2.3.256", ":x"})
  void shouldRefuseWhatLiesBesideTheEdges(String text) {
    assertThrows(Refusal.class, () -> IpAddress.parse("ip", text));
  }

  @Test
  void shouldReadUpperCaseAndTheLongestText() {
    assertEquals("::af", IpAddress.parse("::AF").toString());
    final String longest = "0000:0000:0000:0000:0000:ffff:192.168.100.100";
    assertEquals(45, longest.length());
    assertEquals("::ffff:192.168.100.100", IpAddress.parse(longest).toString());
    assertEquals("::", IpAddress.parse("::0.0.0.0").toString());
    assertEquals("1:2:3:4:5:6:102:304", IpAddress.parse("1:2:3:4:5:6:1.2.3.4").toString());
    assertThrows(Refusal.class, () -> IpAddress.parse("ip", "1:2:3:4:5:6:7:1.2.3.4"));
  }

  /** RFC 5952 section 4.2.3. */
  @Test
  void shouldShortenTheFirstOfTwoLongestRuns() {
    assertEquals("2001:db8::1:0:0:1", IpAddress.parse("2001:db8:0:0:1:0:0:1").toString());
    assertEquals("1:0:0:2::3", IpAddress.parse("1:0:0:2:0:0:0:3").toString());
  }

  @Test
  void shouldNameTheFamilyThatItMissesInARefusal() {
    for (final var shown : Map.of(":", "an IPv6", ".", "an IPv4", "x", "an IP").entrySet()) {
      final String message =
          assertThrows(Refusal.class, () -> IpAddress.parse("ip", shown.getKey())).getMessage();
      assertEquals("ip: '" + shown.getKey() + "' is not " + shown.getValue() + " address", message);
    }
  }

  @Test
  void shouldCarryOverTheMiddleOfAnIpv6AddressAndStayWhereNothingIsAdded() {
    final IpAddress edge = IpAddress.parse("fd00::ffff:ffff:ffff:ffff");
    assertEquals(edge, edge.plus(0));
    assertEquals("fd00:0:0:1::", edge.plus(1).toString());
    assertEquals(edge, edge.plus(1).plus(-1));
    assertEquals("fd00::", IpAddress.parse("fd00::1").plus(-1).toString());
  }

  @Test
  void shouldSortIpv4BeforeIpv6AndBothByTheirUnsignedBits() {
    final List<String> sorted =
        Stream.of("ffff::", "::1", "200.0.0.1", "10.0.0.1", "::", "8000::")
            .map(IpAddress::parse)
            .sorted()
            .map(IpAddress::toString)
            .toList();
    assertEquals(List.of("10.0.0.1", "200.0.0.1", "::", "::1", "8000::", "ffff::"), sorted);
    assertEquals(1, Integer.signum(IpAddress.parse("::").compareTo(IpAddress.parse("1.1.1.1"))));
    assertTrue(IpAddress.parse("::").isIpv6());
    assertFalse(IpAddress.parse("0.0.0.0").isIpv6());
  }

  @ParameterizedTest
  @CsvSource({"0.0.0.0, true", "::, true", "0.0.0.1, false", "::1, false", "1::, false"})
  void shouldTellTheUnspecifiedAddressFromOthers(String text, boolean isUnspecified) {
    assertEquals(isUnspecified, IpAddress.parse(text).isUnspecified());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "0.0.0.0",
        "0.255.255.255",
        "127.0.0.0",
        "127.255.255.255",
        "224.0.0.0",
        "239.255.255.255",
        "240.0.0.0",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:ffff",
        "::10.0.0.1",
        "::ffff:0.0.0.0",
        "::ffff:10.0.0.1",
        "::ffff:255.255.255.255",
        "ff00::",
        "ff02::1",
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"
      })
  void shouldTellAddressesThatNoHostHas(String text) {
    assertFalse(IpAddress.parse(text).isOfHost());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "1.0.0.0", "126.255.255.255", "128.0.0.0", "169.254.1.1", "223.255.255.255",
        "::1:0:0", "::fffe:ffff:ffff", "::1:0:0:0", "::ffff:0:10.0.0.1", "0:0:0:1::",
        "64:ff9b::7f00:1", "fe80::1", "fd00::1", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"
      })
  void shouldTellAddressesOfHosts(String text) {
    assertTrue(IpAddress.parse(text).isOfHost());
  }

  /** The platform makes an IPv4 address of the bytes of one, and the kernel of a socket's. */
  @Test
  void shouldNotMakeAnIpv4AddressOfAMappedOne() {
    final IpAddress mapped = IpAddress.parse("::ffff:127.0.0.1");
    assertArrayEquals(mapped.toBytes(), mapped.toInetAddress().getAddress());
    assertThrows(IllegalArgumentException.class, () -> mapped.withPort(80));
    assertEquals(
        "10.0.0.1", IpAddress.parse("10.0.0.1").withPort(80).getAddress().getHostAddress());
    final IpAddress other = IpAddress.parse("2001:db8::1");
    assertArrayEquals(other.toBytes(), other.withPort(80).getAddress().getAddress());
  }
}
