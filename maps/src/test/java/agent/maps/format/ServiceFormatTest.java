package agent.maps.format;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.layout.BackendState;
import agent.maps.layout.BalancerFlowFlyweight;
import agent.maps.layout.BalancerFlowKeyFlyweight;
import agent.maps.layout.ServiceAffinityFlyweight;
import agent.maps.layout.ServiceAffinityKeyFlyweight;
import agent.maps.layout.ServiceBackendKeyFlyweight;
import agent.maps.layout.ServiceCellsFlyweight;
import agent.maps.layout.ServiceEndFlyweight;
import agent.maps.layout.ServiceEntryFlyweight;
import agent.maps.layout.ServiceForwarding;
import agent.maps.layout.ServiceKeyFlyweight;
import agent.maps.layout.ServiceScope;
import agent.maps.layout.ServiceSlotFlyweight;
import agent.maps.layout.ServiceSlotKeyFlyweight;
import agent.maps.layout.ServiceTableFlyweight;
import agent.maps.layout.ServiceTableKeyFlyweight;
import agent.maps.layout.SocketCounter;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ServiceFormatTest {
  private static final long MAPPED = 0xffff_0000_0000L;

  private final UnsafeBuffer key = new UnsafeBuffer(new byte[64]);
  private final UnsafeBuffer value = new UnsafeBuffer(new byte[128]);

  private void assertText(String keyText, String valueText, MapFormat format) {
    final StringBuilder out = new StringBuilder();
    format.appendKey(out, key, 0, null, 0);
    format.appendValue(out.append(" = "), key, 0, value, 0);
    assertEquals(keyText + " = " + valueText, out.toString());
  }

  @ParameterizedTest
  @CsvSource({
    "0, 0xffff0a600001, 10.96.0.1:80",
    "0, 0x1ffff0a600001, [::1:ffff:a60:1]:80",
    "1, 0xffff0a600001, [::1:0:ffff:a60:1]:80"
  })
  void shouldShowMappedAddressesAsIpv4(String high, String low, String text) {
    new ServiceKeyFlyweight()
        .wrap(key, 0)
        .address(Long.decode(high), Long.decode(low))
        .port(80)
        .protocol(17);
    new ServiceEntryFlyweight().wrap(value, 0).serviceId(7).slots(3).affinityS(600);
    assertText(text + " UDP", "service 7 slots 3 affinity 600s", MapFormats.SERVICES);
    new ServiceEntryFlyweight().wrap(value, 0).forwarding(ServiceForwarding.DSR.number());
    assertText(text + " UDP", "service 7 slots 3 affinity 600s dsr", MapFormats.SERVICES);
    new ServiceEntryFlyweight()
        .wrap(value, 0)
        .forwarding(ServiceForwarding.SNAT.number())
        .affinityS(9);
    assertText(text + " UDP", "service 7 slots 3 affinity 9s snat", MapFormats.SERVICES);
  }

  @Test
  void shouldShowWhichFrontendsAreForClientsOutside() {
    final ServiceKeyFlyweight frontend =
        new ServiceKeyFlyweight().wrap(key, 0).address(0, MAPPED | 0x0a600001).port(80).protocol(6);
    new ServiceEntryFlyweight().wrap(value, 0).serviceId(7).slots(3);
    frontend.scope(ServiceScope.INSIDE.number());
    assertText("10.96.0.1:80 TCP", "service 7 slots 3 affinity 0s", MapFormats.SERVICES);
    frontend.scope(ServiceScope.OUTSIDE.number());
    assertText(
        "10.96.0.1:80 TCP from outside", "service 7 slots 3 affinity 0s", MapFormats.SERVICES);
    assertTrue(MapFormats.SERVICES.present(value, 0));
  }

  @Test
  void shouldFormatSlots() {
    new ServiceSlotKeyFlyweight().wrap(key, 0).serviceId(7).slot(2);
    new ServiceSlotFlyweight()
        .wrap(value, 0)
        .address(0, MAPPED | 0x0a010007)
        .port(8080)
        .otherAddress(0, MAPPED | 0x0a010009)
        .otherPort(8081)
        .threshold(-2);
    assertText(
        "service 7 slot 2",
        "10.1.0.7:8080 at most 4294967294 else 10.1.0.9:8081",
        MapFormats.SERVICE_SLOTS);
  }

  @Test
  void shouldFormatTables() {
    key.putInt(0, 7);
    new ServiceTableFlyweight().wrap(value, 0).cells(16381).version(65535);
    assertText("service 7", "version 65535 cells 16381", MapFormats.SERVICE_TABLES);
    new ServiceTableKeyFlyweight().wrap(key, 0).serviceId(7).version(65535).index(255);
    final ServiceCellsFlyweight cells = new ServiceCellsFlyweight().wrap(value, 0);
    for (int cell = 0; cell < 64; cell++) {
      cells.backends(cell, cell == 63 ? 16380 : 9);
    }
    assertText(
        "service 7 version 65535 part 255",
        "backends" + " 9".repeat(63) + " 16380",
        MapFormats.SERVICE_CELLS);
    new ServiceEndFlyweight().wrap(value, 0).address(0, MAPPED | 0x0a010007).port(8080);
    assertText("service 7 version 65535 backend 255", "10.1.0.7:8080", MapFormats.SERVICE_ENDS);
  }

  @Test
  void shouldFormatBackends() {
    new ServiceBackendKeyFlyweight().wrap(key, 0).serviceId(7).address(0xfd00L << 48, 7).port(80);
    value.putInt(0, BackendState.QUARANTINED.number());
    assertText("service 7 [fd00::7]:80", "quarantined", MapFormats.SERVICE_BACKENDS);
    value.putInt(0, 9);
    assertText("service 7 [fd00::7]:80", "state 9", MapFormats.SERVICE_BACKENDS);
  }

  @Test
  void shouldFormatFlowsOfTheLoadBalancer() {
    final BalancerFlowKeyFlyweight flow =
        new BalancerFlowKeyFlyweight().wrap(key, 0).clientPort(31337).frontendPort(80).protocol(6);
    flow.client(0, MAPPED | 0xc0000209L).frontend(0, MAPPED | 0xcb007101L);
    new BalancerFlowFlyweight()
        .wrap(value, 0)
        .clear()
        .serviceId(7)
        .address(0, MAPPED | 0x0a010007)
        .port(81);
    final String key = "192.0.2.9:31337 203.0.113.1:80 TCP";
    assertText(key, "service 7 backend 10.1.0.7:81", MapFormats.BALANCER_FLOWS);
    new BalancerFlowFlyweight().wrap(value, 0).byStack(1);
    assertText(key, "service 7 backend 10.1.0.7:81 by stack", MapFormats.BALANCER_FLOWS);
    new BalancerFlowFlyweight().wrap(value, 0).byStack(2);
    assertText(key, "service 7 backend 10.1.0.7:81 relayed", MapFormats.BALANCER_FLOWS);
  }

  @Test
  void shouldFormatAffinitiesAndCounters() {
    new ServiceAffinityKeyFlyweight().wrap(key, 0).client(-1).serviceId(7);
    new ServiceAffinityFlyweight()
        .wrap(value, 0)
        .usedNs(17)
        .address(0, MAPPED | 0x0a010007)
        .port(80);
    assertText(
        "client 18446744073709551615 service 7",
        "10.1.0.7:80 used 17ns",
        MapFormats.SERVICE_AFFINITIES);
    key.putInt(0, SocketCounter.REFUSED.number());
    value.putLong(0, 3);
    assertText("counter 2", "3", MapFormats.SOCKET_METRICS);
    value.putLong(0, 0);
    assertFalse(MapFormats.SOCKET_METRICS.present(value, 0));
  }
}
