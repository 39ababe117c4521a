package agent.datapath.programs.scenario;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.bindings.bpf.BpfLink;
import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.BpfProgram;
import agent.bindings.bpf.MapSpec;
import agent.bindings.bpf.MapType;
import agent.bindings.bpf.ProgramTestRun;
import agent.datapath.programs.load.Shards;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EndpointMap;
import agent.maps.kernel.GenerationArray;
import agent.maps.kernel.InterfaceArray;
import agent.maps.kernel.IpcacheEdits;
import agent.maps.kernel.MapDefinition;
import agent.maps.kernel.MapDefinitions;
import agent.maps.kernel.MetricsMap;
import agent.maps.kernel.PolicyMapArray;
import agent.maps.layout.DropReason;
import agent.maps.layout.EndpointOption;
import agent.maps.layout.GenerationLayout;
import agent.maps.layout.IpcacheFlag;
import agent.maps.layout.MapSize;
import agent.maps.layout.MetricsDirection;
import agent.maps.layout.NodeConfigFlyweight;
import agent.testkit.IpPacket;
import agent.types.IpAddress;
import java.lang.foreign.ValueLayout;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/**
 * A node with two workloads and without interfaces; BPF_PROG_TEST_RUN runs its programs on single
 * packets.
 */
final class ScenarioNode implements AutoCloseable {
  static final MapDefinitions SHIPPED = MapDefinitions.of("endpoint");
  static final int WORLD_IDENTITY = 9;
  static final long SECOND_NS = 1_000_000_000L;
  static final int ANY_LIFETIME_SEC = 90;

  /** MAC address of the loopback device, which is the device of packets of BPF_PROG_TEST_RUN. */
  static final String DEVICE_MAC = "00:00:00:00:00:00";

  static final int DEFAULT_OPTIONS =
      EndpointOption.CONNTRACK.number()
          | EndpointOption.SOURCE_IP_VERIFICATION.number()
          | EndpointOption.HOST_ROUTING.number();

  /** No action: the frame cannot be given to a program. */
  static final int REFUSED = Integer.MIN_VALUE;

  private final ScenarioKernel kernel = ScenarioKernel.take();
  private final Map<String, BpfMap> maps = kernel.maps();
  private final Map<ScenarioHost, WorkloadPolicy> policies = new EnumMap<>(ScenarioHost.class);
  private final Map<ScenarioHost, Integer> options = new EnumMap<>(ScenarioHost.class);
  private final Map<ScenarioHost, Integer> ids = new EnumMap<>(ScenarioHost.class);
  static final int LOOPBACK_IFINDEX = 1;

  private final ProgramTestRun run = new ProgramTestRun(4096);
  private final MetricsMap metrics;
  private final EndpointMap endpoints;
  private final InterfaceArray interfaces;
  private final GenerationArray generations;
  private final IpcacheEdits ipcache;
  private final Flows flows;
  private BpfObject programs;
  private BpfObject host;
  private final Set<Family> disabled = EnumSet.noneOf(Family.class);
  private long anyLifetimeNs = ANY_LIFETIME_SEC * SECOND_NS;
  private int aggregation;
  private ScenarioNetwork network;
  private int worldIdentity6 = WORLD_IDENTITY;
  private int capacity = 1 << 20;
  private int flowSharePercent = 100;
  private int eventsPerSecond;
  private int payloadBytes = 128;
  private int fragmentsPerSecond = 1024;
  private int socketPortFirst;
  private int socketPorts;
  private int portShares;
  private long flowsLostUntilNs;
  private boolean translates;
  private final Set<ScenarioHost> withoutIpv4 = EnumSet.noneOf(ScenarioHost.class);

  ScenarioNode() {
    metrics = new MetricsMap(map("metrics"));
    endpoints = new EndpointMap(map("endpoints"));
    interfaces = new InterfaceArray(map("interfaces"));
    generations = new GenerationArray(map("generations"));
    ipcache = new IpcacheEdits(map("ipcache4"), map("ipcache6"));
    flows = new Flows(maps);
    final PolicyMapArray slots = new PolicyMapArray(map("policies"));
    for (final ScenarioHost host : ScenarioHost.values()) {
      if (host.isLocal()) {
        register(host);
        policies.put(host, new WorkloadPolicy(host, slots));
      }
      if (host != ScenarioHost.STRANGER) {
        setIpcacheEntry(host, host.identity, host.id);
      }
    }
  }

  /**
   * Limits the flow tables of the programs to so many entries. Those of a node evict another entry
   * then, and refuse one only where a CPU finds none to evict.
   */
  ScenarioNode fullFlowTables(int entries) {
    for (final MapDefinition definition : SHIPPED.all()) {
      final MapSpec spec = definition.spec();
      if (spec.name().startsWith("conntrack") && spec.type() == MapType.LRU_HASH) {
        final MapSpec full =
            MapSpec.of(
                MapType.HASH, spec.name(), spec.keySize(), spec.valueSize(), entries, spec.flags());
        kernel.replace(BpfMap.create(MapDefinition.of(full), ""));
      }
    }
    return this;
  }

  BpfMap map(String name) {
    return maps.get(name);
  }

  Flows flows() {
    return flows;
  }

  ScenarioServices services(Family family) {
    return new ScenarioServices(family, maps);
  }

  WorkloadPolicy policyOf(ScenarioHost workload) {
    return policies.get(workload);
  }

  /** Removes the policy map of a workload, as of an endpoint that is being removed. */
  void removePolicyMap(ScenarioHost workload) {
    assertEquals(0, new PolicyMapArray(map("policies")).clear(workload.id));
    raiseGeneration(workload.id);
  }

  /** Allows all packets of both workloads. */
  ScenarioNode withoutPolicy() {
    policies.values().forEach(WorkloadPolicy::allowAll);
    return this;
  }

  ScenarioNode with(ScenarioHost workload, EndpointOption option) {
    setOptions(workload, optionsOf(workload) | option.number());
    return this;
  }

  ScenarioNode without(EndpointOption option) {
    for (final ScenarioHost host : List.of(ScenarioHost.ALICE, ScenarioHost.BOB)) {
      setOptions(host, optionsOf(host) & ~option.number());
    }
    return this;
  }

  /** Clears an option of one workload. */
  ScenarioNode without(ScenarioHost workload, EndpointOption option) {
    setOptions(workload, optionsOf(workload) & ~option.number());
    return this;
  }

  private void setOptions(ScenarioHost workload, int changed) {
    options.put(workload, changed);
    register(workload);
  }

  ScenarioNode anyLifetime(long ns) {
    anyLifetimeNs = ns;
    return this;
  }

  /** Sets the entries of a table that can be in use, and an endpoint's part of those left. */
  ScenarioNode capacity(int entries, int percent) {
    capacity = entries;
    flowSharePercent = percent;
    return this;
  }

  /** Sets how many first fragments of an endpoint are stored in the tables that all share. */
  ScenarioNode fragmentsPerSecond(int most) {
    fragmentsPerSecond = most;
    return this;
  }

  /** Limits the events of an endpoint. */
  ScenarioNode eventsPerSecond(int most) {
    eventsPerSecond = most;
    return this;
  }

  /** Sets how many first bytes of a packet an event may have. */
  ScenarioNode payloadBytes(int most) {
    payloadBytes = most;
    return this;
  }

  /** Sets the aggregation of trace events. */
  ScenarioNode aggregation(int level) {
    aggregation = level;
    register(ScenarioHost.ALICE);
    register(ScenarioHost.BOB);
    return this;
  }

  /** Sets the identity of IPv6 addresses without an ipcache entry. */
  ScenarioNode worldIdentity6(int identity) {
    worldIdentity6 = identity;
    return this;
  }

  /** Translates what workloads send to {@link Nat46Packets#RANGE}. */
  ScenarioNode nat46() {
    translates = true;
    return this;
  }

  /** Reserves these ports for sockets of the node. */
  ScenarioNode socketPorts(int first, int count) {
    socketPortFirst = first;
    socketPorts = count;
    return this;
  }

  /** Limits an endpoint to one of so many of the ports of masqueraded flows. */
  ScenarioNode portShares(int shares) {
    portShares = shares;
    return this;
  }

  /** Marks tables as carried over, so that entries may be missing until a time. */
  ScenarioNode flowsLostUntil(long ns) {
    flowsLostUntilNs = ns;
    return this;
  }

  /** Marks tables as carried over a moment ago. */
  ScenarioNode mayHaveLostFlows() {
    return flowsLostUntil(System.nanoTime() + 600 * SECOND_NS);
  }

  /** Removes the IPv4 address of a workload. */
  void takeIpv4(ScenarioHost workload) {
    withoutIpv4.add(workload);
    register(workload);
  }

  /** Disables a family on the node; its workloads keep their addresses. */
  ScenarioNode disable(Family family) {
    disabled.add(family);
    return this;
  }

  /** Writes the endpoint entry of a workload with its present options. */
  void register(ScenarioHost workload) {
    endpoints
        .edit(idOf(workload))
        .ifindex(workload.ifindex)
        .options(optionsOf(workload))
        .aggregation(aggregation)
        .hasIpv6(true)
        .ipv6(workload.ipv6High(), workload.ipv6Low())
        .mac(workload.macNumber())
        .hostMac(workload.hostMacNumber())
        .identity(workload.identity)
        .policyId(workload.id);
    if (!withoutIpv4.contains(workload)) {
      endpoints.found().hasIpv4(true).ipv4(workload.ipv4Number());
    }
    assertEquals(0, endpoints.put());
  }

  private int idOf(ScenarioHost workload) {
    return ids.getOrDefault(workload, workload.id);
  }

  /** Makes a workload another endpoint, with the policy map that it has. */
  void renumber(ScenarioHost workload, int id) {
    ids.put(workload, id);
    register(workload);
  }

  /** Makes flows bypass the stack by a device that has routes to all hosts outside this node. */
  ScenarioNode routed() {
    network = ScenarioNetwork.create();
    guard(ScenarioNetwork.DEVICE);
    return this;
  }

  /** Returns the network of a routed node. */
  ScenarioNetwork network() {
    return network;
  }

  /** Attaches the host program to a device. */
  void guard(int ifindex) {
    assertEquals(0, new DeviceMap(map("devices")).add(ifindex, 0, 0, 0));
  }

  /** Masquerades flows by a device with the addresses of a host. */
  ScenarioNode masquerade(int ifindex, ScenarioHost host) {
    final DeviceMap devices = new DeviceMap(map("devices"));
    assertEquals(
        0, devices.add(ifindex, host.ipv4Number(), host.ipv6High(), host.ipv6Low()), "devices");
    return this;
  }

  /** Makes the addresses of a host those of this node. */
  ScenarioNode own(ScenarioHost host) {
    final int flags = IpcacheFlag.HOST.number();
    assertEquals(0, ipcache.upsert(host.ipv4Number(), 32, host.identity, 0, flags));
    assertEquals(0, ipcache.upsert(host.ipv6High(), host.ipv6Low(), 128, host.identity, 0, flags));
    return this;
  }

  /** Detaches the host program from a device. */
  void unguard(int ifindex) {
    assertEquals(0, new DeviceMap(map("devices")).remove(ifindex));
  }

  /** Moves a workload to another interface on the node. */
  void move(ScenarioHost workload, int ifindex) {
    assertEquals(0, endpoints.lookup(workload.id));
    endpoints.found().ifindex(ifindex);
    assertEquals(0, endpoints.put());
    raiseGeneration(workload.id);
  }

  /** Writes the values of a workload that verifies nothing to the slot of no endpoint. */
  void fillEndpointZero() {
    endpoints.edit(0).ifindex(1).hasIpv4(true).ipv4(1).hasIpv6(true).ipv6(1, 1);
    assertEquals(0, endpoints.put());
  }

  /** Makes a workload use the policy map of another. */
  void sharePolicy(ScenarioHost workload, ScenarioHost other) {
    assertEquals(0, endpoints.lookup(workload.id));
    endpoints.found().policyId(other.id);
    assertEquals(0, endpoints.put());
    raiseGeneration(workload.id);
  }

  /** Makes a workload use no policy map, before its generation rises. */
  void leavePolicy(ScenarioHost workload) {
    assertEquals(0, endpoints.lookup(workload.id));
    endpoints.found().policyId(0);
    assertEquals(0, endpoints.put());
  }

  /** Writes another identity of a host where the programs read it, before generations rise. */
  void writeIdentity(ScenarioHost host, int identity) {
    if (host.isLocal()) {
      assertEquals(0, endpoints.lookup(host.id));
      endpoints.found().identity(identity);
      assertEquals(0, endpoints.put());
    } else {
      assertEquals(0, ipcache.upsert(host.ipv4Number(), 32, identity, 0, 0));
      assertEquals(0, ipcache.upsert(host.ipv6High(), host.ipv6Low(), 128, identity, 0, 0));
    }
  }

  void unregister(ScenarioHost workload) {
    assertEquals(0, endpoints.clear(workload.id));
    raiseGeneration(workload.id);
  }

  void setIpcacheEntry(ScenarioHost host, int identity, int endpointId) {
    final int flags = host == ScenarioHost.HOST ? IpcacheFlag.HOST.number() : 0;
    assertEquals(0, ipcache.upsert(host.ipv4Number(), 32, identity, endpointId, flags));
    assertEquals(
        0, ipcache.upsert(host.ipv6High(), host.ipv6Low(), 128, identity, endpointId, flags));
    raiseGeneration(0);
  }

  /** Raises the generation of an endpoint, or with 0 of all addresses outside this node. */
  void raiseGeneration(int endpointId) {
    if (endpointId != 0) {
      generations.bump(endpointId);
      return;
    }
    for (int shard = 0; shard < Shards.COUNT; shard++) {
      generations.bump(GenerationLayout.OUTSIDE + shard);
    }
  }

  /** Raises the generations of the addresses of one host outside this node. */
  void raiseShardsOf(ScenarioHost host) {
    for (final String address : List.of(host.ipv4, host.ipv6)) {
      generations.bump(GenerationLayout.OUTSIDE + Shards.of(IpAddress.parse(address)));
    }
  }

  /** Removes the ipcache entries of a host: its addresses belong to no endpoint then. */
  void removeIpcacheEntry(ScenarioHost host) {
    assertEquals(0, ipcache.delete(host.ipv4Number(), 32));
    assertEquals(0, ipcache.delete(host.ipv6High(), host.ipv6Low(), 128));
    raiseShardsOf(host);
  }

  /** Assigns the id and the address of the endpoint to another endpoint. */
  void reassign(ScenarioHost host) {
    generations.disown(host.id);
    raiseGeneration(0);
  }

  /** The device splits the following packets into segments; 0: it does not. */
  void splitInto(int segmentBytes) {
    run.splitInto(segmentBytes);
  }

  Outcome fromWorkload(ScenarioHost workload, IpPacket packet) {
    return fromWorkload(workload, packet.bytes());
  }

  Outcome fromWorkload(ScenarioHost workload, byte[] frame) {
    return run(program(workload, "from_endpoint"), frame, MetricsDirection.EGRESS);
  }

  Outcome toWorkload(ScenarioHost workload, IpPacket packet) {
    return toWorkload(workload, packet.bytes());
  }

  Outcome toWorkload(ScenarioHost workload, byte[] frame) {
    return run(program(workload, "to_endpoint"), frame, MetricsDirection.INGRESS);
  }

  /** Limits the interface of a routed node's workload, where to_endpoint meets what it sends. */
  BpfLink limit(ScenarioHost workload, int mtu) {
    return network.loop(mtu, program(workload, "to_endpoint"));
  }

  /** Runs to_endpoint on a packet that the node received by an interface and forwards. */
  Outcome forwardedToWorkload(ScenarioHost workload, IpPacket packet) {
    return forwardedToWorkload(LOOPBACK_IFINDEX, workload, packet.bytes());
  }

  /** Runs to_endpoint on a packet that the node received by an interface, and 0 by none. */
  Outcome forwardedToWorkload(int ifindex, ScenarioHost workload, byte[] packet) {
    run.receivedBy(ifindex);
    try {
      return toWorkload(workload, packet);
    } finally {
      run.receivedBy(0);
    }
  }

  Outcome fromNetwork(IpPacket packet) {
    return fromNetwork(packet.bytes());
  }

  Outcome fromNetwork(byte[] frame) {
    return run(hostProgram("from_network"), frame, MetricsDirection.NETWORK);
  }

  /** Runs to_network on a packet that the stack sends by a device of the network. */
  Outcome toNetwork(IpPacket packet) {
    return toNetwork(packet.bytes());
  }

  Outcome toNetwork(byte[] frame) {
    return run(hostProgram("to_network"), frame, MetricsDirection.NETWORK);
  }

  /** Runs to_network on a packet of an interface of the node that the stack forwards. */
  Outcome forwardedToNetwork(IpPacket packet) {
    return forwardedToNetwork(packet.bytes());
  }

  Outcome forwardedToNetwork(byte[] frame) {
    run.receivedBy(LOOPBACK_IFINDEX);
    try {
      return toNetwork(frame);
    } finally {
      run.receivedBy(0);
    }
  }

  /** Runs a program on a packet of an interface that no endpoint has. */
  Outcome ofNoEndpoint(String program, IpPacket packet, MetricsDirection direction) {
    interfaces.set(InterfaceArray.index(LOOPBACK_IFINDEX), 0);
    return run(endpointPrograms().program(program), packet.bytes(), direction);
  }

  /** Runs a program on a packet of an interface whose cell is another interface's. */
  Outcome ofAnotherInterface(String program, IpPacket packet, MetricsDirection direction) {
    interfaces.set(
        InterfaceArray.index(LOOPBACK_IFINDEX),
        InterfaceArray.cell(LOOPBACK_IFINDEX + MapSize.INTERFACE_CELLS, ScenarioHost.BOB.id));
    return run(endpointPrograms().program(program), packet.bytes(), direction);
  }

  /** Assigns the interface of BPF_PROG_TEST_RUN to a workload in the overflow of the cells. */
  void overflow(ScenarioHost workload) {
    final BpfMap overflow = map("interfaces_overflow");
    assertEquals(0, new InterfaceOverflowMap(overflow).set(LOOPBACK_IFINDEX, workload.id));
  }

  /** Runs from_endpoint on the same packet many times; it must leave the packet as it is. */
  void repeatFromWorkload(ScenarioHost workload, IpPacket packet, int times) {
    repeat(program(workload, "from_endpoint"), packet.bytes(), times);
  }

  /** Runs to_endpoint on the same packet many times. */
  void repeatToWorkload(ScenarioHost workload, IpPacket packet, int times) {
    repeat(program(workload, "to_endpoint"), packet.bytes(), times);
  }

  private void repeat(BpfProgram program, byte[] frame, int times) {
    run.input(frame);
    assertEquals(0, run.run(program, frame.length, 0, times));
  }

  /** Runs from_endpoint on a packet of which the device has computed the checksum. */
  int checksummedFromWorkload(ScenarioHost workload, IpPacket packet) {
    return checksummedFromWorkload(workload, packet.bytes());
  }

  int checksummedFromWorkload(ScenarioHost workload, byte[] frame) {
    return ChecksummedRun.run(program(workload, "from_endpoint"), frame);
  }

  /** Runs to_endpoint on a packet of which the device has computed the checksum. */
  int checksummedToWorkload(ScenarioHost workload, byte[] frame) {
    final BpfProgram program = program(workload, "to_endpoint");
    return network == null
        ? ChecksummedRun.run(program, frame)
        : network.call(() -> ChecksummedRun.run(program, frame));
  }

  /** Runs from_network on a packet of which the device has computed the checksum. */
  int checksummedFromNetwork(IpPacket packet) {
    return ChecksummedRun.run(hostProgram("from_network"), packet.bytes());
  }

  /**
   * Returns the action of from_endpoint without reading the counters, which is faster for many
   * packets.
   */
  int actionFor(ScenarioHost workload, byte[] frame) {
    run.input(frame);
    final BpfProgram program = program(workload, "from_endpoint");
    assertEquals(0, runOnce(program, frame.length), "BPF_PROG_TEST_RUN");
    return run.returnValue();
  }

  /**
   * Returns the action of a program on any frame without reading the counters.
   *
   * @param name {@code from_endpoint}, {@code to_endpoint} or {@code from_network}
   * @param workload whose interface the packet meets
   * @return the action, or {@link #REFUSED} where BPF_PROG_TEST_RUN does not take the frame
   */
  int actionOf(String name, ScenarioHost workload, byte[] frame) {
    final BpfProgram program =
        name.endsWith("_network") ? hostProgram(name) : program(workload, name);
    run.input(frame);
    return runOnce(program, frame.length) == 0 ? run.returnValue() : REFUSED;
  }

  /** Returns the packet that the last run has left. */
  byte[] output() {
    return run.output().toArray(ValueLayout.JAVA_BYTE);
  }

  private Outcome run(BpfProgram program, byte[] frame, MetricsDirection direction) {
    final MetricsDirection peers =
        direction == MetricsDirection.EGRESS ? MetricsDirection.INGRESS : MetricsDirection.EGRESS;
    final long[] before = counts(direction);
    final long[] peersBefore = counts(peers);
    final long bytesBefore = bytes(direction) + bytes(peers);
    run.input(frame);
    assertEquals(0, runOnce(program, frame.length), "BPF_PROG_TEST_RUN");
    final byte[] out = output();
    final DropReason counted = difference(before, counts(direction));
    final DropReason countedAtPeer = difference(peersBefore, counts(peers));
    assertEquals(
        counted == null && countedAtPeer == null ? 0 : countedBytes(frame, out, direction),
        bytes(direction) + bytes(peers) - bytesBefore,
        "counted bytes");
    return new Outcome(run.returnValue(), frame, out, counted, countedAtPeer);
  }

  /** A packet that becomes one of IPv4 is counted as that, where its workload sends it. */
  private static int countedBytes(byte[] frame, byte[] out, MetricsDirection direction) {
    final boolean becomesIpv4 =
        direction == MetricsDirection.EGRESS
            && (frame[12] & 0xff) == 0x86
            && (out[12] & 0xff) == 0x08;
    if (!becomesIpv4) {
      return frame.length;
    }
    final boolean isError = frame[20] == 58 && frame[54] >= 0; // its quote is one of IPv4, too
    return frame.length - (isError ? 40 : frame[20] == IpPacket.FRAGMENT ? 28 : 20);
  }

  /** The routes of the thread's namespace apply to the packet. */
  private int runOnce(BpfProgram program, int length) {
    if (network == null) {
      return run.run(program, length, 0, 1);
    }
    return network.call(() -> run.run(program, length, 0, 1));
  }

  private static DropReason difference(long[] before, long[] after) {
    DropReason counted = null;
    for (final DropReason reason : DropReason.values()) {
      final long packets = after[reason.number()] - before[reason.number()];
      if (packets != 0) {
        assertEquals(1, packets, reason + " counted");
        assertEquals(null, counted, "one reason per packet");
        counted = reason;
      }
    }
    return counted;
  }

  /** Returns the packets that were counted for a reason. */
  long packets(MetricsDirection direction, DropReason reason) {
    return counts(direction)[reason.number()];
  }

  private long[] counts(MetricsDirection direction) {
    assertEquals(0, metrics.refresh());
    final long[] counts = new long[DropReason.values().length];
    for (int i = 0; i < counts.length; i++) {
      counts[i] = metrics.packets(direction.number(), i);
    }
    return counts;
  }

  /** Returns the bytes of all drop reasons at the last refresh of the counters. */
  private long bytes(MetricsDirection direction) {
    long bytes = 0;
    for (final DropReason reason : DropReason.values()) {
      bytes += metrics.bytes(direction.number(), reason.number());
    }
    return bytes;
  }

  /** Returns a program after giving the interface of BPF_PROG_TEST_RUN to the workload. */
  private BpfProgram program(ScenarioHost workload, String name) {
    interfaces.set(
        InterfaceArray.index(LOOPBACK_IFINDEX),
        InterfaceArray.cell(LOOPBACK_IFINDEX, idOf(workload)));
    return endpointPrograms().program(name);
  }

  private BpfObject endpointPrograms() {
    if (programs == null) {
      final ScenarioObject object = ScenarioObject.open("endpoint");
      nodeConfig(object);
      programs = kernel.load(object);
    }
    return programs;
  }

  private BpfProgram hostProgram(String name) {
    if (host == null) {
      host = loadHost();
    }
    return host.program(name);
  }

  private int optionsOf(ScenarioHost workload) {
    return options.getOrDefault(workload, DEFAULT_OPTIONS);
  }

  private BpfObject loadHost() {
    final ScenarioObject object = ScenarioObject.open("host");
    nodeConfig(object);
    return kernel.load(object);
  }

  private void nodeConfig(ScenarioObject object) {
    new NodeConfigFlyweight()
        .wrap(object.constant("node_config"), 0)
        .nat46Range(Nat46Packets.RANGE_HIGH, 0)
        .enableNat46(translates ? 1 : 0)
        .tcpSynLifetimeNs(60 * SECOND_NS)
        .tcpEstablishedLifetimeNs(21_600 * SECOND_NS)
        .tcpClosingLifetimeNs(10 * SECOND_NS)
        .anyLifetimeNs(anyLifetimeNs)
        .worldIdentity4(WORLD_IDENTITY)
        .worldIdentity6(worldIdentity6)
        .gateway4(ScenarioHost.HOST.ipv4Number())
        .gateway6(ScenarioHost.HOST.ipv6High(), ScenarioHost.HOST.ipv6Low())
        .node4(ScenarioHost.NODE.ipv4Number())
        .node6(ScenarioHost.NODE.ipv6High(), ScenarioHost.NODE.ipv6Low())
        .enableIpv4(disabled.contains(Family.IPV4) ? 0 : 1)
        .enableIpv6(disabled.contains(Family.IPV6) ? 0 : 1)
        .tcpCapacity(capacity)
        .anyCapacity(capacity * 2)
        .flowSharePercent(flowSharePercent)
        .fragmentsPerSecond(fragmentsPerSecond)
        .eventsPerSecond(eventsPerSecond)
        .payloadBytes(payloadBytes)
        .socketPortFirst(socketPortFirst)
        .socketPorts(socketPorts)
        .portShares(portShares)
        .flowsLostUntilNs(flowsLostUntilNs);
  }

  /** Loads an object with the maps and the constants of this node, which closes it. */
  BpfObject load(String stem, Consumer<ScenarioObject> further) {
    final ScenarioObject object = ScenarioObject.open(stem);
    nodeConfig(object);
    further.accept(object);
    return kernel.load(object);
  }

  @Override
  public void close() {
    policies.values().forEach(WorkloadPolicy::close);
    interfaces.close();
    generations.close();
    kernel.giveBack();
    run.close();
    if (network != null) {
      network.close();
    }
  }
}
