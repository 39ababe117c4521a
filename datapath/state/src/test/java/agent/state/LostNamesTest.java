package agent.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.ModuleHealth.Level;
import agent.datapath.spec.PrefilterList;
import agent.endpoint.config.RuntimeOptionsStore.ChangedValue;
import agent.endpoint.state.EndpointStore;
import agent.node.NodeStore.NodeRecord;
import agent.policy.repository.PolicyState;
import agent.types.Prefix;
import agent.types.UnreadableStateException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Files that others have removed together with the names that prove them. */
class LostNamesTest {
  private static final PolicyState RULES = new PolicyState(41, List.of(), List.of());
  private static final PrefilterList DENIED =
      new PrefilterList(7, List.of(Prefix.parse("192.0.2.0/24"), Prefix.parse("2001:db8::/32")));
  private static final NodeRecord NODE =
      new NodeRecord(Prefix.parse("10.1.0.0/16"), Prefix.parse("f00d::a00:1:0:0/96"));

  @TempDir private Path parent;
  private Path directory;
  private AgentState state;

  /** The state of a run that has used all folders. */
  @BeforeEach
  void run() {
    directory = parent.resolve("state");
    state = AgentState.open(directory);
    state.policyStore().save(RULES);
    state.prefilterStore().store(DENIED);
    state.nodeStore().save(NODE);
    state.leaseStore().save(List.of());
    state.nameStore().save(List.of());
    state.configurationStore().save(List.of(new ChangedValue("Debug", "a", "b")));
    state.endpointStore().save(EndpointRecords.endpoint(7));
    state.serviceStore().save(MissingFilesTest.service(3)).join();
    close();
  }

  @AfterEach
  void close() {
    if (state != null) {
      state.close();
      state = null;
    }
  }

  /** Returns the endpoints whose records cannot be read, where others know of these. */
  private Set<Integer> closed(Integer... others) {
    final EndpointStore store = state.endpointStore();
    store.load();
    store.missed(() -> Set.of(others));
    return store.unreadable().keySet();
  }

  private void delete(String... names) throws IOException {
    for (final String name : names) {
      if (Files.exists(directory.resolve(name))) {
        try (Stream<Path> files = Files.walk(directory.resolve(name))) {
          for (final Path file : files.sorted(Comparator.reverseOrder()).toList()) {
            Files.delete(file);
          }
        }
      }
    }
  }

  private void open(boolean isInKernel) {
    close();
    state = AgentState.open(directory, isInKernel);
  }

  private static boolean isMissed(Runnable load) {
    try {
      load.run();
      return false;
    } catch (UnreadableStateException missed) {
      assertTrue(missed.getMessage().contains("it is missing"), missed.getMessage());
      return true;
    }
  }

  private void assertMissed(boolean areGuards, boolean areOthers) {
    final List<Consumer<AgentState>> guards =
        List.of(
            s -> s.policyStore().load(found -> {}),
            s -> s.prefilterStore().load(),
            s -> s.configurationStore().load());
    final List<Consumer<AgentState>> others =
        List.of(s -> s.nodeStore().load(), s -> s.leaseStore().load(), s -> s.nameStore().load());
    guards.forEach(load -> assertEquals(areGuards, isMissed(() -> load.accept(state))));
    others.forEach(load -> assertEquals(areOthers, isMissed(() -> load.accept(state))));
    assertEquals(areGuards ? Level.STOPPED : Level.OK, state.faults().read().level());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "policy",
        "prefilter",
        "configuration",
        "node",
        "ipam",
        "names",
        "endpoints",
        "services"
      })
  void shouldMissAFolderThatIsGoneWithTheNames(String folder) throws Exception {
    delete("written", folder);
    for (int start = 0; start < 2; start++) {
      open(false);
      final Map<String, Consumer<AgentState>> loads =
          Map.of(
              "policy", s -> s.policyStore().load(found -> {}),
              "prefilter", s -> s.prefilterStore().load(),
              "configuration", s -> s.configurationStore().load(),
              "node", s -> s.nodeStore().load(),
              "ipam", s -> s.leaseStore().load(),
              "names", s -> s.nameStore().load());
      loads.forEach(
          (name, load) ->
              assertEquals(name.equals(folder), isMissed(() -> load.accept(state)), name));
      assertEquals(folder.equals("endpoints") ? Set.of(7) : Set.of(), closed(0, 7));
      final Set<Integer> kept = new TreeSet<>();
      kept.addAll(state.serviceStore().load().unreadable().keySet());
      kept.addAll(state.serviceStore().missed(() -> Set.of(3)).keySet());
      assertEquals(folder.equals("services") ? Set.of(3) : Set.of(), kept);
      final boolean isReported = !folder.equals("node"); // it ends the start
      assertEquals(isReported ? Level.STOPPED : Level.OK, state.faults().read().level());
    }
    state.policyStore().save(RULES);
    state.prefilterStore().store(DENIED);
    state.nodeStore().save(NODE);
    state.leaseStore().save(List.of());
    state.nameStore().save(List.of());
    state.configurationStore().save(List.of());
    state.endpointStore().remove(7);
    state.serviceStore().remove(3).join();
    open(false);
    assertMissed(false, false);
    assertEquals(Map.of(), state.serviceStore().load().unreadable());
  }

  @Test
  void shouldMissAllWhereTheLockAloneIsLeft() throws Exception {
    delete("written");
    delete(LostNames.FOLDERS.toArray(String[]::new));
    open(false);
    assertMissed(true, true);
  }

  /** Another file proves the run where the lock is gone, too. */
  @Test
  void shouldMissWhatIsGoneWithTheLockAndTheNames() throws Exception {
    delete("written", "agent.lock", "policy", "prefilter", "configuration", "names", "ipam");
    open(false);
    assertTrue(isMissed(() -> state.policyStore().load(found -> {})));
    assertTrue(isMissed(() -> state.prefilterStore().load()));
    assertEquals(Optional.of(NODE), state.nodeStore().load());
  }

  /** Address ranges and leases are found anew: those of the kernel's endpoints stay. */
  @Test
  void shouldMissWhatRestrictsTrafficWhereTheKernelAloneProvesARun() throws Exception {
    delete("");
    for (int start = 0; start < 2; start++) {
      open(start == 0);
      assertMissed(true, false);
      assertEquals(Set.of(7, 8), closed(7, 8));
    }
  }

  @Test
  void shouldMissNothingInAFirstRun() throws Exception {
    delete("");
    for (int start = 0; start < 2; start++) {
      open(false);
      assertMissed(false, false);
      assertEquals(Set.of(), closed(7));
      assertEquals(Map.of(), state.serviceStore().missed(() -> Set.of(3)));
      assertFalse(Files.exists(directory.resolve(LostNames.UNFINISHED)));
    }
  }

  /** Its lock has the number of its process alone, and it had no names. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void shouldMissNothingOfAFormerRelease(boolean isInKernel) throws Exception {
    delete("written", "policy", "configuration", "names", "services");
    Files.writeString(directory.resolve("agent.lock"), "4711\n");
    for (int start = 0; start < 2; start++) {
      open(isInKernel);
      assertEquals(Optional.empty(), state.policyStore().load(found -> {}));
      assertEquals(List.of(), state.configurationStore().load());
      assertEquals(Optional.of(DENIED), state.prefilterStore().load());
      assertEquals(List.of(), state.nameStore().load());
      assertEquals(List.of(EndpointRecords.endpoint(7)), state.endpointStore().load());
      assertEquals(Set.of(), closed(7, 8));
      assertEquals(Map.of(), state.serviceStore().missed(() -> Set.of(3)));
      assertEquals(Level.OK, state.faults().read().level());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "\0\0\0\0\n", "47x1\n"})
  void shouldNotTakeADamagedLockForThatOfAFormerRelease(String content) throws Exception {
    delete("policy");
    Files.writeString(directory.resolve("agent.lock"), content);
    open(false);
    assertTrue(isMissed(() -> state.policyStore().load(found -> {})));
  }

  /** A start that ended before its names were whole. */
  @Test
  void shouldBeginAgainWhatAStartHasLeftUnfinished() throws Exception {
    delete("written", "policy");
    Files.createDirectory(directory.resolve(LostNames.UNFINISHED));
    Files.createFile(directory.resolve(LostNames.UNFINISHED).resolve("node.other"));
    open(false);
    assertThrows(UnreadableStateException.class, () -> state.policyStore().load(found -> {}));
    assertFalse(Files.exists(directory.resolve("written/node.other")));
  }

  @Test
  void shouldForgetWhatIsMissedWhereTheStateIsDiscarded() throws Exception {
    delete("written", "policy", "endpoints");
    open(false);
    state.discard();
    open(false);
    assertEquals(Optional.empty(), state.policyStore().load(found -> {}));
    assertEquals(Set.of(), closed(7));
  }
}
