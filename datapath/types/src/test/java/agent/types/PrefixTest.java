package agent.types;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigInteger;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PrefixTest {
  @ParameterizedTest
  @CsvSource({
    "10.1.2.3/8, 10.0.0.0/8, 10.255.255.255",
    "10.1.2.3, 10.1.2.3/32, 10.1.2.3",
    "10.1.2.3/0, 0.0.0.0/0, 255.255.255.255",
    "10.1.2.3/31, 10.1.2.2/31, 10.1.2.3",
    "2001:db8::1/32, 2001:db8::/32, 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
    "2001:db8::1/64, 2001:db8::/64, 2001:db8::ffff:ffff:ffff:ffff",
    "2001:db8::ff/121, 2001:db8::80/121, 2001:db8::ff",
    "::1, ::1/128, ::1",
    "8000::1/0, ::/0, ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"
  })
  void shouldClearTheHostBits(String text, String canonical, String last) {
    final Prefix prefix = Prefix.parse(text);
    assertEquals(canonical, prefix.toString());
    assertEquals(last, prefix.last().toString());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "10.0.0.0/33",
        "10.0.0.0/-1",
        "10.0.0.0/",
        "10.0.0.0/08",
        "10.0.0.0/8 ",
        "10.0.0.0/8/8",
        "10.0.0.0/255.0.0.0",
        "/8",
        "10.0.0/8",
        "::/129",
        "::/1000",
        "example/8",
        ""
      })
  void shouldRefuseWhatIsNoCidr(String text) {
    final Refusal refusal = assertThrows(Refusal.class, () -> Prefix.parse("deny[3]", text));
    assertEquals(Refusal.Kind.INVALID, refusal.kind());
    assertTrue(refusal.getMessage().startsWith("deny[3]: '" + text + "' is not a CIDR"));
  }

  @Test
  void shouldHoldTheSameAddressesAsArithmeticSays() {
    final Random random = new Random(4632);
    for (int i = 0; i < 20_000; i++) {
      final IpAddress base = random(random, i % 2 == 0);
      final Prefix prefix = Prefix.of(base, random.nextInt(base.bitLength() + 1));
      final Prefix other =
          Prefix.of(
              random.nextBoolean() ? base : random(random, random.nextBoolean()),
              random.nextInt(33));
      assertTrue(prefix.contains(base));
      assertTrue(prefix.contains(prefix.last()));
      final boolean covers =
          prefix.isIpv4() == other.isIpv4()
              && number(prefix.address()).compareTo(number(other.address())) <= 0
              && number(prefix.last()).compareTo(number(other.last())) >= 0;
      assertEquals(covers, prefix.covers(other), () -> prefix + " and " + other);
      assertEquals(covers || other.covers(prefix), prefix.overlaps(other));
    }
  }

  private static IpAddress random(Random random, boolean ipv4) {
    final byte[] bytes = new byte[ipv4 ? 4 : 16];
    random.nextBytes(bytes);
    return IpAddress.of(bytes);
  }

  private static BigInteger number(IpAddress address) {
    return new BigInteger(1, address.toBytes());
  }

  @Test
  void shouldNotMixFamilies() {
    assertFalse(Prefix.ALL_IPV4.contains(IpAddress.parse("::1")));
    assertFalse(Prefix.ALL_IPV6.contains(IpAddress.parse("1.2.3.4")));
    assertFalse(Prefix.ALL_IPV6.covers(Prefix.parse("1.2.3.4")));
  }

  @Test
  void shouldSortBeforeThePrefixesThatItCovers() {
    assertTrue(Prefix.parse("10.0.0.0/8").compareTo(Prefix.parse("10.0.0.0/16")) < 0);
    assertTrue(Prefix.parse("10.0.0.0/16").compareTo(Prefix.parse("10.1.0.0/16")) < 0);
  }

  @Test
  void shouldRefuseALengthOutOfRange() {
    assertThrows(IllegalArgumentException.class, () -> Prefix.of(IpAddress.parse("10.0.0.1"), 33));
  }

  @ParameterizedTest
  @ValueSource(strings = {"0.0.0.0/0", "10.0.0.0/9", "10.0.0.0/10", "10.0.0.0/32", "::/0"})
  void shouldReadTheShortestAndTheLongestLength(String text) {
    final Prefix prefix = Prefix.parse(text);
    assertEquals(text, prefix.toString());
    assertEquals(Integer.parseInt(text.substring(text.indexOf('/') + 1)), prefix.length());
  }

  @ParameterizedTest
  @ValueSource(strings = {"/8", "10.0.0.0/", "10.0.0.0/00", "10.0.0.0/08", "10.0.0.0/33"})
  void shouldRefuseALengthThatIsNone(String text) {
    assertThrows(Refusal.class, () -> Prefix.parse("cidr", text));
  }

  @Test
  void shouldKnowItsFamilyAndWhetherItIsOneAddress() {
    assertTrue(Prefix.parse("::1/128").isSingleAddress());
    assertFalse(Prefix.parse("::/127").isSingleAddress());
    assertTrue(Prefix.parse("10.0.0.1").isSingleAddress());
    assertFalse(Prefix.parse("10.0.0.0/31").isSingleAddress());
    assertTrue(Prefix.parse("::/1").isIpv6());
    assertFalse(Prefix.parse("10.0.0.0/8").isIpv6());
  }

  @Test
  void shouldEqualTheSamePrefixOnly() {
    final Prefix prefix = Prefix.parse("10.0.0.0/8");
    assertEquals(prefix, Prefix.parse("10.1.2.3/8"));
    assertEquals(prefix.hashCode(), Prefix.parse("10.1.2.3/8").hashCode());
    for (final String other : new String[] {"10.0.0.0/9", "11.0.0.0/8", "::/8"}) {
      assertFalse(prefix.equals(Prefix.parse(other)), other);
    }
    assertFalse(prefix.equals((Object) "10.0.0.0/8"));
  }
}
