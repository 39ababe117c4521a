package agent.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.Faults;
import agent.conductor.ModuleHealth;
import agent.service.Frontend;
import agent.service.Service;
import agent.service.ServiceProtocol;
import agent.service.ServiceStore;
import agent.testkit.OtherThread;
import agent.types.IpAddress;
import agent.types.OperationException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.agrona.concurrent.AgentRunner;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Services that are created while another one is written. */
class ServiceBatchesTest {
  @TempDir private Path directory;
  private final Faults faults = new Faults("fine");
  private int syncs;
  private Runnable duringNextSync = () -> {};
  private String failing = "";
  private long now;
  private StoreConductor conductor;
  private ServiceStore store;

  /** A disk that counts, has something happen meanwhile, and fails where the test asks for it. */
  private final class TestedFiles extends FolderFiles {
    TestedFiles(Path folder) {
      super(folder);
    }

    @Override
    void sync(Path synced, FileChannel channel) throws IOException {
      final Runnable during = duringNextSync;
      duringNextSync = () -> {};
      during.run();
      syncs++;
      if (!failing.isEmpty() && synced.toString().contains(failing)) {
        throw new IOException("Input/output error");
      }
      super.sync(synced, channel);
    }
  }

  /** The thread of the test is that of the disk. */
  @BeforeEach
  void open() {
    open(new StoreConductor(() -> now, Runnable::run));
    conductor.onStart();
  }

  private void open(StoreConductor of) {
    conductor = of;
    store =
        new ServiceFiles(
            folder("services", "service", new ServiceCodec()),
            folder("service-batches", "services", new ServiceListCodec()),
            faults,
            of);
  }

  private <T> StateFolder<T> folder(String name, String kind, Codec<T> codec) {
    return new StateFolder<>(
        new TestedFiles(directory.resolve(name)),
        kind,
        codec,
        faults,
        WrittenFiles.none(),
        conductor);
  }

  private static Service service(int id, int port) {
    return new Service(
        id,
        new Frontend(IpAddress.parse("10.96.0.1"), port, ServiceProtocol.TCP),
        List.of(),
        false,
        0,
        null,
        null);
  }

  private CompletableFuture<Void> save(int id) {
    return store.save(service(id, Math.min(id, 65_535)));
  }

  /** Executes what waits for the disk. */
  private void run(Collection<CompletableFuture<Void>> changes) {
    while (!changes.stream().allMatch(CompletableFuture::isDone)) {
      conductor.doWork();
      now += StoreConductor.TOGETHER_NS;
    }
  }

  /** Makes a change; throws its failure. */
  private void run(CompletableFuture<Void> change) {
    run(List.of(change));
    try {
      change.join();
    } catch (CompletionException failure) {
      throw assertInstanceOf(RuntimeException.class, failure.getCause());
    }
  }

  /** Creates 1 alone, and the others while it is written; returns what failed, by id. */
  private Map<Integer, RuntimeException> create(int... others) {
    final Map<Integer, CompletableFuture<Void>> changes = new TreeMap<>();
    duringNextSync =
        () -> {
          for (final int id : others) {
            changes.put(id, save(id));
          }
        };
    run(save(1));
    assertEquals(others.length, changes.size());
    run(changes.values());
    final Map<Integer, RuntimeException> failures = new TreeMap<>();
    changes.forEach(
        (id, change) -> {
          if (change.isCompletedExceptionally()) {
            failures.put(id, (RuntimeException) change.exceptionNow());
          }
        });
    return failures;
  }

  private Set<String> files(String folder) {
    try (Stream<Path> files = Files.list(directory.resolve(folder))) {
      return files.map(file -> file.getFileName().toString()).collect(Collectors.toSet());
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private void assertStored(Map<Integer, Integer> portsById) {
    open();
    final Collection<Service> found = store.load().services();
    assertEquals(portsById.size(), found.size(), "each once");
    assertEquals(
        portsById,
        found.stream().collect(Collectors.toMap(Service::id, one -> one.frontend().port())));
    assertEquals(Map.of(), store.load().unreadable());
  }

  @Test
  void shouldWriteTogetherWhatIsCreatedTogether() throws Exception {
    assertEquals(Map.of(), create(12, 5, 40));
    assertEquals(Set.of("1.json"), files("services"));
    assertEquals(Set.of("12-5-40.json"), files("service-batches"));
    assertEquals(4, syncs, "two files, and a folder for each");
    assertStored(Map.of(1, 1, 5, 5, 12, 12, 40, 40));
  }

  @Test
  void shouldLimitHowManyAFileHas() throws Exception {
    final int[] ids = IntStream.range(0, 40).map(i -> Integer.MAX_VALUE - i).toArray();
    assertEquals(Map.of(), create(ids));
    assertEquals(3, files("service-batches").size());
    open();
    assertEquals(
        IntStream.concat(IntStream.of(1), IntStream.of(ids)).boxed().collect(Collectors.toSet()),
        store.load().services().stream().map(Service::id).collect(Collectors.toSet()));
  }

  /** A caller may come first whose record waits behind those of more callers than a file has. */
  @Test
  void shouldAnswerOnceTheRecordIsWritten() throws Exception {
    open(new StoreConductor(System::nanoTime, Runnable::run));
    final Set<Integer> missing = ConcurrentHashMap.newKeySet();
    final List<OtherThread<Void>> clients = new ArrayList<>();
    try (AgentRunner disk =
        new AgentRunner(conductor.idleStrategy(), failure -> {}, null, conductor)) {
      AgentRunner.startOnThread(disk);
      for (int client = 0; client < 100; client++) {
        final int first = 1 + client * 20;
        clients.add(
            OtherThread.run(
                () -> {
                  for (int id = first; id < first + 20; id++) {
                    save(id).join();
                    if (!isWritten(id)) {
                      missing.add(id);
                    }
                  }
                }));
      }
      for (final OtherThread<Void> client : clients) {
        client.result();
      }
    }
    assertEquals(Set.of(), missing);
  }

  /**
   * Otherwise half of the clients are in each file, since the others come back while it is written:
   * twice as many files.
   */
  @Test
  void shouldWaitForThoseWhoCameTogetherTheLastTime() {
    create(2, 3, 4);
    final List<CompletableFuture<Void>> next = new ArrayList<>();
    for (int id = 11; id <= 13; id++) {
      assertEquals(0, conductor.doWork(), "too few have come, and no time has passed");
      next.add(save(id));
    }
    conductor.doWork();
    next.forEach(CompletableFuture::join);
    assertEquals(Set.of("2-3-4.json", "11-12-13.json"), files("service-batches"));
  }

  /** Each of them has the name of the file that the other one leaves. */
  @Test
  void shouldForgetServicesOfOneFileAtTheSameTime() {
    create(2, 3, 4);
    final List<CompletableFuture<Void>> removals = List.of(store.remove(2), store.remove(4));
    run(removals);
    removals.forEach(CompletableFuture::join);
    assertEquals(Set.of("3.json"), files("service-batches"));
    assertStored(Map.of(1, 1, 3, 3));
  }

  @Test
  void shouldRefuseWhatComesAfterTheEnd() {
    final CompletableFuture<Void> asked = save(1);
    conductor.onClose();
    asked.join();
    for (final CompletableFuture<Void> late : List.of(save(1), save(2), store.remove(1))) {
      final Throwable refusal = assertThrows(CompletionException.class, late::join).getCause();
      assertEquals("store is closed", refusal.getMessage());
    }
    assertStored(Map.of(1, 1));
  }

  private boolean isWritten(int id) {
    return Files.exists(directory.resolve("services/" + id + ".json"))
        || files("service-batches").stream()
            .anyMatch(name -> ("-" + name.replace(".json", "-")).contains("-" + id + "-"));
  }

  @Test
  void shouldPreferTheRecordOfALaterChange() throws Exception {
    create(2, 3);
    run(store.save(service(2, 222)));
    assertEquals(Set.of("1.json", "2.json"), files("services"));
    assertStored(Map.of(1, 1, 2, 222, 3, 3));
    run(store.save(service(3, 333))); // by a store that has not written its first record
    assertStored(Map.of(1, 1, 2, 222, 3, 333));
    Files.writeString(directory.resolve("services/2.json"), "damaged");
    open();
    assertEquals(Set.of(2), store.load().unreadable().keySet(), "not the older record");
  }

  /** Otherwise two files would have a record of one service, and neither would be the newer one. */
  @Test
  void shouldGiveServicesThatChangeTogetherFilesOfTheirOwn() throws Exception {
    create(2, 3);
    open();
    run(store.remove(1));
    assertEquals(Map.of(), create(2, 3));
    assertEquals(Set.of("2-3.json"), files("service-batches"));
    assertEquals(Set.of("1.json", "2.json", "3.json"), files("services"));
    assertStored(Map.of(1, 1, 2, 2, 3, 3));
  }

  @Test
  void shouldForgetOneOfThoseThatWereCreatedTogether() throws Exception {
    create(2, 3);
    run(store.save(service(2, 222)));
    run(store.remove(2));
    assertEquals(Set.of("3.json"), files("service-batches"));
    assertStored(Map.of(1, 1, 3, 3));
    run(store.save(service(2, 22)));
    assertStored(Map.of(1, 1, 2, 22, 3, 3));
    run(store.remove(3));
    assertEquals(Set.of(), files("service-batches"));
    assertStored(Map.of(1, 1, 2, 22));
  }

  /** Where a kill ends a removal between its two files, the service is there as it was. */
  @Test
  void shouldRemoveTheOlderRecordFirst() throws Exception {
    create(2, 3);
    run(store.save(service(2, 222)));
    failing = "/services";
    assertThrows(OperationException.class, () -> run(store.remove(2)));
    assertEquals(Set.of("3.json"), files("service-batches"));
  }

  @Test
  void shouldNameTheServicesOfAFileThatCannotBeRead() throws Exception {
    create(2, 3);
    final Path file = directory.resolve("service-batches/2-3.json");
    Files.writeString(file, "damaged");
    open();
    final Map<Integer, String> unreadable = store.load().unreadable();
    assertEquals(Set.of(2, 3), unreadable.keySet());
    unreadable.values().forEach(why -> assertTrue(why.contains(file.toString()), why));
    assertEquals(ModuleHealth.Level.STOPPED, faults.read().level());
    run(store.remove(2));
    assertEquals(Set.of("3.json"), files("service-batches"));
    open();
    assertEquals(Set.of(3), store.load().unreadable().keySet());
    run(store.remove(3));
    assertEquals(ModuleHealth.Level.OK, faults.read().level());
    assertStored(Map.of(1, 1));
  }

  @Test
  void shouldReportAServiceThatItsFileDoesNotHold() throws Exception {
    create(2, 3);
    final Path folder = directory.resolve("service-batches");
    Files.move(folder.resolve("2-3.json"), folder.resolve("2-4.json"));
    open();
    assertEquals(List.of(1, 2), store.load().services().stream().map(Service::id).toList());
    assertEquals(Set.of(4), store.load().unreadable().keySet());
    for (final String name : List.of("2-x.json", "02.json", "-2.json", "0-9.json")) {
      Files.copy(folder.resolve("2-4.json"), folder.resolve(name));
    }
    open();
    assertEquals(Set.of(4), store.load().unreadable().keySet(), "no names of services");
  }

  @Test
  void shouldFailForAllThatAreWrittenTogether() throws Exception {
    failing = "service-batches";
    final Map<Integer, RuntimeException> failures = create(2, 3);
    assertEquals(Set.of(2, 3), failures.keySet());
    failures
        .values()
        .forEach(why -> assertTrue(why.getMessage().contains("2-3.json"), why::toString));
    assertEquals(Set.of(), files("service-batches"));
    failing = "";
    run(store.save(service(3, 3)));
    assertStored(Map.of(1, 1, 3, 3));
  }

  @Test
  void shouldKeepTheNameOfAFileWhoseRemovalFails() throws Exception {
    create(2, 3);
    failing = "service-batches";
    assertThrows(OperationException.class, () -> run(store.remove(2)));
    failing = "";
    assertEquals(Set.of("2-3.json"), files("service-batches"));
    run(store.remove(2));
    assertStored(Map.of(1, 1, 3, 3));
  }

  @Test
  void shouldWriteTheStoredFormat() throws Exception {
    create(2, 3);
    final String one =
        "{\"id\":%1$d,\"frontend\":{\"address\":\"10.96.0.1\",\"port\":%1$d,\"protocol\":\"TCP\"},"
            + "\"backends\":[],\"local\":false,\"affinitySeconds\":0,\"name\":null,"
            + "\"namespace\":null}";
    final Function<Integer, String> record = id -> one.formatted(id);
    final String file = Files.readString(directory.resolve("service-batches/2-3.json")).strip();
    assertTrue(
        file.endsWith("{\"services\":[" + record.apply(2) + "," + record.apply(3) + "]}"), file);
    assertTrue(file.startsWith("{\"format\":1,\"kind\":\"services\","), file);
  }
}
