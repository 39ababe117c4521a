package agent.service;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.ConductorAgent;
import agent.maps.layout.ServiceForwarding;
import agent.testkit.OtherThread;
import agent.types.IpAddress;
import agent.types.OperationException;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.agrona.concurrent.AgentRunner;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Which threads a change needs, and in which order changes are made. */
@Timeout(60)
class ServiceChangesTest {
  private final ConductorAgent conductor = new ConductorAgent("dp-conductor", () -> 0);
  private final ServicesTest.Datapath datapath = new ServicesTest.Datapath();
  private final ServicesTest.Disk disk = new ServicesTest.Disk();
  private final Services services = restored();

  private Services restored() {
    datapath.commands = conductor::run;
    return Services.restore(datapath, disk, "n1", ServiceForwarding.DEFAULT);
  }

  private static Service service(int id, int port, int... backendPorts) {
    final List<Backend> backends = new ArrayList<>();
    for (final int backend : backendPorts) {
      backends.add(
          new Backend(IpAddress.parse("10.1.0.7"), backend, Backend.State.ACTIVE, 1, null));
    }
    final Frontend frontend = new Frontend(IpAddress.parse("10.96.0.1"), port, ServiceProtocol.TCP);
    return new Service(id, frontend, backends, false, 0, null, null);
  }

  /** Executes the commands that wait. */
  private void execute() {
    while (conductor.doWork() > 0) {
      // until none waits
    }
  }

  private static void onThread(String name, Runnable work) throws InterruptedException {
    final Thread thread = Thread.ofPlatform().name(name).start(work);
    thread.join();
  }

  private List<Integer> backendPorts(int id) {
    return services.get(id).backends().stream().map(Backend::port).toList();
  }

  /** The thread of this test is the caller's, the conductor's and the disk's: none may wait. */
  @Test
  void shouldHoldUpNoThread() {
    datapath.enforced = new CompletableFuture<>();
    disk.synced = new CompletableFuture<>();
    final List<CompletableFuture<?>> changes = new ArrayList<>();
    for (int i = 0; i < 1_000; i++) {
      changes.add(services.put(service(1 + i % 10, 1 + i % 10, 8000 + i)));
    }
    changes.add(services.remove(1));
    execute();
    assertTrue(changes.stream().noneMatch(CompletableFuture::isDone));
    datapath.enforced.complete(null);
    execute();
    assertEquals(Set.of(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), datapath.held.keySet());
    assertTrue(changes.stream().noneMatch(CompletableFuture::isDone), "none is on the disk");
    disk.synced.complete(null);
    execute();
    changes.forEach(ServicesTest::done);
    assertEquals(9, services.list().size());
    assertEquals(List.of(8999), backendPorts(10), "that of the last change");
    assertEquals(services.list(), List.copyOf(disk.kept.values()));
  }

  /** Each hand-over costs a wake-up of a thread: the caller's, the disk's, and its own again. */
  @Test
  void shouldHandANewServiceToTheConductorOnceAndHaveTheDiskAnswer() throws Exception {
    final int count = 100;
    disk.synced = new CompletableFuture<>();
    final List<String> answering = new ArrayList<>();
    for (int id = 1; id <= count; id++) {
      services
          .put(service(id, id, 8080))
          .thenRun(() -> answering.add(Thread.currentThread().getName()));
    }
    execute();
    onThread("disk", () -> disk.synced.complete(null));
    assertEquals(count, answering.size());
    assertEquals(Set.of("disk"), Set.copyOf(answering));
    assertEquals(count, conductor.executed());
    execute();
    assertEquals(count, conductor.executed(), "nor for the end of a change");
  }

  @Test
  void shouldAnswerWhenTheRecordIsDurable() {
    disk.synced = new CompletableFuture<>();
    final List<Set<Integer>> kept = new ArrayList<>();
    services.put(service(1, 80)).thenRun(() -> kept.add(Set.copyOf(disk.kept.keySet())));
    execute();
    assertEquals(List.of(), kept);
    assertEquals(List.of(), services.list(), "it could be gone after a kill");
    disk.synced.complete(null);
    assertEquals(List.of(Set.of(1)), kept);
    assertEquals(List.of(service(1, 80)), restored().list());
  }

  @Test
  void shouldBeginTheNextChangeOfAServiceWhenTheDiskHasTheOneBefore() throws Exception {
    disk.synced = new CompletableFuture<>();
    final CompletableFuture<Services.Put> first = services.put(service(1, 80, 8080));
    final CompletableFuture<Services.Put> second = services.put(service(1, 80, 8081));
    final CompletableFuture<Services.Put> third = services.put(service(1, 81, 8082));
    execute();
    assertEquals(8080, datapath.held.get(1).backends().getFirst().port());
    final long executed = conductor.executed();
    onThread("disk", () -> disk.synced.complete(null));
    assertTrue(ServicesTest.done(first).isCreated());
    assertFalse(second.isDone());
    execute();
    assertTrue(conductor.executed() > executed, "the end of the first was a command");
    ServicesTest.done(second);
    ServicesTest.done(third);
    assertEquals(List.of(8082), backendPorts(1));
    final CompletableFuture<Services.Put> other = services.put(service(2, 80));
    execute();
    assertTrue(ServicesTest.done(other).isCreated(), "the frontend of the first is free");
  }

  @Test
  void shouldGoOnBehindAChangeThatTheDiskRefuses() {
    services.limit(2);
    disk.synced = new CompletableFuture<>();
    final CompletableFuture<Services.Put> refused = services.put(service(1, 80, 8080, 8081));
    final CompletableFuture<Services.Put> next = services.put(service(1, 81, 8082, 8083));
    execute();
    disk.synced.completeExceptionally(new OperationException("no space left on device"));
    disk.synced = CompletableFuture.completedFuture(null);
    execute();
    assertEquals(
        "no space left on device",
        assertThrows(OperationException.class, () -> ServicesTest.done(refused)).getMessage());
    assertTrue(ServicesTest.done(next).isCreated());
    assertEquals(81, datapath.held.get(1).port());
    final CompletableFuture<Services.Put> other = services.put(service(2, 80));
    execute();
    assertTrue(ServicesTest.done(other).isCreated(), "the frontend was given back");
  }

  @Test
  void shouldGoOnBehindAChangeThatTheDatapathRefuses() {
    datapath.enforced = new CompletableFuture<>();
    final CompletableFuture<Services.Put> refused = services.put(service(1, 80));
    final CompletableFuture<Services.Put> next = services.put(service(1, 81));
    execute();
    datapath.enforced.completeExceptionally(Refusal.exhausted("", "map services is full"));
    datapath.enforced = CompletableFuture.completedFuture(null);
    execute();
    assertEquals(
        "map services is full",
        assertThrows(Refusal.class, () -> ServicesTest.done(refused)).getMessage());
    assertTrue(ServicesTest.done(next).isCreated());
    assertEquals(Map.of(1, service(1, 81)), disk.kept);
  }

  @Test
  void shouldGoOnBehindARemovalThatTheDiskRefuses() {
    final CompletableFuture<Services.Put> created = services.put(service(1, 80));
    execute();
    ServicesTest.done(created);
    disk.isFull = true;
    final CompletableFuture<Void> refused = services.remove(1);
    execute();
    assertThrows(OperationException.class, () -> ServicesTest.done(refused));
    disk.isFull = false;
    final CompletableFuture<Void> removed = services.remove(1);
    execute();
    ServicesTest.done(removed);
    assertEquals(Map.of(), datapath.held);
  }

  @Test
  void shouldRefuseChangesWhenTheThreadOfTheMapsHasEnded() throws Exception {
    disk.synced = new CompletableFuture<>();
    final CompletableFuture<Services.Put> onDisk = services.put(service(1, 80));
    execute();
    conductor.onClose();
    disk.synced.complete(null);
    assertTrue(ServicesTest.done(onDisk).isCreated(), "it is in force and durable");
    for (final CompletableFuture<?> late :
        List.of(services.put(service(2, 81)), services.remove(1))) {
      final Refusal refusal = assertThrows(Refusal.class, () -> ServicesTest.done(late));
      assertEquals(Refusal.Kind.UNAVAILABLE, refusal.kind());
      assertEquals("dp-conductor is closed", refusal.getMessage());
    }
  }

  /** Of two threads, one would not see that a change waits, or the other that the one has ended. */
  @Test
  void shouldAnswerAllWhoChangeTheSameServices() throws Exception {
    final int rounds = 2_000;
    try (ExecutorService thread = Executors.newSingleThreadExecutor();
        AgentRunner runner =
            new AgentRunner(conductor.idleStrategy(), failure -> {}, null, conductor)) {
      disk.thread = thread;
      AgentRunner.startOnThread(runner);
      final List<OtherThread<Void>> clients = new ArrayList<>();
      for (int client = 0; client < 4; client++) {
        final int first = client;
        clients.add(
            OtherThread.run(
                () -> {
                  for (int i = first; i < rounds; i += 4) {
                    services.put(service(1 + i % 2, 1 + i % 2, 1 + i)).join();
                  }
                }));
      }
      for (final OtherThread<Void> client : clients) {
        client.result();
      }
    }
    assertEquals(services.list(), List.copyOf(disk.kept.values()));
    assertEquals(backendPorts(1).getFirst(), datapath.held.get(1).backends().getFirst().port());
    assertEquals(backendPorts(2).getFirst(), datapath.held.get(2).backends().getFirst().port());
  }
}
