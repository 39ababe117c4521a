package agent.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.Faults;
import agent.conductor.ModuleHealth;
import agent.service.Frontend;
import agent.service.Service;
import agent.service.ServiceProtocol;
import agent.service.ServiceStore;
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
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Services that are created while another one is written. */
class ServiceBatchesTest {
  @TempDir private Path directory;
  private final Faults faults = new Faults("fine");
  private final AtomicInteger syncs = new AtomicInteger();
  private CountDownLatch disk = new CountDownLatch(0);
  private String failing = "";
  private ServiceStore store;

  /** A disk that waits, counts, and fails where the test asks for it. */
  private final class SlowFiles extends FolderFiles {
    SlowFiles(Path folder) {
      super(folder);
    }

    @Override
    void sync(Path synced, FileChannel channel) throws IOException {
      try {
        disk.await();
      } catch (InterruptedException e) {
        throw new IOException(e);
      }
      syncs.incrementAndGet();
      if (!failing.isEmpty() && synced.toString().contains(failing)) {
        throw new IOException("Input/output error");
      }
      super.sync(synced, channel);
    }
  }

  @BeforeEach
  void open() {
    open(0);
  }

  private void open(long gatheringNs) {
    store =
        new ServiceFiles(
            new StateFolder<>(
                new SlowFiles(directory.resolve("services")),
                "service",
                new ServiceCodec(),
                faults),
            new StateFolder<>(
                new SlowFiles(directory.resolve("service-batches")),
                "services",
                new ServiceListCodec(),
                faults),
            faults,
            gatheringNs);
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

  /** Creates 1 alone, and the others while it is written; returns what failed, by id. */
  private Map<Integer, RuntimeException> create(int... others) throws InterruptedException {
    disk = new CountDownLatch(1);
    final Map<Integer, RuntimeException> failures = new TreeMap<>();
    final List<Thread> clients = new ArrayList<>();
    for (final int id : IntStream.concat(IntStream.of(1), IntStream.of(others)).toArray()) {
      final Thread client =
          new Thread(
              () -> {
                try {
                  store.save(service(id, Math.min(id, 65_535)));
                } catch (RuntimeException failure) {
                  synchronized (failures) {
                    failures.put(id, failure);
                  }
                }
              });
      client.start();
      while (client.getState() != Thread.State.WAITING) {
        Thread.onSpinWait();
      }
      clients.add(client);
    }
    disk.countDown();
    for (final Thread client : clients) {
      client.join();
    }
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
    assertEquals(4, syncs.get(), "two files, and a folder for each");
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
  void shouldReturnOnceTheRecordIsWritten() throws Exception {
    final Set<Integer> missing = ConcurrentHashMap.newKeySet();
    final List<Thread> clients = new ArrayList<>();
    for (int client = 0; client < 100; client++) {
      final int first = 1 + client * 20;
      clients.add(
          Thread.ofPlatform()
              .start(
                  () -> {
                    for (int id = first; id < first + 20; id++) {
                      store.save(service(id, id));
                      if (!isWritten(id)) {
                        missing.add(id);
                      }
                    }
                  }));
    }
    for (final Thread client : clients) {
      client.join();
    }
    assertEquals(Set.of(), missing);
  }

  /**
   * Otherwise half of the clients are in each file, since the others come back while it is written:
   * twice as many files. A client that a loaded machine holds up makes one more; the limit is in
   * the middle.
   */
  @Test
  void shouldWaitForThoseWhoCameTogetherTheLastTime() throws Exception {
    final int clients = ServiceBatches.MOST_TOGETHER;
    final int each = 20;
    open(TimeUnit.SECONDS.toNanos(1));
    final List<Thread> threads = new ArrayList<>();
    for (int client = 1; client <= clients; client++) {
      final int first = client;
      threads.add(
          Thread.ofPlatform()
              .start(
                  () -> {
                    for (int id = first; id <= each * clients; id += clients) {
                      store.save(service(id, id));
                      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1)); // asks again
                    }
                  }));
    }
    for (final Thread thread : threads) {
      thread.join();
    }
    final int written = files("services").size() + files("service-batches").size();
    assertTrue(written <= each + each / 2, written + " files");
  }

  private boolean isWritten(int id) {
    return Files.exists(directory.resolve("services/" + id + ".json"))
        || files("service-batches").stream()
            .anyMatch(name -> ("-" + name.replace(".json", "-")).contains("-" + id + "-"));
  }

  @Test
  void shouldPreferTheRecordOfALaterChange() throws Exception {
    create(2, 3);
    store.save(service(2, 222));
    assertEquals(Set.of("1.json", "2.json"), files("services"));
    assertStored(Map.of(1, 1, 2, 222, 3, 3));
    store.save(service(3, 333)); // by a store that has not written its first record
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
    store.remove(1);
    assertEquals(Map.of(), create(2, 3));
    assertEquals(Set.of("2-3.json"), files("service-batches"));
    assertEquals(Set.of("1.json", "2.json", "3.json"), files("services"));
    assertStored(Map.of(1, 1, 2, 2, 3, 3));
  }

  @Test
  void shouldForgetOneOfThoseThatWereCreatedTogether() throws Exception {
    create(2, 3);
    store.save(service(2, 222));
    store.remove(2);
    assertEquals(Set.of("3.json"), files("service-batches"));
    assertStored(Map.of(1, 1, 3, 3));
    store.save(service(2, 22));
    assertStored(Map.of(1, 1, 2, 22, 3, 3));
    store.remove(3);
    assertEquals(Set.of(), files("service-batches"));
    assertStored(Map.of(1, 1, 2, 22));
  }

  /** Where a kill ends a removal between its two files, the service is there as it was. */
  @Test
  void shouldRemoveTheOlderRecordFirst() throws Exception {
    create(2, 3);
    store.save(service(2, 222));
    failing = "/services";
    assertThrows(OperationException.class, () -> store.remove(2));
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
    store.remove(2);
    assertEquals(Set.of("3.json"), files("service-batches"));
    open();
    assertEquals(Set.of(3), store.load().unreadable().keySet());
    store.remove(3);
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
    store.save(service(3, 3));
    assertStored(Map.of(1, 1, 3, 3));
  }

  @Test
  void shouldKeepTheNameOfAFileWhoseRemovalFails() throws Exception {
    create(2, 3);
    failing = "service-batches";
    assertThrows(OperationException.class, () -> store.remove(2));
    failing = "";
    assertEquals(Set.of("2-3.json"), files("service-batches"));
    store.remove(2);
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
