package agent.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.Faults;
import agent.conductor.ModuleHealth.Level;
import agent.datapath.spec.PrefilterList;
import agent.dns.NameLookup;
import agent.endpoint.config.RuntimeOptionsStore.ChangedValue;
import agent.ipam.Lease;
import agent.node.NodeStore.NodeRecord;
import agent.policy.repository.PolicyState;
import agent.service.Frontend;
import agent.service.Service;
import agent.service.ServiceProtocol;
import agent.types.IpAddress;
import agent.types.Prefix;
import agent.types.UnreadableStateException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A file that others have removed is not one that was never written. */
class MissingFilesTest {
  private static final String RULES = "policy/rules.json";
  private static final String COPY = "policy/rules-copy.json";
  private static final PolicyState STATE = new PolicyState(41, List.of(), List.of());
  private static final PrefilterList DENIED =
      new PrefilterList(7, List.of(Prefix.parse("192.0.2.0/24"), Prefix.parse("2001:db8::/32")));
  private static final NodeRecord NODE =
      new NodeRecord(Prefix.parse("10.1.0.0/16"), Prefix.parse("f00d::a00:1:0:0/96"));
  private static final Lease LEASE =
      new Lease(IpAddress.parse("10.1.0.7"), "default", "", 7, null, null);

  @TempDir private Path parent;
  private Path directory;
  private AgentState state;

  /** One kind of a document: how a run stores it, and how it reads it. */
  private record Kind(String file, Use save, Use load) {
    @Override
    public String toString() {
      return file;
    }
  }

  /** A use of a store. */
  @FunctionalInterface
  private interface Use {
    void of(AgentState state);
  }

  @BeforeEach
  void open() {
    directory = parent.resolve("state");
    state = AgentState.open(directory);
  }

  @AfterEach
  void close() {
    state.close();
  }

  private void reopen() {
    state.close();
    state = AgentState.open(directory);
  }

  static List<Kind> documents() {
    return List.of(
        new Kind(
            RULES,
            state -> state.policyStore().save(STATE),
            state -> state.policyStore().load(found -> {})),
        new Kind(
            "prefilter/list.json",
            state -> state.prefilterStore().store(DENIED),
            state -> state.prefilterStore().load()),
        new Kind(
            "ipam/leases.json",
            state -> state.leaseStore().save(List.of(LEASE)),
            state -> state.leaseStore().load()),
        new Kind(
            "node/node.json",
            state -> state.nodeStore().save(NODE),
            state -> state.nodeStore().load()),
        new Kind(
            "configuration/daemon.json",
            state -> state.configurationStore().save(List.of(new ChangedValue("Debug", "a", "b"))),
            state -> state.configurationStore().load()),
        new Kind(
            "names/cache.json",
            state -> state.nameStore().save(List.of(lookup())),
            state -> state.nameStore().load()));
  }

  private static NameLookup lookup() {
    final Instant time = Instant.parse("2026-11-20T10:00:00Z");
    return new NameLookup(
        "www.example.com.",
        List.of(IpAddress.parse("192.0.2.7"), IpAddress.parse("2001:db8::7")),
        60,
        time,
        time.plusSeconds(60),
        NameLookup.Source.LOOKUP);
  }

  static Service service(int id) {
    return new Service(
        id,
        new Frontend(IpAddress.parse("10.96.0." + id), 80, ServiceProtocol.TCP),
        List.of(),
        false,
        0,
        null,
        null);
  }

  private void remove(String file) throws IOException {
    Files.delete(directory.resolve(file));
    if (file.equals(RULES)) {
      Files.delete(directory.resolve(COPY));
    }
  }

  private String unreadable(Kind kind) {
    final String message =
        assertThrows(UnreadableStateException.class, () -> kind.load().of(state)).getMessage();
    assertTrue(message.contains(directory.resolve(kind.file()).toString()), message);
    assertTrue(message.contains("it is missing"), message);
    return message;
  }

  @ParameterizedTest
  @MethodSource("documents")
  void shouldNotReadAMissingDocumentAsAnEmptyOne(Kind kind) throws Exception {
    kind.load().of(state);
    kind.save().of(state);
    reopen();
    kind.load().of(state);
    reopen();
    remove(kind.file());
    for (int start = 0; start < 2; start++) {
      reopen();
      final String message = unreadable(kind);
      if (!kind.file().startsWith("node")) {
        assertEquals(Level.STOPPED, state.faults().read().level());
        assertEquals(message, state.faults().read().message());
      }
    }
    kind.save().of(state);
    reopen();
    kind.load().of(state);
    assertEquals(Level.OK, state.faults().read().level(), () -> state.faults().read().message());
  }

  @ParameterizedTest
  @MethodSource("documents")
  void shouldGiveUpADocumentThatIsMovedAwayWithItsName(Kind kind) throws Exception {
    kind.save().of(state);
    reopen();
    final Path name =
        directory.resolve("written").resolve(kind.file().replace('/', '.').replace(".json", ""));
    remove(kind.file());
    Files.delete(name);
    Files.deleteIfExists(directory.resolve("written/policy.rules-copy"));
    reopen();
    kind.load().of(state);
    assertEquals(Level.OK, state.faults().read().level());
  }

  /** Those of releases that had no names, and of a start that has read nothing yet. */
  @ParameterizedTest
  @MethodSource("documents")
  void shouldMissWhatAFormerReleaseHasWritten(Kind kind) throws Exception {
    kind.save().of(state);
    state.close();
    delete(directory.resolve("written"));
    state = AgentState.open(directory);
    kind.load().of(state);
    reopen();
    remove(kind.file());
    reopen();
    unreadable(kind);
  }

  /** A former release removes files and leaves their names, and writes its number alone. */
  @ParameterizedTest
  @MethodSource("documents")
  void shouldNotMissWhatAFormerReleaseHasRemoved(Kind kind) throws Exception {
    kind.save().of(state);
    state.endpointStore().save(EndpointRecords.endpoint(7));
    reopen();
    remove(kind.file());
    Files.delete(directory.resolve("endpoints/7.json"));
    Files.writeString(directory.resolve("agent.lock"), "4711\n");
    for (int start = 0; start < 2; start++) {
      reopen();
      kind.load().of(state);
      assertEquals(List.of(), state.endpointStore().load());
      assertEquals(Map.of(), state.endpointStore().unreadable());
      assertEquals(Level.OK, state.faults().read().level());
    }
  }

  @Test
  void shouldMissFilesWhereTheLockIsGoneToo() throws Exception {
    state.policyStore().save(STATE);
    state.close();
    remove(RULES);
    Files.delete(directory.resolve("agent.lock"));
    state = AgentState.open(directory);
    unreadable(documents().getFirst());
  }

  private static void delete(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      for (final Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }

  @Test
  void shouldReadTheCopyOfRulesThatAreMissing() throws Exception {
    state.policyStore().save(STATE);
    reopen();
    Files.delete(directory.resolve(RULES));
    reopen();
    assertEquals(STATE, state.policyStore().load(found -> {}).orElseThrow());
    assertTrue(Files.exists(directory.resolve(RULES)));
    assertEquals(Level.OK, state.faults().read().level());
  }

  @Test
  void shouldCloseEndpointsWhoseFilesAreMissingUntilTheyAreRemoved() throws Exception {
    state.endpointStore().save(EndpointRecords.endpoint(7));
    state.endpointStore().save(EndpointRecords.endpoint(8));
    state.endpointStore().save(EndpointRecords.endpoint(9));
    state.endpointStore().remove(9);
    reopen();
    delete(directory.resolve("endpoints"));
    reopen();
    final var store = state.endpointStore();
    assertEquals(List.of(), store.load());
    assertEquals(Set.of(7, 8), store.unreadable().keySet());
    final String message = state.faults().read().message();
    assertTrue(message.contains("endpoint 7: ") && message.contains("endpoint 8: "), message);
    store.remove(7);
    store.save(EndpointRecords.endpoint(8));
    reopen();
    assertEquals(List.of(EndpointRecords.endpoint(8)), state.endpointStore().load());
    assertEquals(Level.OK, state.faults().read().level());
  }

  @Test
  void shouldKeepServicesAsTheyAreWhoseFilesAreMissing() throws Exception {
    state.serviceStore().save(service(7)).join();
    state.serviceStore().save(service(8)).join();
    reopen();
    remove("services/7.json");
    reopen();
    final var stored = state.serviceStore().load();
    assertEquals(List.of(service(8)), List.copyOf(stored.services()));
    assertEquals(Set.of(7), stored.unreadable().keySet());
    state.serviceStore().remove(7).join();
    reopen();
    assertEquals(Map.of(), state.serviceStore().load().unreadable());
  }

  @Test
  void shouldMissEachServiceOfAFileOfSeveral() throws Exception {
    final Faults faults = new Faults("fine");
    ServiceBatches batches = StoredServices.batches(directory, faults);
    batches.save(List.of(service(7), service(8), service(9)));
    batches.remove(8);
    assertEquals(List.of("7-9"), new WrittenFiles(directory, "service-batches").names());
    remove("service-batches/7-9.json");
    batches = StoredServices.batches(directory, faults);
    assertEquals(Set.of(7, 9), batches.load(List.of()).unreadable().keySet());
    batches.remove(7);
    batches = StoredServices.batches(directory, faults);
    assertEquals(Set.of(9), batches.load(List.of()).unreadable().keySet());
    batches.remove(9);
    assertEquals(Map.of(), StoredServices.batches(directory, faults).load(List.of()).unreadable());
  }

  @Test
  void shouldForgetWhatIsDiscarded() throws Exception {
    for (final Kind kind : documents()) {
      kind.save().of(state);
    }
    state.endpointStore().save(EndpointRecords.endpoint(7));
    remove("prefilter/list.json");
    state.discard();
    reopen();
    for (final Kind kind : documents()) {
      kind.load().of(state);
    }
    assertEquals(List.of(), state.endpointStore().load());
    assertEquals(Map.of(), state.endpointStore().unreadable());
    assertEquals(Level.OK, state.faults().read().level());
  }

  /** What a crash leaves at each step of the disk: no name without its file. */
  @Test
  void shouldLeaveNoNameWithoutItsFileWhateverStepIsTheLast() throws Exception {
    final Path folder = directory.resolve("service-batches");
    final List<String> steps = new ArrayList<>();
    final FolderFiles files =
        new FolderFiles(folder) {
          @Override
          void sync(Path synced, FileChannel channel) throws IOException {
            steps.add(synced.getFileName().toString());
            assertEquals(List.of(), withoutFile(folder), () -> steps.toString());
            super.sync(synced, channel);
          }
        };
    final StateFolder<List<Service>> written =
        new StateFolder<>(
            files,
            "services",
            new ServiceListCodec(),
            new Faults("fine"),
            new WrittenFiles(directory, "service-batches"),
            FileChanges.ALONE);
    written.write("7-8", List.of(service(7), service(8)));
    written.write("7-8", List.of(service(7), service(8)));
    written.rename("7-8", "8");
    assertEquals(List.of("8"), new WrittenFiles(directory, "service-batches").names());
    written.write("9", List.of(service(9)));
    written.remove("8");
    written.delete("9");
    assertEquals(List.of(), written.names());
    assertEquals(9, steps.size(), steps::toString);
  }

  private List<String> withoutFile(Path folder) throws IOException {
    final List<String> found = new ArrayList<>();
    try (DirectoryStream<Path> names =
        Files.newDirectoryStream(directory.resolve("written"), folder.getFileName() + ".*")) {
      for (final Path name : names) {
        final String document =
            name.getFileName().toString().substring(folder.getFileName().toString().length() + 1);
        if (!Files.exists(folder.resolve(document + ".json"))) {
          found.add(document);
        }
      }
    }
    return found;
  }

  @Test
  void shouldTellWithinOneRetryThatAFileWasRemoved() throws Exception {
    state.policyStore().save(STATE);
    state.prefilterStore().store(DENIED);
    state.endpointStore().save(EndpointRecords.endpoint(7));
    state.retry();
    assertEquals(Level.OK, state.faults().read().level());
    final Map<String, Path> moved = new LinkedHashMap<>();
    for (final String file : List.of("prefilter/list.json", "endpoints/7.json")) {
      moved.put(file, Files.move(directory.resolve(file), parent.resolve("moved" + moved.size())));
      state.retry();
      assertEquals(Level.STOPPED, state.faults().read().level());
    }
    final String message = state.faults().read().message();
    for (final String file : moved.keySet()) {
      assertTrue(message.contains(directory.resolve(file) + " was removed"), message);
    }
    Files.move(moved.get("endpoints/7.json"), directory.resolve("endpoints/7.json"));
    state.prefilterStore().store(DENIED);
    state.retry();
    assertEquals(Level.OK, state.faults().read().level(), () -> state.faults().read().message());
    state.endpointStore().remove(7);
    state.retry();
    assertEquals(Level.OK, state.faults().read().level());
  }

  @Test
  void shouldTellWithinOneRetryThatTheDirectoryIsGone() throws Exception {
    state.policyStore().save(STATE);
    final Path moved = parent.resolve("moved");
    for (final boolean isReplaced : new boolean[] {false, true}) {
      Files.move(directory, moved);
      if (isReplaced) {
        Files.createDirectories(directory);
      }
      state.retry();
      assertEquals(Level.STOPPED, state.faults().read().level());
      final String message = state.faults().read().message();
      assertTrue(message.contains("state directory " + directory + " was removed"), message);
      Files.deleteIfExists(directory);
      Files.move(moved, directory);
      state.retry();
      assertEquals(Level.OK, state.faults().read().level());
    }
  }

  @Test
  void shouldWriteTheNamesAgainWhoseFolderWasRemoved() throws Exception {
    state.policyStore().save(STATE);
    delete(directory.resolve("written"));
    state.retry();
    assertEquals(List.of("rules", "rules-copy"), new WrittenFiles(directory, "policy").names());
  }

  /** What others may do to a journal that has one lookup on the disk. */
  static Map<String, Damage> damages() {
    final Map<String, Damage> damages = new LinkedHashMap<>();
    damages.put("removed", Files::delete);
    damages.put("emptied", file -> Files.write(file, new byte[0]));
    damages.put("null", file -> Files.writeString(file, "null\n"));
    damages.put("zeros", file -> Files.write(file, new byte[Files.readAllBytes(file).length]));
    damages.put(
        "beginning of zeros",
        file -> {
          final byte[] bytes = Files.readAllBytes(file);
          java.util.Arrays.fill(bytes, 0, 64, (byte) 0);
          Files.write(file, bytes);
        });
    damages.put(
        "a bit",
        file -> {
          final byte[] bytes = Files.readAllBytes(file);
          bytes[90] ^= 1;
          Files.write(file, bytes);
        });
    return damages;
  }

  /** What is done to a file. */
  @FunctionalInterface
  interface Damage {
    void to(Path file) throws IOException;
  }

  @ParameterizedTest
  @MethodSource("damagesByName")
  void shouldNotReadADamagedJournalOfNamesAsAnEmptyOne(String damage) throws Exception {
    state.nameStore().append(List.of(lookup()));
    state.nameStore().sync();
    reopen();
    assertEquals(List.of(lookup()), state.nameStore().load());
    reopen();
    damages().get(damage).to(directory.resolve("names/added-1.json"));
    for (int start = 0; start < 2; start++) {
      reopen();
      final String message =
          assertThrows(UnreadableStateException.class, state.nameStore()::load).getMessage();
      assertTrue(message.contains("added-1.json"), message);
      assertEquals(Level.STOPPED, state.faults().read().level());
    }
    state.nameStore().save(List.of());
    reopen();
    assertEquals(List.of(), state.nameStore().load());
    assertEquals(Level.OK, state.faults().read().level());
  }

  /** As a former release, and a run that was killed behind its first part, leave one. */
  @ParameterizedTest
  @ValueSource(strings = {"null", "beginning of zeros", "a bit"})
  void shouldNotReadADamagedJournalWithoutItsNameAsAnEmptyOne(String damage) throws Exception {
    state.nameStore().append(List.of(lookup()));
    state.nameStore().sync();
    reopen();
    Files.deleteIfExists(directory.resolve("written/names.added-1"));
    damages().get(damage).to(directory.resolve("names/added-1.json"));
    reopen();
    final String message =
        assertThrows(UnreadableStateException.class, state.nameStore()::load).getMessage();
    assertTrue(message.contains("added-1.json"), message);
  }

  static Stream<String> damagesByName() {
    return damages().keySet().stream();
  }

  /** A run that was killed before its first part was on the disk. */
  @ParameterizedTest
  @MethodSource("cuts")
  void shouldReadAJournalThatWasBegunAsAnEmptyOne(int length) throws Exception {
    state.nameStore().append(List.of(lookup()));
    state.nameStore().sync();
    reopen();
    final Path journal = directory.resolve("names/added-1.json");
    final byte[] bytes = Files.readAllBytes(journal);
    Files.delete(directory.resolve("written/names.added-1"));
    java.util.Arrays.fill(bytes, length, bytes.length, (byte) 0);
    Files.write(journal, bytes);
    reopen();
    assertEquals(List.of(), state.nameStore().load());
    Files.write(journal, length < 100 ? java.util.Arrays.copyOf(bytes, length) : bytes);
    reopen();
    assertEquals(List.of(), state.nameStore().load(), "and is not missed the next time");
  }

  static Stream<Integer> cuts() {
    return Stream.of(0, 1, 9, 30, 64, 100, 200);
  }
}
