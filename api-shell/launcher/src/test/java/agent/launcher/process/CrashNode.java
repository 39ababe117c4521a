package agent.launcher.process;

import agent.testkit.NetworkNamespace;
import agent.testkit.TestControlGroup;
import agent.testkit.VethPair;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiPredicate;
import tools.jackson.databind.JsonNode;

/**
 * The node of the crash rounds: a pool of workloads, a neighbour in front of the prefilter device,
 * and what the agent must have of each after the calls so far.
 */
final class CrashNode implements AutoCloseable {
  static final int WORKLOADS = 7;

  /** This workload has no address of its own: the agent allocates those of its endpoint. */
  static final int WITHOUT_ADDRESS = WORKLOADS - 1;

  static final int RULES = 4;
  static final int LEASES = 6;
  static final int SERVICES = 6;
  static final String PREFILTER_DEVICE = "ext0";
  static final String NODE4 = "198.51.100.1";
  static final String NODE6 = "2001:db8:100::1";

  /** Numbers of the sources in front of the prefilter device. */
  static final int SOURCES = 4;

  private static final int UNKNOWN_ID = 0;

  /**
   * An endpoint as its client knows it.
   *
   * @param id its number, or 0 where the answer with the number is missing
   * @param app the value of its label app
   * @param tier the value of its user label tier, or null
   * @param debug the value of its option Debug
   */
  record CrashEndpoint(int id, String app, String tier, String debug) {
    static final String DISABLED = "Disabled";
    static final String ENABLED = "Enabled";

    CrashEndpoint withTier(String value) {
      return new CrashEndpoint(id, app, value, debug);
    }

    CrashEndpoint withDebug(String value) {
      return new CrashEndpoint(id, app, tier, value);
    }

    boolean isFound(CrashEndpoint found) {
      return (id == UNKNOWN_ID || id == found.id)
          && app.equals(found.app)
          && Objects.equals(tier, found.tier)
          && debug.equals(found.debug);
    }
  }

  /**
   * A rule that admits UDP to one port of the endpoints of an app.
   *
   * @param app the app of the selected endpoints
   * @param key the label of the admitted sources: app or tier
   * @param value the value of that label
   * @param port the admitted port
   * @param requests the number in the path and the names that it also admits; 0: none
   */
  record CrashRule(String app, String key, String value, int port, int requests) {
    boolean selects(CrashEndpoint endpoint) {
      return app.equals(endpoint.app);
    }

    boolean admits(CrashEndpoint source, int toPort) {
      return port == toPort && value.equals(key.equals("app") ? source.app : source.tier);
    }
  }

  /**
   * A workload of the pool.
   *
   * @param endpoint what is expected of its endpoint
   * @param lease the owner to whom its IPv4 address is leased until the endpoint takes it over
   */
  record CrashWorkload(
      int number,
      NetworkNamespace namespace,
      VethPair veth,
      String ipv4,
      String ipv6,
      CrashExpectation<CrashEndpoint> endpoint,
      CrashExpectation<String> lease) {
    boolean isWithoutAddress() {
      return number == WITHOUT_ADDRESS;
    }
  }

  /** The rules by the value of their label, and their revision. */
  record CrashPolicy(long revision, Map<Integer, CrashRule> rules) {}

  /** The deny list of the prefilter and its revision. */
  record CrashDenyList(long revision, Set<String> deny) {}

  private final TestNode node = new TestNode();
  private final NetworkNamespace outside = NetworkNamespace.create("outside");
  private final List<CrashWorkload> workloads = new ArrayList<>();
  private final Map<String, CrashExpectation<String>> leases = new TreeMap<>();
  private final Map<Integer, CrashExpectation<CrashService>> services = new TreeMap<>();
  private final TestControlGroup group = TestControlGroup.enter();
  private final CrashExpectation<CrashPolicy> policy =
      new CrashExpectation<>("policy", null, CrashPolicy::equals);
  private final CrashExpectation<CrashDenyList> denyList =
      new CrashExpectation<>("prefilter", null, CrashDenyList::equals);
  private AgentProcess agent;

  CrashNode() throws Exception {
    node.keep(outside);
    VethPair.create(node.namespace(), PREFILTER_DEVICE, outside, "eth0");
    address(node.namespace(), PREFILTER_DEVICE, NODE4 + "/24", NODE6 + "/64");
    for (int i = 0; i < SOURCES; i++) {
      address(outside, "eth0", source4(i) + "/24", source6(i) + "/64");
    }
    start();
    agent.ready();
    plumbWorkloads();
    for (int i = 0; i < LEASES; i++) {
      leases.computeIfAbsent(leased(i), CrashNode::lease);
    }
    for (int id = 1; id <= SERVICES; id++) {
      services.put(id, new CrashExpectation<>("service " + id, null, CrashService::equals));
    }
    policy.answered(CrashApi.policy(agent));
    denyList.answered(CrashApi.denyList(agent));
  }

  private void plumbWorkloads() throws IOException {
    final JsonNode lease = agent.expect(201, "POST", "/ipam?owner=gateway", null).json();
    for (final String family : List.of("ipv4", "ipv6")) {
      agent.expect(200, "DELETE", "/ipam/" + lease.at("/" + family + "/ip").asString(), null);
    }
    final BiPredicate<CrashEndpoint, CrashEndpoint> matches = CrashEndpoint::isFound;
    for (int i = 0; i < WORKLOADS; i++) {
      final NetworkNamespace inside = NetworkNamespace.create("crash" + i);
      node.keep(inside);
      final VethPair veth = VethPair.create(node.namespace(), "wl" + i, inside, "eth0");
      final String ipv4 = "10.210.0." + (100 + i);
      final String ipv6 = "fd00:210::" + (100 + i);
      if (i != WITHOUT_ADDRESS) {
        TestWorkload.plumb(inside, veth, at(ipv4, lease.get("ipv4")), at(ipv6, lease.get("ipv6")));
      }
      node.namespace().exec("ip", "link", "set", veth.hostInterface(), "down");
      workloads.add(
          new CrashWorkload(
              i,
              inside,
              veth,
              ipv4,
              ipv6,
              new CrashExpectation<>("endpoint on wl" + i, null, matches),
              leases.computeIfAbsent(ipv4, CrashNode::lease)));
    }
  }

  private static CrashExpectation<String> lease(String address) {
    return new CrashExpectation<>("lease of " + address, null, String::equals);
  }

  private static JsonNode at(String address, JsonNode lease) {
    final String text =
        "{\"ip\": \"" + address + "\", \"gateway\": \"" + lease.get("gateway").asString() + "\"}";
    return new ApiCall.Answer(200, text).json();
  }

  private static void address(NetworkNamespace in, String device, String ipv4, String ipv6) {
    in.exec("ip", "address", "add", ipv4, "dev", device);
    in.exec("ip", "address", "add", ipv6, "dev", device, "nodad");
  }

  /** Starts the next run of the agent. */
  AgentProcess start() throws Exception {
    agent =
        AgentProcess.start(
            node.namespace(),
            node.state(),
            node.bpfRoot(),
            "--keep-config",
            "--ipv4-range",
            "10.210.0.0/24",
            "--ipv6-range",
            "fd00:210::/96",
            "--bpf-ct-global-tcp-max",
            "16384",
            "--bpf-ct-global-any-max",
            "16384",
            "--preallocate-bpf-maps=false",
            "--prefilter-device",
            PREFILTER_DEVICE,
            "--prefilter-mode",
            "generic",
            "--cgroup-root",
            group.path().toString());
    return agent;
  }

  AgentProcess agent() {
    return agent;
  }

  TestNode node() {
    return node;
  }

  NetworkNamespace outside() {
    return outside;
  }

  List<CrashWorkload> workloads() {
    return workloads;
  }

  /** Returns the workloads that have an endpoint, in the order of their numbers. */
  List<CrashWorkload> withEndpoint() {
    return workloads.stream()
        .filter(workload -> workload.endpoint().known() != null)
        .sorted(Comparator.comparingInt(CrashWorkload::number))
        .toList();
  }

  /** Returns the numbers of the services that exist. */
  List<Integer> withService() {
    return services.entrySet().stream()
        .filter(service -> service.getValue().known() != null)
        .map(Map.Entry::getKey)
        .toList();
  }

  /** Returns what is expected of each address that is leased by POST: its owner. */
  Map<String, CrashExpectation<String>> leases() {
    return leases;
  }

  /** Returns what is expected of each service, by its number. */
  Map<Integer, CrashExpectation<CrashService>> services() {
    return services;
  }

  CrashExpectation<CrashPolicy> policy() {
    return policy;
  }

  CrashExpectation<CrashDenyList> denyList() {
    return denyList;
  }

  static String leased(int number) {
    return number % 2 == 0 ? "10.210.0." + (200 + number) : "fd00:210::" + (200 + number);
  }

  static String source4(int number) {
    return "198.51.100." + (10 + number);
  }

  static String source6(int number) {
    return "2001:db8:100::" + (10 + number);
  }

  /** Returns whether a packet of UDP from one endpoint to the other passes. */
  boolean isAdmitted(CrashEndpoint source, CrashEndpoint destination, int port) {
    final List<CrashRule> selecting =
        policy.known().rules().values().stream().filter(rule -> rule.selects(destination)).toList();
    return selecting.isEmpty() || selecting.stream().anyMatch(rule -> rule.admits(source, port));
  }

  @Override
  public void close() throws IOException {
    if (agent != null) {
      agent.close();
    }
    node.close();
    group.close();
  }
}
