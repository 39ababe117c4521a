package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.types.IpAddress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The value of Host: a host, and a port or none (RFC 9110 section 7.2, RFC 3986 section 3.2). */
class AuthorityTest {
  @ParameterizedTest
  @CsvSource({
    "a.test, a.test",
    "a.test:80, a.test",
    "a.test:, a.test",
    "a.test:65535, a.test",
    "A-b_c~1.Test:0, A-b_c~1.Test",
    "z9Z, z9Z",
    "10.0.0.1:8080, 10.0.0.1",
    "[::1], [::1]",
    "[::1]:80, [::1]",
    "[fe80::aF0:9]:, [fe80::aF0:9]",
    "[::ffff:10.0.0.1], [::ffff:10.0.0.1]",
  })
  void shouldFindTheEndOfTheHost(String text, String host) {
    assertEquals(host.length(), Authority.endOfHost(text));
  }

  @ParameterizedTest
  @CsvSource({"10.0.0.1, 10.0.0.1:8080", "fd00::1, [fd00::1]:8080", "::, [::]:8080"})
  void shouldWriteAnAddressAsAHost(String address, String text) {
    assertEquals(text, Authority.of(IpAddress.parse(address), 8080));
    assertEquals(text.lastIndexOf(':'), Authority.endOfHost(text));
  }

  @Test
  void shouldTakeAnEmptyHost() {
    assertEquals(0, Authority.endOfHost(""));
    assertEquals(0, Authority.endOfHost(":80"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "a.test:123456",
        "a.test:8x",
        "a.test:/",
        "a.test:;",
        "a.test:-1",
        "a.test:80:80",
        "a.test/x",
        "user@a.test",
        "a b",
        "a\u007f",
        "a\u0080",
        "a\u0100",
        "[",
        "[]",
        "[]:80",
        "[::1",
        "[::1:80",
        "[::1]80",
        "[::1]:x",
        "[::g]",
        "[::G]",
        "[a.test/]",
        "[::1%25eth0]",
        "::1",
        "a[::1]"
      })
  void shouldRefuseWhatIsNoHostAndPort(String text) {
    assertEquals(-1, Authority.endOfHost(text));
  }
}
