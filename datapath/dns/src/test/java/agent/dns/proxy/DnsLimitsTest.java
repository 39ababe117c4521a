package agent.dns.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import agent.dns.proxy.DnsProxyContext.Limits;
import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.xbill.DNS.Rcode;

/** What is set; the proxy leaves descriptors to the other parts of the agent. */
class DnsLimitsTest {
  @Test
  void shouldUseAnEighthOfTheDescriptors() {
    assertEquals(Limits.DEFAULT, Limits.within(1 << 20));
    assertEquals(Limits.DEFAULT, Limits.within(65_536));
    assertEquals(new Limits(8_192, 2_048, 64, 16, 32, 8), Limits.within(1_024));
    assertEquals(new Limits(8_192, 2_048, 16, 4, 8, 2), Limits.within(256));
  }

  @Test
  void shouldReturnWhatWasSet() throws IOException {
    try (ProxyRig rig = new ProxyRig()) {
      final DnsProxyContext context = rig.context();
      final DnsObserver observer = event -> {};
      assertSame(context, context.limits(Limits.DEFAULT).observer(observer).port(65_528));
      assertEquals(Rcode.REFUSED, context.deniedCode());
      assertSame(context, context.deniedIsNameError(true));
      assertEquals(Rcode.NXDOMAIN, context.deniedCode());
      assertSame(context, context.conclude());
      assertSame(observer, context.observer());
      assertSame(Limits.DEFAULT, context.limits());
      assertSame(ProxyRig.TIMES, context.times());
      assertEquals(65_528, context.port());
    }
  }
}
