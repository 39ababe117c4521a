package agent.datapath.programs.scenario;

import agent.bindings.bpf.BpfLink;
import agent.bindings.bpf.BpfProgram;
import agent.testkit.IpPacket;
import agent.testkit.NamespaceThread;
import agent.testkit.NetworkNamespace;
import agent.testkit.PacketCapture;
import agent.testkit.PacketFlood;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.UnaryOperator;

/**
 * The network namespace of a routed node: it forwards, has the interfaces of the workloads with
 * their indexes, and two devices with routes to the network. The routes to all hosts outside this
 * node are by the first one.
 */
final class ScenarioNetwork implements AutoCloseable {
  static final int DEVICE = 20;
  static final int OTHER_DEVICE = 21;
  private static final int PEER_INDEXES = 100;

  private final NetworkNamespace namespace = NetworkNamespace.create("scenario");
  private final NamespaceThread inside = new NamespaceThread(namespace);

  private ScenarioNetwork() {}

  static ScenarioNetwork create() {
    final ScenarioNetwork network = new ScenarioNetwork();
    network.forward(true);
    final List<String> commands = new ArrayList<>();
    for (final ScenarioHost host : ScenarioHost.values()) {
      if (host.isLocal()) {
        addDevice(host.ifindex, commands);
      }
    }
    addDevice(DEVICE, commands);
    addDevice(OTHER_DEVICE, commands);
    network.namespace.ip(commands.toArray(String[]::new));
    network.route("default", "dev " + name(DEVICE));
    return network;
  }

  static String name(int ifindex) {
    return "dev" + ifindex;
  }

  private static void addDevice(int ifindex, List<String> commands) {
    final int peer = PEER_INDEXES + ifindex;
    commands.add(
        "link add %s index %d type veth peer name %s index %d"
            .formatted(name(ifindex), ifindex, name(peer), peer));
    commands.add("link set " + name(ifindex) + " addrgenmode none up");
    commands.add("link set " + name(peer) + " addrgenmode none up");
  }

  /** Routes a destination, which is an address, or {@code default} in both families. */
  void route(String destination, String way) {
    if (destination.equals("default")) {
      namespace.ip("route replace 0.0.0.0/0 " + way, "route replace ::/0 " + way);
    } else {
      namespace.ip("route replace " + destination + " " + way);
    }
  }

  /** Routes both addresses of a host by a device, or another way such as {@code unreachable}. */
  void route(ScenarioHost host, String way) {
    final boolean isDevice = way.startsWith("dev ");
    forBoth(
        host, address -> "route replace " + (isDevice ? address + " " + way : way + " " + address));
  }

  /** Routes packets of a traffic class to a host by a device. */
  void routeByClass(int trafficClass, ScenarioHost host, int ifindex) {
    for (final String[] one : new String[][] {{"-4", host.ipv4}, {"-6", host.ipv6}}) {
      final String ofClass = "0x%02x".formatted(trafficClass);
      namespace.exec("ip", one[0], "rule", "add", "dsfield", ofClass, "table", "77");
      namespace.exec("ip", one[0], "route", "add", one[1], "dev", name(ifindex), "table", "77");
    }
  }

  /** Makes the MAC address of a host known, which is on the link of a device. */
  void resolve(ScenarioHost host, int ifindex) {
    final String link = " lladdr 02:00:00:00:99:01 dev " + name(ifindex) + " nud permanent";
    forBoth(host, address -> "neigh replace " + address + link);
  }

  /** Makes it unknown again. */
  void forget(ScenarioHost host, int ifindex) {
    forBoth(host, address -> "neigh delete " + address + " dev " + name(ifindex));
  }

  private void forBoth(ScenarioHost host, UnaryOperator<String> command) {
    namespace.ip(command.apply(host.ipv4), command.apply(host.ipv6));
  }

  /** Adds an interface without a program of the agent. */
  void addPlainDevice(int ifindex) {
    final List<String> commands = new ArrayList<>();
    addDevice(ifindex, commands);
    namespace.ip(commands.toArray(String[]::new));
  }

  /** Assigns the node both addresses of a host. */
  void own(ScenarioHost host) {
    namespace.ip(
        "link set lo up",
        "address add " + host.ipv4 + "/32 dev lo",
        "address add " + host.ipv6 + "/128 dev lo nodad");
  }

  /** Makes a packet arrive by an interface, as one that was addressed to it. */
  void arrive(int ifindex, IpPacket packet) {
    final String mac = "02:00:00:00:77:%02x".formatted(ifindex);
    namespace.ip("link set " + name(ifindex) + " address " + mac);
    PacketFlood.send(namespace, name(PEER_INDEXES + ifindex), 1, number -> packet.to(mac).bytes());
  }

  String exec(String... command) {
    return namespace.exec(command);
  }

  void mtu(int ifindex, int bytes) {
    namespace.ip("link set " + name(ifindex) + " mtu " + bytes);
  }

  /**
   * Sets the MTU of the device of BPF_PROG_TEST_RUN, and has what a program sends by it meet
   * another program.
   */
  BpfLink loop(int mtu, BpfProgram program) {
    namespace.ip("link set lo mtu " + mtu + " up");
    return call(() -> BpfLink.createTcx(program, ScenarioNode.LOOPBACK_IFINDEX, false));
  }

  /** Captures the frames of a protocol to a workload that come out of the devices. */
  PacketCapture capture(int etherType, ScenarioHost workload) {
    return PacketCapture.in(namespace, etherType, workload.mac());
  }

  void forward(boolean isOn) {
    final String value = isOn ? "1" : "0";
    call(
        () -> {
          Files.writeString(Path.of("/proc/sys/net/ipv4/ip_forward"), value);
          return Files.writeString(Path.of("/proc/sys/net/ipv6/conf/all/forwarding"), value);
        });
  }

  /** Runs work on the thread in the namespace, which is that of all packets. */
  <T> T call(Callable<T> work) {
    return inside.call(work);
  }

  @Override
  public void close() {
    inside.close();
    namespace.close();
  }
}
