package agent.endpoint.build;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.DatapathEvents;
import agent.maps.layout.TranslationEventFlyweight;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

/** What is logged of the translations of endpoints, and when the programs emit them for it. */
class TranslationTraceTest {
  private final List<String> calls = new ArrayList<>();
  private final List<String> lines = new ArrayList<>();
  private final TranslationTrace trace = new TranslationTrace(events(), lines::add);

  private DatapathEvents events() {
    return (DatapathEvents)
        Proxy.newProxyInstance(
            getClass().getClassLoader(),
            new Class<?>[] {DatapathEvents.class},
            (proxy, method, arguments) -> {
              calls.add(method.getName());
              return method.getReturnType() == CompletableFuture.class
                  ? CompletableFuture.completedFuture(null)
                  : null;
            });
  }

  private static TranslationEventFlyweight event(int endpoint, int service) {
    return new TranslationEventFlyweight()
        .wrap(new UnsafeBuffer(new byte[TranslationEventFlyweight.LENGTH]), 0)
        .endpointId(endpoint)
        .serviceId(service)
        .family(4)
        .protocol(6)
        .sourceAddress(0x0a000005L << 32, 0)
        .sourcePort(4000)
        .frontendAddress(0x0a600001L << 32, 0)
        .frontendPort(80)
        .backendAddress(0x0a000009L << 32, 0)
        .backendPort(8080);
  }

  @Test
  void shouldSubscribeWhileAnEndpointIsTraced() {
    trace.enable(300, false);
    assertEquals(List.of(), calls);
    trace.enable(300, true);
    trace.enable(300, true);
    trace.enable(301, true);
    trace.enable(300, false);
    assertEquals(List.of("subscribe"), calls);
    trace.enable(301, false);
    assertEquals(List.of("subscribe", "unsubscribe"), calls);
    assertTrue(trace.hearsTranslations());
    assertFalse(trace.hearsPackets());
  }

  @Test
  void shouldLogTheAddressesOfAnIpv6Flow() {
    final long network = 0x20010db8L << 32;
    trace.enable(300, true);
    trace.onTranslation(
        event(300, 7)
            .family(6)
            .sourceAddress(network, 5)
            .frontendAddress(network, 1)
            .backendAddress(network, 9));
    assertEquals(
        List.of(
            "balancing trace: endpoint 300: service 7, protocol 6, from 2001:db8::5 port 4000"
                + " by 2001:db8::1 port 80 to 2001:db8::9 port 8080"),
        lines);
  }

  @Test
  void shouldLogTheTranslationsOfTheEndpointAndOfNoOther() {
    trace.enable(300, true);
    trace.onTranslation(event(301, 7));
    trace.onTranslation(event(300, 7));
    trace.onTranslation(event(300, 0));
    trace.enable(300, false);
    trace.onTranslation(event(300, 7));
    final String start = "balancing trace: endpoint 300: ";
    final String ends =
        ", protocol 6, from 10.0.0.5 port 4000 by 10.96.0.1 port 80 to 10.0.0.9 port 8080";
    assertEquals(List.of(start + "service 7" + ends, start + "masqueraded" + ends), lines);
  }
}
