package agent.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.dns.proxy.DnsProxyContext.Limits;
import agent.l7proxy.HttpProxyContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Who has how many of the descriptors of the process. */
class DescriptorSharesTest {
  /** What is left is for maps, links, programs, endpoints and state. */
  @ParameterizedTest
  @CsvSource({
    "256, 64, 64, 96",
    "1024, 256, 256, 384",
    "8192, 2048, 2048, 3072",
    "16384, 2048, 8192, 4096",
    "20000, 2500, 10904, 4096",
    "65536, 8192, 47104, 4096",
    "131072, 16384, 49152, 59392"
  })
  void shouldDivideThem(long limit, int api, int http, int others) {
    final DescriptorShares shares = DescriptorShares.of(limit);
    assertEquals(api, shares.api());
    assertEquals(http, shares.http());
    assertEquals(Limits.within(limit), shares.dns());
    assertEquals(others, others(limit, shares));
  }

  private static long others(long limit, DescriptorShares shares) {
    final int dns = shares.dns().sockets() + 2 * shares.dns().connections();
    return limit - shares.api() - dns - shares.http();
  }

  @Test
  void shouldLeaveWhatEndpointsNeedAndGiveMoreOfMore() {
    DescriptorShares before = DescriptorShares.of(255);
    for (long limit = 256; limit < 200_000; limit++) {
      final DescriptorShares shares = DescriptorShares.of(limit);
      assertTrue(others(limit, shares) >= Math.min(limit / 8 * 3, 4_096), shares::toString);
      assertTrue(shares.api() >= before.api(), shares::toString);
      assertTrue(shares.http() >= before.http() - 8, shares::toString); // by rounding
      before = shares;
    }
    final DescriptorShares most = DescriptorShares.of(Long.MAX_VALUE);
    assertEquals(16_384, most.api());
    assertEquals(HttpProxyContext.MOST_DESCRIPTORS, most.http());
    assertEquals(Limits.DEFAULT, most.dns());
  }
}
