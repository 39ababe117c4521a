package agent.dns.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.dns.proxy.DnsProxyContext.Limits;
import org.junit.jupiter.api.Test;

/** The proxy leaves descriptors to the other parts of the agent. */
class DnsLimitsTest {
  @Test
  void shouldUseAnEighthOfTheDescriptors() {
    assertEquals(Limits.DEFAULT, Limits.within(1 << 20));
    assertEquals(Limits.DEFAULT, Limits.within(65_536));
    assertEquals(new Limits(8_192, 2_048, 64, 16, 32, 8), Limits.within(1_024));
    assertEquals(new Limits(8_192, 2_048, 16, 4, 8, 2), Limits.within(256));
  }
}
