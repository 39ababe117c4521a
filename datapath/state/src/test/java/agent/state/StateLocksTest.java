package agent.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.Faults;
import agent.dns.NameLookup;
import agent.service.Service;
import agent.testkit.OtherThread;
import agent.types.IpAddress;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files that two threads change at one time. */
class StateLocksTest {
  private static final int ROUNDS = 10;

  @TempDir private Path directory;
  private final Faults faults = new Faults("fine");

  /** The services of a file share its name, which says who is left. */
  @Test
  void shouldRemoveEachOfTheServicesOfAFile() throws Exception {
    final StateFolder<List<Service>> folder =
        new StateFolder<>(
            new FolderFiles(directory.resolve("service-batches")),
            "services",
            new ServiceListCodec(),
            faults);
    for (int round = 0; round < ROUNDS; round++) {
      final ServiceBatches batches = new ServiceBatches(folder, faults);
      final int last = ServiceBatches.MOST_TOGETHER;
      batches.save(IntStream.rangeClosed(1, last).mapToObj(StoredServices::numbered).toList());
      OtherThread.race(1, () -> remove(batches, 2), () -> remove(batches, 3));
      assertEquals(Set.of(1), batches.ids());
      assertEquals(List.of("1"), List.copyOf(folder.names()));
      batches.remove(1);
    }
  }

  /** Removes every second service from one on. */
  private static void remove(ServiceBatches batches, int first) {
    for (int id = first; id <= ServiceBatches.MOST_TOGETHER; id += 2) {
      batches.remove(id);
    }
  }

  private static List<NameLookup> lookup(String name) {
    return List.of(
        new NameLookup(
            name,
            List.of(IpAddress.parse("192.0.2.1")),
            60,
            Instant.EPOCH,
            Instant.EPOCH.plusSeconds(60),
            NameLookup.Source.LOOKUP));
  }

  /** Otherwise names would be read without those of a file that is being given up. */
  @Test
  void shouldReadAndWriteNamesBetweenTheChangesOfOthers() throws Exception {
    final NameFile names =
        new NameFile(
            new StateFolder<>(
                new FolderFiles(directory.resolve("names")), "names", new NameCodec(), faults),
            faults);
    names.append(lookup("a.test."));
    final List<OtherThread<?>> others = new ArrayList<>();
    names.compact(
        () -> {
          others.add(OtherThread.call(names::load));
          others.add(OtherThread.run(() -> names.compact(() -> lookup("later.test."))));
          others.forEach(other -> assertTrue(other.waits(), "it waits for the end of the change"));
          return lookup("a.test.");
        });
    for (final OtherThread<?> other : others) {
      other.result();
    }
    assertEquals(lookup("later.test."), names.load());
    names.close();
  }
}
