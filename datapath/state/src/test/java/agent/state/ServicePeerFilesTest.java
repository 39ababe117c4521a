package agent.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.policy.repository.PolicyState;
import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.FqdnSpec;
import agent.policy.spec.PeerRuleSpec.ServiceSpec;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.SelectorSpec;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The form of services as peers since release 0.8.0: an element without them has the former form.
 */
class ServicePeerFilesTest {
  private static final String FORM =
      "\"unserved\":null,\"services\":[{\"name\":\"cart\",\"namespace\":\"shop\"},"
          + "{\"name\":\"plain\",\"namespace\":null}]}";

  private static final PolicyState RULES =
      new PolicyState(
          3,
          List.of(
              rule(null, new ServiceSpec("cart", "shop"), new ServiceSpec("plain", null)),
              rule(List.of(new FqdnSpec("a.b", null))),
              rule(null)),
          List.of());

  @TempDir private Path root;

  private static RuleSpec rule(List<FqdnSpec> names, ServiceSpec... services) {
    final PeerRuleSpec element =
        new PeerRuleSpec(null, null, null, null, null, null, null, null, names, List.of(services));
    return new RuleSpec(SelectorSpec.ALL, null, List.of(element), null, null, null, null);
  }

  @Test
  void shouldKeepTheServicesOfRules() throws Exception {
    try (AgentState state = AgentState.open(root)) {
      state.policyStore().save(RULES);
    }
    final String file = Files.readString(root.resolve("policy/rules.json"));
    assertTrue(file.contains(FORM), file);
    try (AgentState state = AgentState.open(root)) {
      assertEquals(RULES, state.policyStore().load(any -> {}).orElseThrow());
    }
  }

  /**
   * A deny {@code {}} of a former release meant everything; an allow {@code {}} means no peer now.
   */
  @Test
  void shouldReadEmptyElementsOfFormerReleases() throws Exception {
    final List<PeerRuleSpec> empty = List.of(PeerRuleSpec.NO_PEER);
    final List<PeerRuleSpec> all = List.of(PeerRuleSpec.ALL);
    try (AgentState state = AgentState.open(root)) {
      state
          .policyStore()
          .save(
              new PolicyState(
                  7,
                  List.of(new RuleSpec(SelectorSpec.ALL, empty, empty, empty, empty, null, null)),
                  List.of()));
    }
    try (AgentState state = AgentState.open(root)) {
      assertEquals(
          List.of(new RuleSpec(SelectorSpec.ALL, empty, empty, all, all, null, null)),
          state.policyStore().load(any -> {}).orElseThrow().rules());
    }
  }

  @Test
  void shouldKeepWhetherARuleTurnsEnforcementOn() throws Exception {
    final List<PeerRuleSpec> all = List.of(PeerRuleSpec.ALL);
    final PolicyState rules =
        new PolicyState(
            7,
            List.of(
                new RuleSpec(
                    SelectorSpec.ALL,
                    all,
                    null,
                    null,
                    null,
                    null,
                    null,
                    new RuleSpec.DefaultDenySpec(false, null),
                    null),
                new RuleSpec(
                    SelectorSpec.ALL,
                    null,
                    all,
                    null,
                    null,
                    null,
                    "x",
                    new RuleSpec.DefaultDenySpec(null, true),
                    null)),
            List.of());
    try (AgentState state = AgentState.open(root)) {
      state.policyStore().save(rules);
    }
    try (AgentState state = AgentState.open(root)) {
      assertEquals(rules, state.policyStore().load(any -> {}).orElseThrow());
    }
  }
}
