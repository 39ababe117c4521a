package agent.launcher.process;

import agent.testkit.NetworkNamespace;
import agent.testkit.VethPair;
import java.util.List;
import java.util.stream.Collectors;
import tools.jackson.databind.JsonNode;

/**
 * A workload, plumbed as the contract says: its addresses as /32 and /128, an on-link route to the
 * gateway, a default route through it.
 */
record TestWorkload(
    int id,
    NetworkNamespace namespace,
    VethPair veth,
    String ipv4,
    String ipv6,
    List<String> labels) {

  static TestWorkload plumb(
      NetworkNamespace namespace,
      VethPair veth,
      JsonNode lease4,
      JsonNode lease6,
      String... labels) {
    final String ipv4 = lease4.get("ip").asString();
    final String gateway4 = lease4.get("gateway").asString();
    final String ipv6 = lease6.get("ip").asString();
    final String gateway6 = lease6.get("gateway").asString();
    namespace.ip(
        "address add " + ipv4 + "/32 dev eth0",
        "route add " + gateway4 + " dev eth0",
        "route add default via " + gateway4 + " dev eth0",
        "address add " + ipv6 + "/128 dev eth0 nodad",
        "route add " + gateway6 + " dev eth0",
        "route add default via " + gateway6 + " dev eth0");
    return new TestWorkload(0, namespace, veth, ipv4, ipv6, List.of(labels));
  }

  TestWorkload withId(int number) {
    return new TestWorkload(number, namespace, veth, ipv4, ipv6, labels);
  }

  /** Returns the number of its identity. */
  long identity(AgentProcess agent) throws Exception {
    return agent
        .expect(200, "GET", "/endpoint/" + id, null)
        .json()
        .at("/status/identity/id")
        .asLong();
  }

  /** The body that makes it an endpoint, built when the call returns. */
  String request() {
    return """
    {"state": "waiting-for-identity", "sync-build-endpoint": true,
     "interface-name": "%s", "container-interface-name": "eth0", "container-id": "%s",
     "mac": "%s", "host-mac": "%s", "labels": [%s],
     "addressing": {"ipv4": "%s", "ipv6": "%s"}}
    """
        .formatted(
            veth.hostInterface(),
            namespace.name(),
            veth.workloadMac(),
            veth.hostMac(),
            labels.stream().map(label -> '"' + label + '"').collect(Collectors.joining(", ")),
            ipv4,
            ipv6);
  }
}
