package agent.datapath.guard;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.bindings.MappedMemory;
import agent.bindings.bpf.LibBpf;
import agent.conductor.HealthBoard.Reading;
import agent.datapath.spec.DatapathStatus;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapDefinitions;
import agent.maps.layout.PortUsageFlyweight;
import agent.testkit.KernelTest;
import java.util.concurrent.atomic.AtomicLong;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Which endpoints the health names for what they lacked of the ports, and for how long. */
@KernelTest
class PortSharesKernelTest {
  private static final long SECOND = 1_000_000_000L;
  private static final int IDS = 8;
  private static final Reading OK =
      Reading.ok("no endpoint has exhausted its share of masquerading ports");

  private final BpfMap map = map();
  private long nowNs = Long.MAX_VALUE - 5; // a clock may overflow

  private static BpfMap map() {
    LibBpf.ensureLoaded();
    return BpfMap.create(
        MapDefinitions.of("endpoint").get(MapCatalog.PORT_USAGE).withMaxEntries(IDS), "");
  }

  @AfterEach
  void close() {
    map.close();
  }

  /** Counts as the programs do. */
  private void count(int endpointId, int field, int flows) {
    final int length = IDS * PortUsageFlyweight.LENGTH;
    try (MappedMemory memory = MappedMemory.map(map.fd(), 0, length, true)) {
      final UnsafeBuffer buffer = new UnsafeBuffer(memory.address(), length);
      buffer.getAndAddLong(endpointId * PortUsageFlyweight.LENGTH + field, flows);
      buffer.getAndAddLong(field, flows);
    }
  }

  @Test
  void shouldNameTheEndpointsUntilNothingHasBeenCountedForHalfAMinute() {
    count(3, PortUsageFlyweight.REPLACED_OFFSET, 100); // of a previous run
    try (PortShares shares = new PortShares(map, () -> nowNs)) {
      assertEquals(OK, shares.read());
      count(3, PortUsageFlyweight.REPLACED_OFFSET, 7);
      shares.step(nowNs);
      nowNs += 20 * SECOND;
      count(5, PortUsageFlyweight.REFUSED_OFFSET, 2);
      final Reading both =
          Reading.degraded(
              "masquerading port share exhausted: endpoint 3 (7 half-open flows replaced, 0 flows"
                  + " refused), endpoint 5 (0 half-open flows replaced, 2 flows refused)");
      assertEquals(both, shares.read());
      nowNs += 30 * SECOND - 1;
      assertEquals(both, shares.read());
      nowNs++;
      assertEquals(OK, shares.read());
      count(5, PortUsageFlyweight.REFUSED_OFFSET, 1);
      assertEquals(
          Reading.degraded(
              "masquerading port share exhausted: endpoint 5 (0 half-open flows replaced, 1 flows"
                  + " refused)"),
          shares.read());
      assertEquals(new DatapathStatus.Ports(107, 3), shares.status());
    }
  }

  @Test
  void shouldTellWhatRulesOfTheStackRefuse() {
    final AtomicLong overShare = new AtomicLong(40); // before anything was asked
    final AtomicLong withoutPort = new AtomicLong(50);
    try (PortShares shares = new PortShares(map, () -> nowNs)) {
      shares.addRules(overShare::get, withoutPort::get);
      assertEquals(OK, shares.read());
      withoutPort.addAndGet(4);
      final String portless = "netfilter rules dropped 4 packets of protocols without ports";
      assertEquals(Reading.degraded(portless), shares.read());
      overShare.addAndGet(3);
      assertEquals(
          Reading.degraded(
              "masquerading port share exhausted: netfilter rules dropped 3 packets beyond the"
                  + " port share of a workload; "
                  + portless),
          shares.read());
      assertEquals(new DatapathStatus.Ports(0, 97), shares.status());
      nowNs += 30 * SECOND;
      assertEquals(OK, shares.read());
    }
  }

  @Test
  void shouldAnswerTheApiAfterItsEnd() {
    final PortShares shares = new PortShares(map, () -> nowNs);
    count(5, PortUsageFlyweight.REFUSED_OFFSET, 1);
    shares.close();
    assertEquals(OK, shares.read());
    assertEquals(new DatapathStatus.Ports(0, 0), shares.status());
  }
}
