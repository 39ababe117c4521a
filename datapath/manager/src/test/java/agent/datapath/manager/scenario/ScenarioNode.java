package agent.datapath.manager.scenario;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.bindings.BpfObject;
import agent.bindings.ObjectDescriptions;
import agent.bindings.ProgramTestRun;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EndpointMap;
import agent.maps.kernel.GenerationArray;
import agent.maps.kernel.Ipcache4Map;
import agent.maps.kernel.Ipcache6Map;
import agent.maps.kernel.MapDefinition;
import agent.maps.kernel.MetricsMap;
import agent.maps.kernel.NodeMaps;
import agent.maps.kernel.PolicyMapArray;
import agent.maps.layout.DropReason;
import agent.maps.layout.EndpointConfigFlyweight;
import agent.maps.layout.EndpointOption;
import agent.maps.layout.IpcacheFlag;
import agent.maps.layout.MetricsDirection;
import agent.maps.layout.NodeConfigFlyweight;
import agent.testkit.IpPacket;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A node with two workloads that has no interface: its programs get their packets one by one. */
final class ScenarioNode implements AutoCloseable {
  static final int WORLD_IDENTITY = 9;
  static final long SECOND_NS = 1_000_000_000L;
  static final int DEFAULT_OPTIONS =
      EndpointOption.CONNTRACK.number() | EndpointOption.SOURCE_IP_VERIFICATION.number();

  private static final int ENDPOINTS = 512;
  private static final int FLOWS = 4096;

  private final Map<String, BpfMap> maps = new HashMap<>();
  private final List<BpfObject> open = new ArrayList<>();
  private final Map<Party, BpfObject> programs = new EnumMap<>(Party.class);
  private final Map<Party, Verdicts> verdicts = new EnumMap<>(Party.class);
  private final Map<Party, Integer> options = new EnumMap<>(Party.class);
  private final ProgramTestRun run = new ProgramTestRun(4096);
  private final MetricsMap metrics;
  private final EndpointMap endpoints;
  private final GenerationArray generations;
  private final Ipcache4Map ipcache4;
  private final Ipcache6Map ipcache6;
  private final Flows flows;
  private long anyLifetimeNs = 60 * SECOND_NS;

  ScenarioNode() {
    for (final MapDefinition definition : NodeMaps.ALL) {
      if (!definition.name().startsWith("prefilter")) {
        maps.put(definition.name(), create(definition));
      }
    }
    metrics = new MetricsMap(map("metrics"));
    endpoints = new EndpointMap(map("endpoints"));
    generations = new GenerationArray(map("generations"));
    ipcache4 = new Ipcache4Map(map("ipcache4"));
    ipcache6 = new Ipcache6Map(map("ipcache6"));
    flows = new Flows(maps);
    final PolicyMapArray policies = new PolicyMapArray(map("policies"));
    for (final Party party : Party.values()) {
      if (party.isLocal()) {
        register(party, 0);
        verdicts.put(party, new Verdicts(party, policies));
      }
      if (party != Party.STRANGER) {
        know(party, party.identity, party.id);
      }
    }
  }

  BpfMap map(String name) {
    return maps.get(name);
  }

  Flows flows() {
    return flows;
  }

  Verdicts policyOf(Party workload) {
    return verdicts.get(workload);
  }

  /** Enforcement is off for everybody. */
  ScenarioNode withoutPolicy() {
    verdicts.values().forEach(Verdicts::open);
    return this;
  }

  ScenarioNode with(Party workload, EndpointOption option) {
    options.put(workload, optionsOf(workload) | option.number());
    return this;
  }

  ScenarioNode without(EndpointOption option) {
    for (final Party party : List.of(Party.ALICE, Party.BOB)) {
      options.put(party, optionsOf(party) & ~option.number());
    }
    return this;
  }

  ScenarioNode anyLifetime(long ns) {
    anyLifetimeNs = ns;
    return this;
  }

  /** Writes what the datapath knows of a workload; flags are of the endpoint's entry. */
  void register(Party party, int flags) {
    assertEquals(
        0,
        endpoints.set(
            party.id,
            party.ifindex,
            party.identity,
            party.macNumber(),
            party.hostMacNumber(),
            flags));
  }

  void unregister(Party party) {
    assertEquals(0, endpoints.clear(party.id));
    bump(party.id);
  }

  void know(Party party, int identity, int endpointId) {
    final int flags = party == Party.HOST ? IpcacheFlag.HOST.number() : 0;
    assertEquals(0, ipcache4.upsert(party.ipv4Number(), 32, identity, endpointId, flags));
    assertEquals(
        0, ipcache6.upsert(party.ipv6High(), party.ipv6Low(), 128, identity, endpointId, flags));
    bump(0);
  }

  /** Verdicts that were given for the endpoint, or for all that is not one, are out of date. */
  void bump(int endpointId) {
    generations.bump(endpointId);
  }

  /** The endpoint is gone, and another one has its id and address. */
  void handOver(Party party) {
    generations.disown(party.id);
    bump(0);
  }

  Outcome fromWorkload(Party workload, IpPacket packet) {
    return fromWorkload(workload, packet.bytes());
  }

  Outcome fromWorkload(Party workload, byte[] frame) {
    return run(program(workload, "from_endpoint"), frame, MetricsDirection.EGRESS);
  }

  Outcome toWorkload(Party workload, IpPacket packet) {
    return toWorkload(workload, packet.bytes());
  }

  Outcome toWorkload(Party workload, byte[] frame) {
    return run(program(workload, "to_endpoint"), frame, MetricsDirection.INGRESS);
  }

  Outcome fromNetwork(IpPacket packet) {
    return run(network(), packet.bytes(), MetricsDirection.NETWORK);
  }

  /** What from_endpoint returns, without a look at the counters: for many packets. */
  int actionFor(Party workload, byte[] frame) {
    run.input(frame);
    final int fd = program(workload, "from_endpoint");
    assertEquals(0, run.run(fd, frame.length, 0, 1), "BPF_PROG_TEST_RUN");
    return run.returnValue();
  }

  private Outcome run(int programFd, byte[] frame, MetricsDirection direction) {
    final long[] before = counts(direction);
    run.input(frame);
    assertEquals(0, run.run(programFd, frame.length, 0, 1), "BPF_PROG_TEST_RUN");
    final byte[] out = new byte[run.outputLength()];
    run.output().asSlice(0, out.length).asByteBuffer().get(out);
    final long[] after = counts(direction);
    DropReason counted = null;
    for (final DropReason reason : DropReason.values()) {
      final long packets = after[reason.number()] - before[reason.number()];
      if (packets != 0) {
        assertEquals(1, packets, reason + " counted");
        assertEquals(null, counted, "one reason a packet");
        counted = reason;
      }
    }
    return new Outcome(run.returnValue(), frame, out, counted);
  }

  private long[] counts(MetricsDirection direction) {
    assertEquals(0, metrics.refresh());
    final long[] counts = new long[DropReason.values().length];
    for (int i = 0; i < counts.length; i++) {
      counts[i] = metrics.packets(direction.number(), i);
    }
    return counts;
  }

  /** How many instructions the verifier walked to accept a program. */
  int verifiedInstructions(Party owner, String name) {
    final int fd = owner == Party.HOST ? network() : program(owner, name);
    return ObjectDescriptions.program(fd).verifiedInstructions();
  }

  private int program(Party workload, String name) {
    return programs.computeIfAbsent(workload, this::loadEndpoint).programFd(name);
  }

  private int network() {
    return programs.computeIfAbsent(Party.HOST, party -> loadHost()).programFd("from_network");
  }

  private int optionsOf(Party workload) {
    return options.getOrDefault(workload, DEFAULT_OPTIONS);
  }

  private BpfObject loadEndpoint(Party workload) {
    final Shipped shipped = Shipped.open("endpoint");
    nodeConfig(shipped);
    new EndpointConfigFlyweight()
        .wrap(shipped.constant("endpoint_config"), 0)
        .endpointId(workload.id)
        .ifindex(workload.ifindex)
        .options(optionsOf(workload))
        .hasIpv4(1)
        .hasIpv6(1)
        .ipv4(workload.ipv4Number())
        .ipv6(workload.ipv6High(), workload.ipv6Low())
        .mac(workload.macNumber())
        .hostMac(workload.hostMacNumber());
    return load(shipped);
  }

  private BpfObject loadHost() {
    final Shipped shipped = Shipped.open("host");
    nodeConfig(shipped);
    return load(shipped);
  }

  private void nodeConfig(Shipped shipped) {
    new NodeConfigFlyweight()
        .wrap(shipped.constant("node_config"), 0)
        .tcpSynLifetimeNs(60 * SECOND_NS)
        .tcpEstablishedLifetimeNs(21_600 * SECOND_NS)
        .tcpClosingLifetimeNs(10 * SECOND_NS)
        .anyLifetimeNs(anyLifetimeNs)
        .worldIdentity4(WORLD_IDENTITY)
        .worldIdentity6(WORLD_IDENTITY)
        .gateway4(Party.HOST.ipv4Number())
        .gateway6(Party.HOST.ipv6High(), Party.HOST.ipv6Low())
        .enableIpv4(1)
        .enableIpv6(1);
  }

  private BpfObject load(Shipped shipped) {
    final BpfObject object = shipped.object();
    open.add(object);
    for (final Map.Entry<String, BpfMap> entry : maps.entrySet()) {
      if (object.hasMap(entry.getKey())) {
        object.reuseMap(entry.getKey(), entry.getValue().fd());
      }
    }
    object.load();
    return object;
  }

  private static BpfMap create(MapDefinition definition) {
    if (definition.equals(NodeMaps.POLICIES)) {
      try (BpfMap shape = BpfMap.create(NodeMaps.POLICY, "", 0)) {
        return BpfMap.create(definition.withMaxEntries(ENDPOINTS), "", shape.fd());
      }
    }
    final int entries =
        switch (definition.name()) {
          case "endpoints", "generations" -> ENDPOINTS;
          case "metrics", "events", "events_lost" -> definition.maxEntries();
          default -> FLOWS;
        };
    return BpfMap.create(definition.withMaxEntries(entries), "", 0);
  }

  @Override
  public void close() {
    open.forEach(BpfObject::close);
    verdicts.values().forEach(Verdicts::close);
    generations.close();
    maps.values().forEach(BpfMap::close);
    run.close();
  }
}
