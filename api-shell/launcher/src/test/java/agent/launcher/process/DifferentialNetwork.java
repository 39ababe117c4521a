package agent.launcher.process;

import agent.launcher.process.DifferentialModel.Kind;
import agent.launcher.process.DifferentialModel.Party;
import agent.testkit.NetworkNamespace;
import agent.testkit.TestControlGroup;
import java.io.IOException;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import tools.jackson.databind.JsonNode;

/**
 * A node with three workloads, a host outside and services with backends at each of them; who has
 * which address.
 */
final class DifferentialNetwork {
  /** The names of services whose backends are outside, in a workload and at the node. */
  static final List<String> SERVICES = List.of("outside", "workload", "node");

  static final String NAT46 = "64:ff9b::";

  private static final List<String> OUTSIDE4 = List.of("192.0.2.2", "192.0.2.3", "192.0.2.4");
  private static final List<String> OUTSIDE6 =
      List.of("2001:db8:2::2", "2001:db8:2::3", "2001:db8:2::4");

  /** An address that the node has beside those of its devices. */
  private static final List<String> SECOND = List.of("198.51.100.77", "2001:db8:77::77");

  /** Frontends for clients outside, that the network brings to the node. */
  private static final List<String> BALANCED = List.of("203.0.113.80", "2001:db8:80::80");

  private final TestNode node;
  private final AgentProcess agent;
  private final Map<String, Set<String>> records;
  private final List<Host> hosts = new ArrayList<>();
  private final List<Frontend> frontends = new ArrayList<>();
  private final Map<String, Set<String>> backends = new TreeMap<>();

  /** A host: a workload, the node, or the one outside. */
  record Host(
      String name,
      Kind kind,
      NetworkNamespace namespace,
      Map<String, String> labels,
      List<String> addresses,
      CountingServers servers,
      TestWorkload workload) {
    List<String> addresses(boolean isIpv6) {
      return addresses.stream().filter(each -> isIpv6(each) == isIpv6).toList();
    }

    boolean isWorkload() {
      return kind == Kind.WORKLOAD;
    }

    Party at(String address) {
      return new Party(kind, labels, address);
    }
  }

  /**
   * A service with one backend.
   *
   * @param isForOutside whether clients outside reach it
   */
  record Frontend(
      String address,
      int port,
      boolean isTcp,
      Host host,
      String backend,
      int backendPort,
      boolean isForOutside) {}

  private DifferentialNetwork(TestNode node, AgentProcess agent) {
    this.node = node;
    this.agent = agent;
    records = new HashMap<>();
  }

  static DifferentialNetwork start(TestNode node, TestControlGroup group) throws Exception {
    final NetworkNamespace outside = WorldNetwork.connect(node);
    for (int i = 1; i < OUTSIDE4.size(); i++) {
      outside.ip("address add " + OUTSIDE4.get(i) + "/24 dev eth0");
      outside.ip("-6 address add " + OUTSIDE6.get(i) + "/64 dev eth0 nodad");
    }
    for (final String routed : List.of("10.210.0.0/24", BALANCED.get(0), SECOND.get(0))) {
      outside.ip("route add " + routed + " via 192.0.2.1");
    }
    for (final String routed : List.of("fd00:210::/96", BALANCED.get(1), SECOND.get(1))) {
      outside.ip("-6 route add " + routed + " via 2001:db8:2::1");
    }
    node.namespace().ip("address add " + SECOND.get(0) + "/32 dev lo");
    node.namespace().ip("-6 address add " + SECOND.get(1) + "/128 dev lo nodad");
    final AgentProcess agent =
        node.agent(
            "--device=" + WorldNetwork.DEVICE,
            "--nat46-range=" + NAT46 + "/96",
            "--cgroup-root=" + group.path());
    final DifferentialNetwork network = new DifferentialNetwork(node, agent);
    network.workload("a", "x");
    network.workload("b", "x");
    network.workload("c", "y");
    final List<String> own = new ArrayList<>(List.of("192.0.2.1", "2001:db8:2::1"));
    own.addAll(SECOND);
    own.addAll(network.gateways());
    network.add("node", Kind.NODE, node.namespace(), Map.of(), own, null);
    final List<String> far = new ArrayList<>(OUTSIDE4);
    far.addAll(OUTSIDE6);
    network.add("outside", Kind.WORLD, outside, Map.of(), far, null);
    network.name();
    network.balance();
    return network;
  }

  private List<String> gateways() throws Exception {
    final List<String> found = new ArrayList<>();
    final NetworkNamespace workload = hosts.getFirst().namespace;
    for (final String family : List.of("-4", "-6")) {
      final String routes = workload.exec("ip", family, "route", "show", "default");
      found.add(routes.replaceAll("(?s).* via (\\S+) .*", "$1"));
    }
    return found;
  }

  private void workload(String app, String tier) throws Exception {
    final TestWorkload workload = node.workload(agent, app, "app=" + app, "tier=" + tier);
    add(
        app,
        Kind.WORKLOAD,
        workload.namespace(),
        Map.of("app", app, "tier", tier),
        List.of(workload.ipv4(), workload.ipv6()),
        workload);
  }

  private void add(
      String name,
      Kind kind,
      NetworkNamespace namespace,
      Map<String, String> labels,
      List<String> addresses,
      TestWorkload workload)
      throws Exception {
    final CountingServers servers = CountingServers.start(namespace, name, addresses, records);
    node.keep(servers);
    hosts.add(
        new Host(
            name,
            kind,
            namespace,
            labels,
            addresses.stream().map(DifferentialNetwork::literal).toList(),
            servers,
            workload));
  }

  /** Sets the addresses of each name; some are of no host that a name may open. */
  private void name() {
    final TestWorkload workload = host("b").workload;
    final List<String> names = DifferentialGenerator.NAMES;
    records.put(names.get(0), Set.of(OUTSIDE4.get(1), OUTSIDE6.get(1)));
    records.put(names.get(1), Set.of(OUTSIDE4.get(2), OUTSIDE6.get(2)));
    records.put(names.get(2), Set.of(OUTSIDE4.get(1), OUTSIDE6.get(2)));
    records.put(names.get(3), Set.of(OUTSIDE4.get(0), OUTSIDE6.get(0)));
    records.put(names.get(4), Set.of(workload.ipv4(), workload.ipv6()));
    records.put(names.get(5), Set.of(SECOND.get(0), SECOND.get(1)));
    records.put(names.get(6), Set.of("127.0.0.1", "::1"));
  }

  private void balance() throws Exception {
    for (final boolean isIpv6 : List.of(false, true)) {
      final String stem = isIpv6 ? "fd96::" : "10.96.0.";
      final int family = isIpv6 ? 1 : 0;
      final List<String> far = isIpv6 ? OUTSIDE6 : OUTSIDE4;
      serve("outside", "ClusterIP", stem + 1, true, host("outside"), far.get(1));
      serve("outside", "ClusterIP", stem + 2, false, host("outside"), far.get(2));
      serve("node", "ClusterIP", stem + 3, true, host("node"), SECOND.get(family));
      for (final String app : List.of("a", "b", "c")) {
        final Host host = host(app);
        final String own = host.addresses(isIpv6).getFirst();
        final String address = stem + (4 + hosts.indexOf(host));
        serve("workload", "ClusterIP", address, true, host, own);
        serve("workload", "ClusterIP", address, false, host, own);
      }
      final Host balanced = host("b");
      final String own = balanced.addresses(isIpv6).getFirst();
      serve("workload", "LoadBalancer", BALANCED.get(family), true, balanced, own);
      serve("workload", "LoadBalancer", BALANCED.get(family), false, balanced, own);
    }
  }

  private void serve(
      String name, String type, String address, boolean isTcp, Host host, String backend)
      throws Exception {
    final int port = isTcp ? 80 : 5300;
    final int backendPort = isTcp ? DifferentialGenerator.FIRST_TCP + 1 : 54;
    agent.expect(
        201,
        "PUT",
        "/service/" + (frontends.size() + 1),
        """
        {"frontend-address": {"ip": "%s", "port": %d, "protocol": "%s"},
         "backend-addresses": [{"ip": "%s", "port": %d}],
         "flags": {"name": "%s", "type": "%s"}}
        """
            .formatted(address, port, isTcp ? "TCP" : "UDP", backend, backendPort, name, type));
    frontends.add(
        new Frontend(
            literal(address),
            port,
            isTcp,
            host,
            literal(backend),
            backendPort,
            !type.equals("ClusterIP")));
    backends.computeIfAbsent(name, first -> new HashSet<>()).add(literal(backend));
  }

  /** Returns an address in the form that all here are compared in. */
  static String literal(String address) {
    return InetAddress.ofLiteral(address).getHostAddress();
  }

  static boolean isIpv6(String address) {
    return address.indexOf(':') >= 0;
  }

  AgentProcess agent() {
    return agent;
  }

  List<Host> hosts() {
    return hosts;
  }

  Host host(String name) {
    return hosts.stream().filter(host -> host.name.equals(name)).findFirst().orElseThrow();
  }

  List<Frontend> frontends() {
    return frontends;
  }

  /** Returns the addresses of backends by the names of services. */
  Map<String, Set<String>> backends() {
    return backends;
  }

  /** Returns the addresses of a name in a family. */
  List<String> addresses(String name, boolean isIpv6) {
    return records.get(name).stream()
        .map(DifferentialNetwork::literal)
        .filter(address -> isIpv6(address) == isIpv6)
        .toList();
  }

  /** Returns what the agent says of a connection that it is asked about. */
  String resolve(Party client, Party server, boolean isTcp, int port) throws IOException {
    return agent
        .expect(
            200,
            "GET",
            "/policy/resolve",
            """
            {"from": {"labels": [%s]},
             "to": {"labels": [%s], "dports": [{"port": %d, "protocol": "%s"}]}}
            """
                .formatted(labels(client), labels(server), port, isTcp ? "TCP" : "UDP"))
        .json()
        .get("verdict")
        .asString();
  }

  private static String labels(Party party) {
    return switch (party.kind()) {
      case NODE -> "\"reserved:host\"";
      case WORLD -> "\"cidr:" + party.address() + (party.isIpv6() ? "/128\"" : "/32\"");
      case WORKLOAD ->
          party.labels().entrySet().stream()
              .map(label -> '"' + label.getKey() + "=" + label.getValue() + '"')
              .collect(Collectors.joining(", "));
    };
  }

  /** Returns how many packets were dropped since no host has one of their addresses. */
  long droppedForAddresses() throws IOException {
    long dropped = 0;
    for (final JsonNode metric : agent.expect(200, "GET", "/metrics/", null).json()) {
      if (metric.get("name").asString().equals("agent_dropped_packets_total")
          && metric.at("/labels/reason").asString().equals("invalid_address")) {
        dropped += metric.get("value").asLong();
      }
    }
    return dropped;
  }

  /** Returns how much has reached which servers since the last call. */
  Map<String, Integer> takeArrived() {
    final Map<String, Integer> arrived = new TreeMap<>();
    for (final Host host : hosts) {
      final Map<Integer, AtomicInteger> ports = host.servers.takeArrived();
      ports.forEach((port, count) -> arrived.put(host.name + " port " + port, count.get()));
    }
    return arrived;
  }
}
