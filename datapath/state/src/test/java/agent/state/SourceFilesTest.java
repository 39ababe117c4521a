package agent.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointStore;
import agent.policy.repository.PolicyState;
import agent.policy.spec.NamedPort;
import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.SelectorSpec;
import agent.service.Service;
import agent.service.ServiceType;
import agent.types.EntrySource;
import agent.types.UnreadableStateException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The form of sources since release 0.10: what the API wrote has the former form, and what has the
 * former form is the API's.
 */
class SourceFilesTest {
  private static final EntrySource FILE = new EntrySource("file:näher.yaml");
  private static final EntrySource CLUSTER = new EntrySource("cluster");

  @TempDir private Path root;

  private static RuleSpec rule(RuleSpec.DefaultDenySpec defaults, EntrySource source) {
    return new RuleSpec(
        SelectorSpec.ALL,
        List.of(PeerRuleSpec.ALL),
        null,
        null,
        null,
        null,
        "of one of two",
        defaults,
        source);
  }

  private String text(String name) throws IOException {
    return Files.readString(root.resolve(name)).strip();
  }

  private void replace(String name, String kind, String text, String by) throws IOException {
    final String document = text(name).lines().toList().getLast();
    final String changed = document.replace(text, by);
    assertNotEquals(document, changed);
    try (FileChannel file =
        FileChannel.open(
            root.resolve(name), StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING)) {
      file.write(StateFile.encode(kind, List.of(StandardCharsets.UTF_8.encode(changed))));
    }
  }

  @Test
  void shouldKeepTheSourcesOfServices() throws IOException {
    final Service own = StoredServices.numbered(1);
    final Service foreign = StoredServices.numbered(2).numbered(1 << 30).from(CLUSTER);
    final Service offered =
        StoredServices.numbered(3).offered(ServiceType.NODE_PORT, true, null).from(FILE);
    try (AgentState state = AgentState.open(root)) {
      List.of(own, foreign, offered).forEach(one -> state.serviceStore().save(one).join());
    }
    assertTrue(text("services/1.json").endsWith("\"namespace\":null}"));
    assertTrue(text("services/1073741824.json").endsWith(",\"source\":\"cluster\"}"));
    assertTrue(text("services/3.json").endsWith("true},\"source\":\"file:näher.yaml\"}"));
    try (AgentState state = AgentState.open(root)) {
      assertEquals(
          Set.of(own, foreign, offered), Set.copyOf(state.serviceStore().load().services()));
    }
  }

  @Test
  void shouldTakeAServiceWithoutASourceForOneOfTheApi() throws IOException {
    try (AgentState state = AgentState.open(root)) {
      state.serviceStore().save(StoredServices.numbered(3).from(FILE)).join();
    }
    replace("services/3.json", "service", ",\"source\":\"file:näher.yaml\"", "");
    try (AgentState state = AgentState.open(root)) {
      assertEquals(
          List.of(StoredServices.numbered(3)), List.copyOf(state.serviceStore().load().services()));
    }
  }

  @Test
  void shouldLeaveAServiceWhoseSourceIsDamaged() throws IOException {
    try (AgentState state = AgentState.open(root)) {
      state.serviceStore().save(StoredServices.numbered(3).from(CLUSTER)).join();
    }
    replace("services/3.json", "service", "\"cluster\"", "\"clusters\"");
    try (AgentState state = AgentState.open(root)) {
      final String reason = state.serviceStore().load().unreadable().get(3);
      assertTrue(reason.contains("$.source: 'clusters' is not the source of an entry"), reason);
    }
  }

  @Test
  void shouldKeepTheSourcesOfEndpoints() throws IOException {
    final EndpointRecord own = EndpointRecords.endpoint(1, EntrySource.API);
    final EndpointRecord foreign = EndpointRecords.endpoint(2, CLUSTER);
    final EndpointRecord named =
        EndpointRecords.endpoint(3, FILE).withNamedPorts(List.of(new NamedPort("http", 80, "TCP")));
    try (AgentState state = AgentState.open(root)) {
      List.of(own, foreign, named).forEach(state.endpointStore()::save);
    }
    assertTrue(text("endpoints/1.json").endsWith("\"properties\":null}}"));
    assertTrue(text("endpoints/2.json").endsWith("null},\"source\":\"cluster\"}"));
    assertTrue(text("endpoints/3.json").endsWith("\"TCP\"}],\"source\":\"file:näher.yaml\"}"));
    try (AgentState state = AgentState.open(root)) {
      assertEquals(List.of(own, foreign, named), state.endpointStore().load());
    }
  }

  @Test
  void shouldTakeAnEndpointWithoutASourceForOneOfTheApi() throws IOException {
    try (AgentState state = AgentState.open(root)) {
      state.endpointStore().save(EndpointRecords.endpoint(3, FILE));
    }
    replace("endpoints/3.json", "endpoint", ",\"source\":\"file:näher.yaml\"", "");
    try (AgentState state = AgentState.open(root)) {
      final EndpointStore store = state.endpointStore();
      assertEquals(List.of(EndpointRecords.endpoint(3, EntrySource.API)), store.load());
      assertEquals(Map.of(), store.unreadable());
    }
  }

  @Test
  void shouldCloseAnEndpointWhoseSourceIsDamaged() throws IOException {
    try (AgentState state = AgentState.open(root)) {
      state.endpointStore().save(EndpointRecords.endpoint(3, CLUSTER));
      state.endpointStore().save(EndpointRecords.endpoint(4, CLUSTER));
    }
    replace("endpoints/3.json", "endpoint", "\"cluster\"", "\"clusters\"");
    try (AgentState state = AgentState.open(root)) {
      final EndpointStore store = state.endpointStore();
      assertEquals(List.of(EndpointRecords.endpoint(4, CLUSTER)), store.load());
      final String reason = store.unreadable().get(3);
      assertTrue(reason.contains("$.source: 'clusters' is not the source of an entry"), reason);
    }
  }

  @Test
  void shouldKeepTheSourcesOfRules() throws IOException {
    final RuleSpec.DefaultDenySpec defaults = new RuleSpec.DefaultDenySpec(true, null);
    final PolicyState rules =
        new PolicyState(
            3,
            List.of(
                rule(null, EntrySource.API),
                rule(null, FILE),
                rule(defaults, EntrySource.API),
                rule(defaults, CLUSTER)),
            List.of());
    try (AgentState state = AgentState.open(root)) {
      state.policyStore().save(rules);
    }
    final String text = text("policy/rules.json");
    assertTrue(text.contains("\"of one of two\"},{"), text);
    assertTrue(text.contains("\"of one of two\",\"source\":\"file:näher.yaml\"},{"), text);
    assertTrue(text.contains("\"egress\":null}},{"), text);
    assertTrue(text.contains("\"egress\":null},\"source\":\"cluster\"}]"), text);
    try (AgentState state = AgentState.open(root)) {
      assertEquals(rules, state.policyStore().load(any -> {}).orElseThrow());
    }
  }

  @Test
  void shouldTakeARuleWithoutASourceForOneOfTheApi() throws IOException {
    try (AgentState state = AgentState.open(root)) {
      state.policyStore().save(new PolicyState(3, List.of(rule(null, FILE)), List.of()));
    }
    replace("policy/rules.json", "policy", ",\"source\":\"file:näher.yaml\"", "");
    try (AgentState state = AgentState.open(root)) {
      assertEquals(
          List.of(rule(null, EntrySource.API)),
          state.policyStore().load(any -> {}).orElseThrow().rules());
    }
  }

  @Test
  void shouldUseNoRuleWhereOneHasADamagedSource() throws IOException {
    try (AgentState state = AgentState.open(root)) {
      state
          .policyStore()
          .save(
              new PolicyState(
                  3, List.of(rule(null, EntrySource.API), rule(null, FILE)), List.of()));
    }
    Files.delete(root.resolve("policy/rules-copy.json"));
    replace("policy/rules.json", "policy", "file:näher.yaml", "file:");
    try (AgentState state = AgentState.open(root)) {
      final UnreadableStateException failure =
          assertThrows(UnreadableStateException.class, () -> state.policyStore().load(any -> {}));
      assertTrue(
          failure.getMessage().contains("$.rules[1].source: 'file:' is not the source of an entry"),
          failure.getMessage());
    }
  }
}
