package agent.state;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.policy.repository.PolicyState;
import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.FqdnSpec;
import agent.policy.spec.PeerRuleSpec.PortRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortSpec;
import agent.policy.spec.RequestRuleSpec;
import agent.policy.spec.RequestRuleSpec.HeaderMatchSpec;
import agent.policy.spec.RequestRuleSpec.HttpSpec;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.SelectorSpec;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The form of rules of requests since release 0.8.0: a rule without them has the former form. */
class RequestRuleFilesTest {
  private static final String FILE = "policy/rules.json";
  private static final HttpSpec ALL_FIELDS =
      new HttpSpec(
          "GET|HEAD",
          "/public/.*",
          "shop\\.example\\.com",
          List.of("X-Team: a", "X-Trace"),
          List.of(
              new HeaderMatchSpec("X-Team", "a", "REPLACE"),
              new HeaderMatchSpec("X-Trace", null, null)));
  private static final HttpSpec NO_FIELD = new HttpSpec(null, null, null, null, null);
  private static final PolicyState RULES =
      new PolicyState(
          3,
          List.of(
              new RuleSpec(
                  SelectorSpec.ALL,
                  null,
                  List.of(
                      new PeerRuleSpec(
                          null,
                          null,
                          null,
                          null,
                          null,
                          List.of(
                              ports("80", "TCP", http(ALL_FIELDS, NO_FIELD)),
                              ports("53", "ANY", dns()),
                              ports("443", "TCP", null)),
                          null,
                          null,
                          null,
                          null)),
                  null,
                  null,
                  null,
                  null)),
          List.of());

  @TempDir private Path root;

  private static PortRuleSpec ports(String port, String protocol, RequestRuleSpec rules) {
    return new PortRuleSpec(List.of(new PortSpec(port, null, protocol)), null, rules);
  }

  private static RequestRuleSpec http(HttpSpec... rules) {
    return new RequestRuleSpec(List.of(rules), null);
  }

  private static RequestRuleSpec dns() {
    return new RequestRuleSpec(
        null, List.of(new FqdnSpec("www.example.com", null), new FqdnSpec(null, "*.example.com")));
  }

  @Test
  void shouldReadAndWriteTheFormOfTheRelease() throws Exception {
    final ReleaseFiles release = ReleaseFiles.of("0.8.0");
    final Path read = root.resolve("read");
    final Path written = root.resolve("written");
    release.copyTo(read);
    try (AgentState from = AgentState.open(read);
        AgentState to = AgentState.open(written)) {
      assertEquals(RULES, from.policyStore().load(any -> {}).orElseThrow());
      to.policyStore().save(RULES);
    }
    assertEquals(Files.readString(read.resolve(FILE)), Files.readString(written.resolve(FILE)));
    assertArrayEquals(release.read(FILE), Files.readAllBytes(written.resolve(FILE)));
  }
}
