package agent.launcher.process;

import java.util.List;

/** A client and a server, two workloads of one node, and what the rules between them allow. */
record ClientAndServer(
    TestNode node, AgentProcess agent, TestWorkload client, TestWorkload server) {
  /** The port of the server that rules of requests are for. */
  static final int PORT = 8080;

  /** Starts an agent on the node with both; all of it ends with the node. */
  static ClientAndServer start(TestNode node, String... options) throws Exception {
    final AgentProcess agent = node.agent(options);
    return new ClientAndServer(
        node,
        agent,
        node.workload(agent, "client", "app=client"),
        node.workload(agent, "server", "app=server"));
  }

  /** Returns the addresses of the server, one for each family. */
  List<String> addresses() {
    return List.of(server.ipv4(), server.ipv6());
  }

  /** Returns the addresses of the server as a URL has them. */
  List<String> urlHosts() {
    return List.of(server.ipv4(), "[" + server.ipv6() + "]");
  }

  /** Runs a command at the client, and returns its output. */
  String ask(String... command) {
    return client.namespace().attempt(command).output();
  }

  /**
   * Makes one rule the only one: of the server's {@code ingress} or of the client's {@code egress},
   * it allows requests to the port.
   */
  void allow(String direction, String... requests) throws Exception {
    agent.expect(
        200,
        "PUT",
        "/policy?replace=true",
        """
        [{"labels": [{"key": "name", "value": "requests"}],
          "endpointSelector": {"matchLabels": {"app": "%s"}}, "%s": [{"toPorts": [
            {"ports": [{"port": "%d", "protocol": "TCP"}], "rules": {"http": [%s]}}]}]}]
        """
            .formatted(
                direction.equals("ingress") ? "server" : "client",
                direction,
                PORT,
                String.join(", ", requests)));
  }
}
