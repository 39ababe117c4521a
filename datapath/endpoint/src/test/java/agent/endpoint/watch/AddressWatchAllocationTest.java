package agent.endpoint.watch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.manager.spec.EndpointFaults;
import agent.datapath.manager.thread.ConductorAgent;
import agent.endpoint.state.DatapathConfiguration;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointAddressing;
import agent.endpoint.state.EndpointDevice;
import agent.endpoint.state.EndpointJournal;
import agent.endpoint.state.EndpointLookup;
import agent.endpoint.state.EndpointOptions;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointRegistry;
import agent.endpoint.state.EndpointSnapshots;
import agent.endpoint.state.ExternalIdentifiers;
import agent.endpoint.state.LabelDerivation;
import agent.endpoint.state.Reachability;
import agent.endpoint.state.WorkloadDescription;
import agent.identity.LabelFilter;
import agent.identity.ReservedIdentity;
import agent.node.AddressProbes;
import agent.node.FamilyAddressing;
import agent.node.NodeAddressing;
import agent.testkit.HeapAllocation;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.Prefix;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The cost of a duty cycle with a thousand endpoints. */
class AddressWatchAllocationTest {
  private static final int ENDPOINTS = 1000;
  private static final long CYCLE_NS = Duration.ofMillis(10).toNanos();

  private final EndpointRegistry registry =
      new EndpointRegistry(
          new EndpointSnapshots(
              new NodeAddressing(
                  FamilyAddressing.of(null, Prefix.parse("10.5.0.0/16")),
                  FamilyAddressing.DISABLED)),
          new EndpointLookup("c1", "n1"),
          EndpointFaults.NONE,
          snapshot -> {});
  private final EndpointJournal journal =
      new EndpointJournal(
          registry,
          new ConductorAgent("test", System::nanoTime),
          InstantSource.system(),
          Duration.ofSeconds(1),
          Duration.ofSeconds(1),
          true);
  private final Loopback workloads = new Loopback();
  private final AddressWatch watch = new AddressWatch(registry, journal, workloads, 0);
  private long nowNs;

  /** Workloads that answer every request in the next cycle. */
  private static final class Loopback implements AddressProbes {
    private final int[] devices = new int[ENDPOINTS];
    private final long[] addresses = new long[ENDPOINTS];
    private int pending;
    private long asked;

    @Override
    public boolean ask(int deviceIndex, MacAddress hostMac, MacAddress mac, IpAddress address) {
      devices[pending] = deviceIndex;
      addresses[pending] = address.low();
      pending++;
      asked++;
      return true;
    }

    @Override
    public int receive(Handler handler, int limit) {
      final int count = Math.min(limit, pending);
      for (int i = 0; i < count; i++) {
        pending--;
        handler.onAnswer(devices[pending], true, 0, addresses[pending]);
      }
      return count;
    }

    @Override
    public void close() {}
  }

  private void addEndpoints() {
    for (int id = 1; id <= ENDPOINTS; id++) {
      final IpAddress ipv4 = IpAddress.ofIpv4((10 << 24) + (5 << 16) + id);
      final EndpointRecord record =
          new EndpointRecord(
              id,
              0,
              new EndpointAddressing(ipv4, null, null, null, null, null),
              new ExternalIdentifiers(null, null, null, null, null, null, null, null, false),
              new EndpointDevice("lxc" + id, 100 + id, MacAddress.of(id), MacAddress.of(id)),
              new EndpointRecord.LabelSources(List.of(), List.of()),
              new EndpointRecord.Configuration(
                  EndpointOptions.defaults().toMap(), DatapathConfiguration.DEFAULT),
              new WorkloadDescription(null, null, null, null, null));
      final Endpoint endpoint =
          journal.begin(record, LabelDerivation.of(record, LabelFilter.defaults()), "created");
      endpoint.identify(ReservedIdentity.INIT.identity());
      endpoint.attached(endpoint.spec());
    }
  }

  private int cycle() {
    nowNs += CYCLE_NS;
    final long before = workloads.asked;
    watch.work(nowNs);
    return (int) (workloads.asked - before);
  }

  @Test
  void shouldAllocateNothingWhileNothingChanges() {
    addEndpoints();
    for (int i = 0; i < 2000; i++) {
      cycle();
    }
    assertEquals(0, HeapAllocation.steady(1000, this::cycle));
    for (final Endpoint endpoint : registry.all()) {
      assertEquals(Reachability.Status.ANSWERED, endpoint.reachability().status());
    }
  }

  /** In a minute each is asked about every 2.6 seconds, and no cycle asks many. */
  @Test
  void shouldSpreadTheRequestsOverTheInterval() {
    addEndpoints();
    int most = 0;
    for (int i = 0; i < 6000; i++) {
      most = Math.max(most, cycle());
    }
    assertTrue(most <= 64, "asked in one cycle: " + most);
    workloads.asked = 0;
    for (int i = 0; i < 6000; i++) {
      cycle();
    }
    final long perEndpoint = workloads.asked / ENDPOINTS;
    assertTrue(perEndpoint >= 18 && perEndpoint <= 27, () -> perEndpoint + " requests each");
  }
}
