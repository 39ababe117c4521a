package agent.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.Faults;
import agent.dns.NameLookup;
import agent.types.IpAddress;
import agent.types.OperationException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the journal of names makes durable, and that adding to it does not wait for the disk. */
class NameJournalTest {
  @TempDir private Path path;
  private final List<String> synced = new ArrayList<>();
  private final Semaphore disk = new Semaphore(Integer.MAX_VALUE);
  private final Semaphore syncing = new Semaphore(0);
  private String failing = "";
  private NameJournal journal;

  @BeforeEach
  void open() {
    final FolderFiles files =
        new FolderFiles(path) {
          @Override
          void sync(Path file, FileChannel channel) throws IOException {
            final String name = file.equals(path) ? "folder" : file.getFileName().toString();
            synced.add(name);
            syncing.release();
            disk.acquireUninterruptibly();
            disk.release();
            if (name.equals(failing)) {
              throw new IOException("Input/output error");
            }
            super.sync(file, channel);
          }
        };
    journal =
        new NameJournal(new StateFolder<>(files, "names", new NameCodec(), new Faults("fine")));
  }

  @AfterEach
  void close() {
    journal.close();
  }

  private static List<NameLookup> lookup(int number) {
    final Instant time = Instant.parse("2026-11-20T10:00:00Z");
    return List.of(
        new NameLookup(
            "n" + number + ".example.com.",
            List.of(IpAddress.parse("192.0.2." + number)),
            60,
            time,
            time.plusSeconds(60),
            NameLookup.Source.LOOKUP));
  }

  @Test
  void shouldMakeTheNameOfAFileDurableOnce() throws Exception {
    journal.sync();
    journal.append(lookup(1));
    assertEquals(List.of(), synced, "by the first sync");
    journal.sync();
    assertEquals(List.of("added-1.json", "folder"), synced);
    journal.append(lookup(2));
    journal.sync();
    assertEquals(List.of("added-1.json", "folder", "added-1.json"), synced);
    synced.clear();
    assertEquals(List.of(1L), journal.rotate());
    assertEquals(List.of("added-1.json"), synced);
    journal.append(lookup(3));
    assertEquals(List.of(1L, 2L), journal.rotate());
    assertEquals(List.of("added-1.json", "added-2.json", "folder"), synced);
    assertEquals(List.of(1L, 2L), journal.rotate());
    assertEquals(3, synced.size(), "there is no present file");
    assertEquals(3, journal.read().size());
  }

  @Test
  void shouldMakeTheNameOfAFileDurableAgainWhereThatFailed() {
    journal.append(lookup(1));
    failing = "folder";
    assertThrows(OperationException.class, journal::sync);
    failing = "";
    journal.sync();
    assertEquals(List.of("added-1.json", "folder", "added-1.json", "folder"), synced);
  }

  @Test
  void shouldAddWhileTheDiskIsSlow() throws Exception {
    journal.append(lookup(1));
    for (final Runnable slow : List.<Runnable>of(journal::sync, journal::rotate)) {
      disk.acquire(Integer.MAX_VALUE);
      syncing.drainPermits();
      final Thread other = Thread.ofPlatform().start(slow);
      syncing.acquire();
      final Thread adding = Thread.ofPlatform().start(() -> journal.append(lookup(2)));
      assertTrue(adding.join(Duration.ofSeconds(30)), "it does not wait");
      assertTrue(other.isAlive());
      disk.release(Integer.MAX_VALUE);
      other.join();
    }
    assertEquals(3, journal.read().size());
    assertFalse(synced.isEmpty());
  }
}
