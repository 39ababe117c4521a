package agent.datapath.programs.scenario;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.ProgramTestRun;
import agent.bindings.net.NetworkDevice;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.IpcacheEdits;
import agent.maps.kernel.MapDefinition;
import agent.maps.kernel.MapDefinitions;
import agent.maps.kernel.MetricsMap;
import agent.maps.layout.BalancerConfigFlyweight;
import agent.maps.layout.DropReason;
import agent.maps.layout.IpcacheFlag;
import agent.maps.layout.MetricsDirection;
import agent.testkit.IpPacket;
import agent.testkit.Packets;
import java.lang.foreign.ValueLayout;
import java.util.HashMap;
import java.util.Map;

/** The load balancer of a device of a routed node; BPF_PROG_TEST_RUN runs it on single packets. */
final class BalancerNode implements AutoCloseable {
  static final int DEVICE = ScenarioNetwork.DEVICE;
  static final String MAC = "02:00:00:00:00:20";
  static final String ROUTER_MAC = "02:00:00:00:00:fe";

  private static final int ENTRIES = 4096;

  private final ScenarioNetwork network = ScenarioNetwork.create();
  private final Map<String, BpfMap> maps = new HashMap<>();
  private final ProgramTestRun run = new ProgramTestRun(3000);
  private final MetricsMap metrics;
  private final BpfObject object;

  BalancerNode() {
    this(true, true);
  }

  BalancerNode(boolean enableIpv4, boolean enableIpv6) {
    for (final MapDefinition definition : MapDefinitions.of("balancer").all()) {
      final int declared = definition.spec().maxEntries();
      final boolean isWhole = definition.name().equals("interfaces"); // its indexes are hashes
      maps.put(
          definition.name(),
          BpfMap.create(
              definition.withMaxEntries(isWhole ? declared : Math.min(ENTRIES, declared)), ""));
    }
    metrics = new MetricsMap(maps.get("metrics"));
    for (final ScenarioHost host : ScenarioHost.values()) {
      if (host != ScenarioHost.STRANGER) {
        setIpcacheEntry(host);
      }
    }
    final ScenarioObject opened = ScenarioObject.open("balancer");
    new BalancerConfigFlyweight()
        .wrap(opened.constant("balancer_config"), 0)
        .clear()
        .mac(number(MAC))
        .enableIpv4(enableIpv4 ? 1 : 0)
        .enableIpv6(enableIpv6 ? 1 : 0)
        .source4(ScenarioHost.NODE.ipv4Number())
        .source6(ScenarioHost.NODE.ipv6High(), ScenarioHost.NODE.ipv6Low());
    object = opened.object();
    maps.forEach((name, map) -> object.reuseMap(name, map.fd()));
    object.load();
  }

  private void setIpcacheEntry(ScenarioHost host) {
    final boolean isNode = host == ScenarioHost.HOST || host == ScenarioHost.NODE;
    final int flags = isNode ? IpcacheFlag.HOST.number() : 0;
    final IpcacheEdits ipcache = new IpcacheEdits(maps.get("ipcache4"), maps.get("ipcache6"));
    assertEquals(0, ipcache.upsert(host.ipv4Number(), 32, host.identity, host.id, flags));
    assertEquals(
        0, ipcache.upsert(host.ipv6High(), host.ipv6Low(), 128, host.identity, host.id, flags));
  }

  private static long number(String mac) {
    long number = 0;
    for (final byte octet : Packets.mac(mac)) {
      number = number << Byte.SIZE | octet & 0xff;
    }
    return number;
  }

  ScenarioNetwork network() {
    return network;
  }

  BpfMap map(String name) {
    return maps.get(name);
  }

  ScenarioServices services(Family family) {
    return new ScenarioServices(family, maps);
  }

  /** Returns the MAC address of an interface of the node. */
  String macOf(int ifindex) {
    final long mac = network.call(() -> NetworkDevice.hardwareAddress(ifindex));
    final StringBuilder text = new StringBuilder();
    for (int shift = 40; shift >= 0; shift -= Byte.SIZE) {
      text.append(text.isEmpty() ? "" : ":").append("%02x".formatted(mac >> shift & 0xff));
    }
    return text.toString();
  }

  /** Returns a packet that the device receives. */
  static IpPacket received(String source, String destination) {
    final IpPacket packet =
        source.contains(":")
            ? Packets.ipv6(source, destination)
            : Packets.ipv4(source, destination);
    return packet.from(ROUTER_MAC).to(MAC);
  }

  BalancerOutcome receive(IpPacket packet) {
    return receive(packet.bytes());
  }

  BalancerOutcome receive(byte[] frame) {
    final long[] before = counts();
    run.input(frame);
    assertEquals(
        0,
        network.<Integer>call(
            () -> run.runXdp(object.program("balancer"), frame.length, DEVICE, 1)));
    final long[] after = counts();
    DropReason counted = null;
    for (final DropReason reason : DropReason.values()) {
      if (after[reason.number()] != before[reason.number()]) {
        assertEquals(null, counted);
        counted = reason;
      }
    }
    return new BalancerOutcome(
        run.returnValue(), frame, run.output().toArray(ValueLayout.JAVA_BYTE), counted);
  }

  private long[] counts() {
    assertEquals(0, metrics.refresh());
    final long[] counts = new long[DropReason.values().length];
    for (int i = 0; i < counts.length; i++) {
      counts[i] = metrics.packets(MetricsDirection.NETWORK.number(), i);
    }
    return counts;
  }

  @Override
  public void close() {
    run.close();
    object.close();
    maps.values().forEach(BpfMap::close);
    network.close();
  }
}
