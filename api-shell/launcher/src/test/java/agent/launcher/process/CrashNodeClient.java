package agent.launcher.process;

import agent.launcher.process.CrashNode.CrashDenyList;
import agent.launcher.process.CrashNode.CrashPolicy;
import agent.launcher.process.CrashNode.CrashRule;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Changes the policy, the leases of addresses and the deny list of the prefilter. */
final class CrashNodeClient extends CrashClient {
  private static final List<String> OTHER_PREFIXES =
      List.of("192.0.2.0/24", "203.0.113.128/25", "2001:db8:200::/48", "2001:db8:300::7/128");

  private static final int REQUESTS = 3;

  /** The clients of a rule may send to all ports of the packets; the proxies judge the others. */
  private static final String HTTP =
      """
      , {"toPorts": [{"ports": [{"port": "8080", "protocol": "TCP"}],
         "rules": {"http": [{"method": "GET", "path": "/%d"}]}}]}""";

  private static final String NAMES =
      """
      , "egress": [
        {"toPorts": [{"ports": [{"port": "5353", "protocol": "UDP"},
                                {"port": "5454", "protocol": "UDP"}]}]},
        {"toPorts": [{"ports": [{"port": "53", "protocol": "ANY"}],
         "rules": {"dns": [{"matchName": "%d.example.com"}]}}]},
        {"toFQDNs": [{"matchName": "%d.example.com"}]}]""";

  private final CrashNode node;

  CrashNodeClient(AgentProcess agent, Trace trace, long seed, CrashNode node) {
    super(agent, trace, seed);
    this.node = node;
  }

  @Override
  protected void change() {
    final int choice = random.nextInt(100);
    if (choice < 30) {
      putRule();
    } else if (choice < 40) {
      deleteRule();
    } else if (choice < 45) {
      refuseRules();
    } else if (choice < 70) {
      changeLease();
    } else {
      changeDenyList();
    }
  }

  private void putRule() {
    final int number = random.nextInt(CrashNode.RULES);
    final boolean isByApp = chance(50);
    final CrashRule rule =
        new CrashRule(
            any(CrashEndpointClient.APPS),
            isByApp ? "app" : "tier",
            any(isByApp ? CrashEndpointClient.APPS : CrashEndpointClient.TIERS),
            any(CrashPackets.PORTS),
            random.nextInt(REQUESTS));
    final CrashPolicy before = node.policy().known();
    final Map<Integer, CrashRule> rules = new TreeMap<>(before.rules());
    final boolean isSame = rule.equals(rules.put(number, rule));
    changePolicy(
        "PUT",
        "/policy?replace=true",
        "[" + json(number, rule) + "]",
        isSame ? before : new CrashPolicy(before.revision() + 1, rules));
  }

  private void deleteRule() {
    final CrashPolicy before = node.policy().known();
    if (!before.rules().isEmpty()) {
      final int number = any(List.copyOf(before.rules().keySet()));
      final Map<Integer, CrashRule> rules = new TreeMap<>(before.rules());
      rules.remove(number);
      changePolicy(
          "DELETE",
          "/policy",
          "[\"user:crash=" + number + "\"]",
          new CrashPolicy(before.revision() + 1, rules));
    }
  }

  private void changePolicy(String method, String path, String body, CrashPolicy wanted) {
    final ApiCall.Answer answer = call(200, method, path, body);
    if (answer == null) {
      node.policy().unanswered(wanted);
    } else if (answer.status() == 200) {
      node.policy().answered(wanted);
    }
  }

  /** The first rule is valid and must not hold without the second one. */
  private void refuseRules() {
    final CrashRule valid = new CrashRule("a", "app", "refused", CrashPackets.PORTS.getFirst(), 1);
    final CrashRule invalid = new CrashRule("b", "app", "refused", 70_000, 0);
    refused(400, "PUT", "/policy", "[" + json(0, valid) + ", " + json(1, invalid) + "]");
  }

  private static String json(int number, CrashRule rule) {
    return """
    {"endpointSelector": {"matchLabels": {"app": "%s"}},
     "labels": [{"key": "crash", "value": "%d", "source": "user"}],
     "ingress": [{"fromEndpoints": [{"matchLabels": {"%s": "%s"}}],
                  "toPorts": [{"ports": [{"port": "%d", "protocol": "UDP"}]}]}%s]%s}
    """
        .formatted(
            rule.app(),
            number,
            rule.key(),
            rule.value(),
            rule.port(),
            rule.requests() == 0 ? "" : HTTP.formatted(rule.requests()),
            rule.requests() == 0 ? "" : NAMES.formatted(rule.requests(), rule.requests()));
  }

  private void changeLease() {
    final String address = CrashNode.leased(random.nextInt(CrashNode.LEASES));
    final CrashExpectation<String> lease = node.leases().get(address);
    if (lease.known() != null && chance(30)) {
      refused(409, "POST", "/ipam/" + address + "?owner=refused", null);
    } else {
      changeLease(address, lease);
    }
  }

  private void changeDenyList() {
    final CrashDenyList before = node.denyList().known();
    final List<String> prefixes = prefixes();
    if (chance(15)) {
      refused(461, "PATCH", "/prefilter", body(null, prefixes, "198.51.100.0/33"));
      return;
    }
    if (chance(15)) {
      refused(409, "PATCH", "/prefilter", body(before.revision() + 7, prefixes));
      return;
    }
    final boolean adds = chance(50);
    final Set<String> deny = new TreeSet<>(before.deny());
    if (adds) {
      deny.addAll(prefixes);
    } else {
      prefixes.forEach(deny::remove);
    }
    final CrashDenyList wanted =
        deny.equals(before.deny()) ? before : new CrashDenyList(before.revision() + 1, deny);
    final String body = body(chance(50) ? before.revision() : null, prefixes);
    final ApiCall.Answer answer = call(200, adds ? "PATCH" : "DELETE", "/prefilter", body);
    if (answer == null) {
      node.denyList().unanswered(wanted);
    } else if (answer.status() == 200) {
      node.denyList().answered(listed(answer, wanted));
    }
  }

  /** The agent can be killed between the status and the end of the body. */
  private static CrashDenyList listed(ApiCall.Answer answer, CrashDenyList wanted) {
    try {
      return new CrashDenyList(CrashApi.denyList(answer).revision(), wanted.deny());
    } catch (RuntimeException incomplete) {
      return wanted;
    }
  }

  private List<String> prefixes() {
    final Set<String> chosen = new TreeSet<>();
    for (int i = 1 + random.nextInt(3); i > 0; i--) {
      final int source = random.nextInt(CrashNode.SOURCES);
      chosen.add(
          chance(40)
              ? any(OTHER_PREFIXES)
              : chance(50)
                  ? CrashNode.source4(source) + "/32"
                  : CrashNode.source6(source) + "/128");
    }
    return List.copyOf(chosen);
  }

  private static String body(Long revision, List<String> prefixes, String... more) {
    final String deny =
        Stream.concat(prefixes.stream(), Arrays.stream(more))
            .map(prefix -> '"' + prefix + '"')
            .collect(Collectors.joining(", "));
    return (revision == null ? "{" : "{\"revision\": " + revision + ", ")
        + "\"deny\": ["
        + deny
        + "]}";
  }
}
