package agent.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.datapath.spec.EndpointSpec;
import agent.endpoint.request.EndpointRequest;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import agent.endpoint.state.MutableOption;
import agent.ipam.Lease;
import agent.types.EntrySource;
import agent.types.Refusal;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

/** The API and other sources have endpoints beside each other (decisions.md, section 9). */
class EndpointSourcesTest {
  private static final EntrySource RUNTIME = new EntrySource("runtime:docker");
  private static final EntrySource ORCH = new EntrySource("orch");
  private static final EndpointIdentifier OWN = EndpointIdentifier.local(1);
  private static final EndpointIdentifier FOREIGN = EndpointIdentifier.local(2);

  private final FakeRig agent = new FakeRig();

  /** What a change could change: in the registry, the datapath, the store and the leases. */
  private record Held(
      List<EndpointSnapshot> endpoints,
      Map<Integer, EndpointSpec> attached,
      List<EndpointRecord> stored,
      List<Lease> leases) {}

  private Held held() {
    return new Held(
        agent.conductor.endpoints().list(List.of()),
        Map.copyOf(agent.datapath.attached),
        agent.store.load(),
        agent.ipam.leases());
  }

  private Endpoints of(EntrySource source) {
    return agent.conductor.endpoints(source);
  }

  private <T> T now(EntrySource source, Function<Endpoints, CompletableFuture<T>> call) {
    return agent.now(call.apply(of(source)));
  }

  private static EndpointRequest on(String device, String label) {
    return Requests.on(device).labels(label).containerId("pod of " + label).build();
  }

  private void createBoth() {
    now(EntrySource.API, api -> api.create(OWN, on("lxc1", "app=own")));
    now(RUNTIME, runtime -> runtime.create(FOREIGN, on("lxc2", "app=foreign")));
  }

  private EntrySource sourceOf(EndpointIdentifier id) {
    return agent.conductor.endpoints().get(id).source();
  }

  /** What is refused changes nothing. */
  private void assertRefused(
      Refusal.Kind kind,
      String refused,
      EntrySource source,
      Function<Endpoints, CompletableFuture<?>> call) {
    agent.run();
    final Held before = held();
    final Refusal refusal =
        assertThrows(Refusal.class, () -> agent.now(call.apply(of(source)).thenApply(any -> any)));
    assertEquals(kind, refusal.kind());
    assertEquals(refused, refusal.getMessage());
    assertEquals(before, held());
  }

  private void assertConflict(
      String refused, EntrySource source, Function<Endpoints, CompletableFuture<?>> call) {
    assertRefused(Refusal.Kind.CONFLICT, refused, source, call);
  }

  @Test
  void shouldKeepTheSourceOfEachEndpointOverARestart() {
    createBoth();
    for (int run = 1; run <= 2; run++) {
      assertEquals(EntrySource.API, sourceOf(OWN));
      assertEquals(RUNTIME, sourceOf(FOREIGN));
      assertEquals(
          List.of(EntrySource.API, RUNTIME),
          agent.store.load().stream().map(EndpointRecord::source).toList());
      agent.restart();
    }
  }

  @Test
  void shouldKeepTheSourceThroughEveryChangeByIt() {
    createBoth();
    now(RUNTIME, all -> all.modify(FOREIGN, on("lxc3", "app=changed")));
    now(RUNTIME, all -> all.configure(FOREIGN, Map.of("Debug", "Enabled"), List.of("user=a")));
    now(RUNTIME, all -> all.setUserLabels(FOREIGN, List.of("user=b")));
    final EndpointSnapshot changed = agent.get("2");
    assertEquals(RUNTIME, changed.source());
    assertEquals("lxc3", changed.networking().interfaceName());
    assertEquals("Enabled", changed.options().get("Debug"));
    assertEquals(List.of("unspec:user=b"), changed.labels().user());
    assertEquals(RUNTIME, agent.store.load().getLast().source());
    assertEquals(List.of(), now(RUNTIME, all -> all.delete(FOREIGN)));
    assertEquals(List.of(1), agent.store.load().stream().map(EndpointRecord::id).toList());
  }

  @Test
  void shouldRefuseToChangeAnEndpointOfAnotherSource() {
    createBoth();
    final String owned = "id: endpoint 2 belongs to source 'runtime:docker'";
    for (final EntrySource source : List.of(EntrySource.API, ORCH)) {
      assertConflict(owned, source, all -> all.modify(FOREIGN, on("lxc3", "app=x")));
      assertConflict(
          owned,
          source,
          all ->
              all.modify(
                  EndpointIdentifier.parse("container-id:pod of app=foreign"),
                  Requests.on("lxc3").later().build()));
      assertConflict(
          owned, source, all -> all.configure(FOREIGN, Map.of("Debug", "Enabled"), null));
      assertConflict(owned, source, all -> all.setUserLabels(FOREIGN, List.of("user=a")));
      assertConflict(owned, source, all -> all.delete(FOREIGN));
    }
    final String api = "id: endpoint 1 belongs to source 'api'";
    assertConflict(api, RUNTIME, all -> all.modify(OWN, on("lxc3", "app=x")));
    assertConflict(api, RUNTIME, all -> all.configure(OWN, null, List.of("user=a")));
    assertConflict(api, RUNTIME, all -> all.setUserLabels(OWN, List.of()));
    assertConflict(api, RUNTIME, all -> all.delete(OWN));
  }

  @Test
  void shouldNameTheSourceOfWhatANewEndpointWouldTake() {
    createBoth();
    final EndpointIdentifier third = EndpointIdentifier.local(3);
    final String address = agent.get("2").networking().addressing().ipv4().toString();
    final String foreign = "endpoint 2 of source 'runtime:docker'";
    assertConflict(
        "id: " + foreign + " already exists",
        EntrySource.API,
        all -> all.create(FOREIGN, on("lxc3", "app=x")));
    assertConflict(
        "id: container-id:pod of app=foreign already exists as " + foreign,
        EntrySource.API,
        all ->
            all.create(
                EndpointIdentifier.parse("container-id:pod of app=foreign"),
                Requests.on("lxc3").build()));
    assertConflict(
        "interface-name: 'lxc2' is in use by " + foreign,
        EntrySource.API,
        all -> all.create(third, on("lxc2", "app=x")));
    assertConflict(
        "interface-name: 'lxc2' is in use by " + foreign,
        EntrySource.API,
        all -> all.modify(OWN, on("lxc2", "app=x")));
    assertConflict(
        "addressing.ipv4: " + address + " is in use by " + foreign,
        EntrySource.API,
        all -> all.create(third, Requests.on("lxc3").ipv4(address).build()));
    assertConflict(
        "id: endpoint 2 already exists", RUNTIME, all -> all.create(FOREIGN, on("lxc3", "app=x")));
  }

  @Test
  void shouldDeleteTheEndpointsOfAContainerOnlyWhereAllAreOfTheSource() {
    final EndpointRequest first = Requests.on("lxc1").containerId("abc").build();
    now(RUNTIME, all -> all.create(OWN, first));
    now(RUNTIME, all -> all.create(FOREIGN, Requests.on("lxc2").containerId("abc").build()));
    now(ORCH, all -> all.create(EndpointIdentifier.local(3), on("lxc3", "app=c")));
    now(RUNTIME, all -> all.delete(OWN));
    now(EntrySource.API, all -> all.create(OWN, first));
    final String foreign = "container-id: endpoint 2 belongs to source 'runtime:docker'";
    assertConflict(foreign, EntrySource.API, all -> all.deleteByContainerId("abc"));
    assertConflict(
        "container-id: endpoint 1 belongs to source 'api'",
        RUNTIME,
        all -> all.deleteByContainerId("abc"));
    now(EntrySource.API, all -> all.delete(OWN));
    assertEquals(List.of(), now(RUNTIME, all -> all.deleteByContainerId("abc")));
    assertEquals(List.of(3), agent.store.load().stream().map(EndpointRecord::id).toList());
  }

  @Test
  void shouldAskForNoSourceInWhatTheAgentDoesByItself() {
    createBoth();
    agent.now(agent.conductor.configuration().change(Map.of("Debug", "Enabled"), "always"));
    assertEquals("Enabled", agent.get("2").options().get(MutableOption.DEBUG.optionName()));
    assertEquals(RUNTIME, sourceOf(FOREIGN));
    final long revision =
        agent.importRules(TestRules.allowIngress("app=foreign", "app=own", 80)).revision();
    assertEquals(revision, agent.get("2").realizedPolicy().revision());
    agent.keepsOptions = false;
    agent.restart();
    assertEquals(EndpointState.READY, agent.get("2").state());
    assertEquals(RUNTIME, sourceOf(FOREIGN));
    agent.node.present.remove("lxc2");
    agent.restart();
    assertEquals(List.of(2), agent.report.removed());
    assertEquals(List.of(1), agent.store.load().stream().map(EndpointRecord::id).toList());
  }

  /** Its source is in the record: the API, behind which a person is, may give it up. */
  @Test
  void shouldLetTheApiAloneDeleteAnEndpointWhoseRecordCannotBeRead() {
    createBoth();
    agent.damagedAtLoad = Map.of(2, "broken");
    agent.restart();
    assertEquals(EndpointState.INVALID, agent.get("2").state());
    assertRefused(
        Refusal.Kind.UNAVAILABLE,
        "id: endpoint 2: its source is not known, its record cannot be read",
        RUNTIME,
        all -> all.delete(FOREIGN));
    assertEquals(List.of(), now(EntrySource.API, all -> all.delete(FOREIGN)));
    assertEquals(List.of(1), agent.store.load().stream().map(EndpointRecord::id).toList());
  }
}
