package agent.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.Faults;
import agent.testkit.OtherThread;
import agent.types.OperationException;
import agent.types.Refusal;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Which changes share a sync, in which order they are made, and when they are answered. */
@Timeout(60)
class StoreConductorTest {
  private static final int WRITES = 40;

  @TempDir private Path directory;
  private final List<String> syncs = new ArrayList<>();
  private final Faults faults = new Faults("fine");
  private long now;
  private Executor syncing = Runnable::run;
  private final StoreConductor store = new StoreConductor(() -> now, sync -> syncing.execute(sync));
  private RecordedFiles files;
  private RecordedFiles otherFiles;
  private StateFolder<String> folder;
  private StateFolder<String> other;

  private static final class TextCodec implements Codec<String> {
    @Override
    public void write(DocumentWriter out, String text) {
      out.beginObject();
      out.member("text", text, DocumentWriter::text);
      out.endObject();
    }

    @Override
    public String read(DocumentReader in) throws DamagedStateException {
      in.beginObject();
      final String text = in.member("text", DocumentReader::text);
      in.endObject();
      return text;
    }
  }

  @BeforeEach
  void start() {
    files = new RecordedFiles(directory.resolve("a"), syncs);
    otherFiles = new RecordedFiles(directory.resolve("b"), syncs);
    folder = open(files);
    other = open(otherFiles);
    store.onStart();
  }

  private StateFolder<String> open(FolderFiles of) {
    return new StateFolder<>(of, "text", new TextCodec(), faults, WrittenFiles.none(), store);
  }

  private CompletableFuture<Void> write(StateFolder<String> into, String name, String text) {
    return store.store(() -> into.write(name, text));
  }

  private void run() {
    while (store.doWork() > 0) {
      // until nothing waits
    }
  }

  private static String failure(CompletableFuture<Void> write) {
    assertTrue(write.isDone(), "it is answered");
    return assertThrows(CompletionException.class, write::join).getCause().getMessage();
  }

  private static void assertDurable(CompletableFuture<Void> write) {
    assertTrue(write.isDone(), "it is answered");
    write.join();
  }

  private static String text(StateFolder<String> of, String name) {
    try {
      return of.read(name).orElse("");
    } catch (DamagedStateException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Contents first, then names, and each folder once, however many files of it change. */
  @Test
  void shouldSyncTheContentsOfAllThatWaitAndThenEachFolderOnce() {
    final List<CompletableFuture<Void>> writes =
        List.of(
            write(folder, "1", "one"),
            write(other, "2", "two"),
            store.store(() -> folder.remove("none")),
            write(folder, "3", "three"));
    assertTrue(writes.stream().noneMatch(CompletableFuture::isDone));
    run();
    assertEquals(List.of("a/1.json.new", "b/2.json.new", "a/3.json.new", "a", "b"), syncs);
    writes.forEach(StoreConductorTest::assertDurable);
    assertEquals("one", text(folder, "1"));
    assertEquals("two", text(other, "2"));
    assertEquals("three", text(folder, "3"));
  }

  /** Returns what runs syncs only when so many have been handed over. */
  private static Executor together(int count) {
    final List<Runnable> handedOver = new ArrayList<>();
    return sync -> {
      handedOver.add(sync);
      if (handedOver.size() == count) {
        handedOver.forEach(Runnable::run);
        handedOver.clear();
      }
    };
  }

  /** Files that are synced at the same time share a commit of the file system's journal. */
  @Test
  void shouldHandOverTheSyncsOfAGroupBeforeItWaitsForOne() {
    syncing = together(2);
    final CompletableFuture<Void> first = write(folder, "1", "one");
    final CompletableFuture<Void> second = write(other, "2", "two");
    run();
    assertDurable(first);
    assertDurable(second);
    assertEquals(List.of("a/1.json.new", "b/2.json.new", "a", "b"), syncs);
  }

  @Test
  void shouldSyncOnEightDaemonThreadsOfItsOwn() throws Exception {
    final Executor threads = StoreConductor.syncThreads();
    final CyclicBarrier all = new CyclicBarrier(9);
    final Set<String> names = new ConcurrentSkipListSet<>();
    for (int i = 0; i < 8; i++) {
      threads.execute(
          () -> {
            names.add(Thread.currentThread().getName() + Thread.currentThread().isDaemon());
            await(all);
          });
    }
    all.await(30, TimeUnit.SECONDS);
    final Set<String> expected = new TreeSet<>();
    for (int i = 1; i <= 8; i++) {
      expected.add("store-sync-" + i + "true");
    }
    assertEquals(expected, names);
  }

  private static void await(CyclicBarrier barrier) {
    try {
      barrier.await(30, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void shouldAnswerNoneBeforeTheLastFolderIsSynced() {
    final CompletableFuture<Void> first = write(folder, "1", "one");
    write(other, "2", "two");
    final List<Boolean> answered = new ArrayList<>();
    files.duringNextSync(() -> otherFiles.duringNextSync(() -> answered.add(first.isDone())));
    run();
    assertEquals(List.of(false), answered);
    assertTrue(first.isDone());
  }

  @Test
  void shouldGatherWhatComesWhileTheDiskIsAtWork() {
    write(folder, "0", "first");
    files.duringNextSync(
        () -> {
          for (int i = 1; i <= WRITES; i++) {
            write(folder, Integer.toString(i), "later");
          }
        });
    run();
    now += StoreConductor.GATHERING_NS;
    run();
    assertEquals(1 + WRITES, syncs.stream().filter(each -> each.endsWith(".new")).count());
    assertEquals(
        1 + (WRITES + StoreConductor.MOST_TOGETHER - 1) / StoreConductor.MOST_TOGETHER,
        syncs.stream().filter("a"::equals).count(),
        "the folder is synced once for each group");
  }

  /** Callers that come back after their answer share the next sync, too. */
  @Test
  void shouldWaitAMomentForAsManyAsTheLastTime() {
    write(folder, "1", "one");
    write(folder, "2", "two");
    run();
    syncs.clear();
    write(folder, "1", "again");
    run();
    assertEquals(List.of(), syncs, "the second one may come");
    write(folder, "2", "again");
    run();
    assertEquals(List.of("a/1.json.new", "a/2.json.new", "a"), syncs);
    syncs.clear();
    write(folder, "1", "alone");
    run();
    now += StoreConductor.GATHERING_NS;
    run();
    assertEquals(List.of("a/1.json.new", "a"), syncs);
    syncs.clear();
    write(folder, "1", "alone again");
    run();
    assertEquals(List.of("a/1.json.new", "a"), syncs, "no other write is waited for");
  }

  /** What they save is more than they wait; who has no part in that does not wait as long. */
  @Test
  void shouldWaitLongerForWritesThatHaveAFileTogether() {
    store.storeTogether(() -> folder.write("1", "one"));
    store.storeTogether(() -> folder.write("2", "two"));
    run();
    syncs.clear();
    final CompletableFuture<Void> early = store.storeTogether(() -> folder.write("1", "again"));
    run();
    now += StoreConductor.TOGETHER_NS - 1;
    run();
    assertFalse(early.isDone(), "the second one may come");
    now++;
    run();
    assertDurable(early);
    List.of("1", "2", "3").forEach(name -> write(folder, name, "three"));
    run();
    final CompletableFuture<Void> patient = store.storeTogether(() -> folder.write("1", "again"));
    run();
    now += StoreConductor.GATHERING_NS;
    run();
    assertFalse(patient.isDone());
    final CompletableFuture<Void> hurried = write(folder, "2", "again");
    run();
    assertDurable(hurried);
    assertDurable(patient);
  }

  @Test
  void shouldFailOnlyTheChangeWhoseContentIsNotSynced() {
    write(folder, "2", "before");
    run();
    files.fail("2.json.new");
    final CompletableFuture<Void> first = write(folder, "1", "one");
    final CompletableFuture<Void> second = write(folder, "2", "two");
    final CompletableFuture<Void> third = write(folder, "3", "three");
    run();
    assertEquals(
        "state file " + folder.path("2") + " cannot be written: input/output error",
        failure(second));
    assertDurable(first);
    assertDurable(third);
    assertEquals("before", text(folder, "2"));
    assertEquals("three", text(folder, "3"));
  }

  @Test
  void shouldFailAndTakeBackAllChangesOfAFolderThatIsNotSynced() {
    write(folder, "1", "before");
    run();
    files.fail("a");
    final CompletableFuture<Void> first = write(folder, "1", "one");
    final CompletableFuture<Void> second = write(folder, "2", "two");
    final CompletableFuture<Void> elsewhere = write(other, "3", "three");
    run();
    failure(first);
    failure(second);
    assertDurable(elsewhere);
    assertEquals("before", text(folder, "1"));
    assertEquals("", text(folder, "2"));
    assertTrue(folder.isFailing());
  }

  @Test
  void shouldCommitTheFormerChangeOfAFileFirst() {
    final List<String> seen = new ArrayList<>();
    write(folder, "1", "one").thenRun(() -> seen.add(text(folder, "1")));
    write(folder, "1", "two").thenRun(() -> seen.add(text(folder, "1")));
    store.store(() -> folder.remove("1")).thenRun(() -> seen.add(text(folder, "1")));
    run();
    assertEquals(List.of("one", "two", ""), seen);
  }

  /** What a write changes second may refer to what it changes first. */
  @Test
  void shouldMakeTheFirstChangeOfAWriteDurableBeforeTheSecond() {
    store
        .store(
            () -> {
              folder.write("1", "one");
              other.write("2", "two");
            })
        .whenComplete((done, failure) -> syncs.add("answer"));
    run();
    assertEquals(List.of("a/1.json.new", "a", "b/2.json.new", "b", "answer"), syncs);
  }

  @Test
  void shouldNotMakeTheSecondChangeOfAWriteWhereTheFirstFails() {
    files.fail("1.json.new");
    final CompletableFuture<Void> both =
        store.store(
            () -> {
              folder.write("1", "one");
              other.write("2", "two");
            });
    run();
    assertTrue(failure(both).startsWith("state file " + folder.path("1")));
    assertEquals("", text(other, "2"));
  }

  @Test
  void shouldAnswerOthersBeforeWhatFollowsAChangeAtLength() {
    store
        .store(() -> folder.write("1", "one", () -> {}, () -> syncs.add("at length")))
        .thenRun(() -> syncs.add("first"));
    write(folder, "2", "two").thenRun(() -> syncs.add("second"));
    run();
    assertEquals(List.of("second", "at length", "first"), syncs.subList(3, syncs.size()));
  }

  @Test
  void shouldHaveOtherThreadsWaitForTheGroupThatHasTheirChange() throws Exception {
    final CompletableFuture<Void> first = write(folder, "1", "one");
    final OtherThread<Void> caller = OtherThread.run(() -> folder.write("2", "two"));
    assertTrue(caller.waits(), "it waits for the disk");
    run();
    caller.result();
    assertDurable(first);
    assertEquals(List.of("a/1.json.new", "a/2.json.new", "a"), syncs);
    files.fail("a");
    final OtherThread<Void> refused = OtherThread.run(() -> folder.write("2", "three"));
    assertTrue(refused.waits(), "it waits for the disk");
    now += StoreConductor.GATHERING_NS;
    run();
    now += StoreConductor.GATHERING_NS;
    run();
    assertThrows(OperationException.class, refused::result);
    assertEquals("two", text(folder, "2"));
  }

  @Test
  void shouldRunWritesOfItsOwnThreadAtOnceBetweenGroups() {
    store.run(
        () -> {
          folder.write("1", "one");
          syncs.add("done");
        });
    run();
    assertEquals(List.of("a/1.json.new", "a", "done"), syncs);
  }

  @Test
  void shouldMakeDurableWhatWaitsWhenItEndsAndRefuseWhatComesLater() throws Exception {
    final CompletableFuture<Void> waiting = write(folder, "1", "one");
    store.onClose();
    assertDurable(waiting);
    assertEquals(Optional.of("one"), folder.read("1"));
    assertThrows(
        Refusal.class,
        () -> {
          try {
            write(folder, "2", "two").join();
          } catch (CompletionException failure) {
            throw failure.getCause();
          }
        });
    assertFalse(folder.names().contains("2"));
    folder.write("3", "three"); // of who closes the state
    assertEquals(Optional.of("three"), folder.read("3"));
  }
}
