package agent.launcher.process;

import agent.launcher.process.CrashNode.CrashDenyList;
import agent.launcher.process.CrashNode.CrashEndpoint;
import agent.launcher.process.CrashNode.CrashPolicy;
import agent.launcher.process.CrashNode.CrashRule;
import java.io.IOException;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import tools.jackson.databind.JsonNode;

/** Reads what a running agent answers of the objects that the crash rounds change. */
final class CrashApi {
  /**
   * An endpoint as the agent shows it.
   *
   * @param content number and labels
   * @param ipv4 its IPv4 address
   * @param ipv6 its IPv6 address
   * @param identity the number of its identity
   * @param state its state
   * @param message of its latest log entry
   */
  record ShownEndpoint(
      CrashEndpoint content,
      String ipv4,
      String ipv6,
      int identity,
      String state,
      String message) {}

  private CrashApi() {}

  /** Returns the endpoints by the names of their interfaces. */
  static Map<String, ShownEndpoint> endpoints(AgentProcess agent) throws IOException {
    final Map<String, ShownEndpoint> found = new TreeMap<>();
    for (final JsonNode endpoint : agent.expect(200, "GET", "/endpoint", null).json()) {
      final JsonNode status = endpoint.get("status");
      final JsonNode address = status.at("/networking/addressing/0");
      final JsonNode labels = status.at("/identity/labels");
      final ShownEndpoint shown =
          new ShownEndpoint(
              new CrashEndpoint(
                  endpoint.get("id").asInt(),
                  label(labels, "app"),
                  label(labels, "tier"),
                  endpoint.at("/spec/options/Debug").asString()),
              address.path("ipv4").asString(""),
              address.path("ipv6").asString(""),
              status.at("/identity/id").asInt(0),
              status.get("state").asString(),
              status.at("/log/0/message").asString(""));
      found.put(status.at("/networking/interface-name").asString(), shown);
    }
    return found;
  }

  private static String label(JsonNode labels, String key) {
    for (final JsonNode label : labels) {
      final String text = label.asString();
      final String pair = text.substring(text.indexOf(':') + 1);
      if (pair.startsWith(key + "=")) {
        return pair.substring(key.length() + 1);
      }
    }
    return null;
  }

  /** Returns the services by their numbers. */
  static Map<Integer, CrashService> services(AgentProcess agent) throws IOException {
    final Map<Integer, CrashService> found = new TreeMap<>();
    for (final JsonNode service : agent.expect(200, "GET", "/service", null).json()) {
      found.put(service.at("/spec/id").asInt(), CrashService.of(service));
    }
    return found;
  }

  static CrashPolicy policy(AgentProcess agent) throws IOException {
    return policy(agent.expect(200, "GET", "/policy", null));
  }

  static CrashPolicy policy(ApiCall.Answer answer) {
    final Map<Integer, CrashRule> rules = new TreeMap<>();
    final String text = answer.json().get("policy").asString();
    for (final JsonNode rule : new ApiCall.Answer(200, text).json()) {
      final String source = rule.at("/ingress/0/fromEndpoints/0/matchLabels").toString();
      final String[] pair = source.substring(2, source.length() - 2).split("\":\"");
      rules.put(
          Integer.valueOf(rule.at("/labels/0/value").asString()),
          new CrashRule(
              value(rule.at("/endpointSelector/matchLabels")),
              pair[0].substring(pair[0].indexOf(':') + 1),
              pair[1],
              Integer.parseInt(rule.at("/ingress/0/toPorts/0/ports/0/port").asString()),
              requests(rule)));
    }
    return new CrashPolicy(answer.json().get("revision").asLong(), rules);
  }

  /** Returns the number of what the proxies judge; -1: not all of a rule's is there. */
  private static int requests(JsonNode rule) {
    final String path = rule.at("/ingress/1/toPorts/0/rules/http/0/path").asString("/0");
    final int number = Integer.parseInt(path.substring(1));
    final String none = "0.example.com";
    final String dns = rule.at("/egress/1/toPorts/0/rules/dns/0/matchName").asString(none);
    final String selected = rule.at("/egress/2/toFQDNs/0/matchName").asString(none);
    return dns.equals(number + ".example.com") && selected.equals(dns) ? number : -1;
  }

  private static String value(JsonNode matchLabels) {
    return matchLabels.values().iterator().next().asString();
  }

  static CrashDenyList denyList(AgentProcess agent) throws IOException {
    return denyList(agent.expect(200, "GET", "/prefilter", null));
  }

  static CrashDenyList denyList(ApiCall.Answer answer) {
    final JsonNode list = answer.json().get("spec");
    final Set<String> deny = new TreeSet<>();
    list.get("deny").forEach(prefix -> deny.add(prefix.asString()));
    return new CrashDenyList(list.get("revision").asLong(), deny);
  }

  /** Returns the owner of a leased address, or null where it is free. */
  static String owner(AgentProcess agent, String address) throws IOException {
    final ApiCall.Answer answer = agent.call("POST", "/ipam/" + address + "?owner=check", null);
    if (answer.status() == 200) {
      agent.expect(200, "DELETE", "/ipam/" + address, null);
      return null;
    }
    final String text = answer.text();
    return text.substring(text.indexOf("in use by ") + 10, text.lastIndexOf('"'));
  }

  static int leases(AgentProcess agent) throws IOException {
    return agent.expect(200, "GET", "/healthz", null).json().at("/ipam/allocations").size();
  }
}
