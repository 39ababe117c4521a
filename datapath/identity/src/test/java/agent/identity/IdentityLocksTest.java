package agent.identity;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.identity.IdentityDirectory.IdentityInUse;
import agent.testkit.OtherThread;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** Identities that are listed while another thread acquires and releases others. */
class IdentityLocksTest {
  private static final int ROUNDS = 5;
  private static final int MANY = 2_000;

  private volatile boolean isDone;

  private static Identity acquire(LocalIdentityAllocator identities, String label) {
    return identities.acquire(LabelSet.parse("labels", List.of(label))).join();
  }

  /** The table grows, and what is removed from it moves others. */
  private Void acquireAndRelease(LocalIdentityAllocator identities) {
    try {
      for (int number = 0; number < MANY; number++) {
        acquire(identities, "more=" + number);
      }
      identities.list().stream()
          .filter(identity -> identity.labels().toString().contains("more="))
          .forEach(identity -> identities.release(identity.id()).join());
    } finally {
      isDone = true;
    }
    return null;
  }

  private void readAtAllTimes(Consumer<LocalIdentityAllocator> read) throws Exception {
    for (int round = 0; round < ROUNDS; round++) {
      final LocalIdentityAllocator identities = new LocalIdentityAllocator();
      acquire(identities, "kept=yes");
      isDone = false;
      final Callable<Void> write = () -> acquireAndRelease(identities);
      final OtherThread<Void> writing = OtherThread.call(write);
      while (!isDone) {
        read.accept(identities);
      }
      writing.result();
    }
  }

  @Test
  void shouldListEachIdentityInUseAtAllTimes() throws Exception {
    final Identity kept = acquire(new LocalIdentityAllocator(), "kept=yes");
    readAtAllTimes(
        identities ->
            assertEquals(
                List.of(kept),
                identities.inUse().stream()
                    .map(IdentityInUse::identity)
                    .filter(kept::equals)
                    .toList()));
  }
}
