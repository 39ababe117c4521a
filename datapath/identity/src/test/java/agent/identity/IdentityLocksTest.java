package agent.identity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.identity.IdentityDirectory.IdentityInUse;
import agent.identity.IdentityDirectory.IdentityListener;
import agent.testkit.OtherThread;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** Identities that are listed while another thread acquires and releases others. */
class IdentityLocksTest {
  private static final int ROUNDS = 30;
  private static final int MANY = 2_000;
  private static final int RESTORED = 20_000;
  private static final LabelSet KEPT = LabelSet.parse("labels", List.of("kept=yes"));

  private volatile boolean isDone;

  private static Identity acquire(LocalIdentityAllocator identities, String label) {
    return identities.acquire(LabelSet.parse("labels", List.of(label))).join();
  }

  /** The table grows, and what is removed from it moves others. */
  private void acquireAndRelease(LocalIdentityAllocator identities) {
    try {
      for (int number = 0; number < MANY; number++) {
        final LabelSet labels = LabelSet.parse("labels", List.of("more=" + number));
        if (number % 2 == 0) {
          identities.acquire(labels).join();
        } else {
          identities.restore(RESTORED + number, labels).join();
        }
      }
      identities.list().stream()
          .filter(identity -> identity.labels().toString().contains("more="))
          .forEach(identity -> identities.release(identity.id()).join());
    } finally {
      isDone = true;
    }
  }

  private void readAtAllTimes(Consumer<LocalIdentityAllocator> read) throws Exception {
    for (int round = 0; round < ROUNDS; round++) {
      final LocalIdentityAllocator identities = new LocalIdentityAllocator();
      acquire(identities, "kept=yes");
      isDone = false;
      OtherThread.race(
          1,
          () -> {
            while (!isDone) {
              read.accept(identities);
            }
          },
          () -> acquireAndRelease(identities));
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

  @Test
  void shouldFindAnIdentityInUseAtAllTimes() throws Exception {
    readAtAllTimes(
        identities -> {
          final Identity kept = identities.find(KEPT).orElseThrow();
          assertEquals(kept, identities.find(kept.id()).orElseThrow());
        });
  }

  /** What listeners do in the middle of a change: each has another thread begin the next one. */
  private static final class Caller implements IdentityListener {
    private final List<Callable<?>> next = new ArrayList<>();
    private final List<OtherThread<?>> others = new ArrayList<>();
    private final List<String> heard = Collections.synchronizedList(new ArrayList<>());

    private void call(String what, Identity identity) {
      heard.add(what + " " + identity.id());
      if (others.size() < next.size()) {
        others.add(OtherThread.call(next.get(others.size())));
        assertTrue(others.getLast().waits(), "it waits for the end of the change");
      }
    }

    @Override
    public void onIdentityAdded(Identity identity) {
      call("added", identity);
    }

    @Override
    public void onIdentityRemoved(Identity identity) {
      call("removed", identity);
    }
  }

  /** Otherwise a listener could hear of the end of an identity before its begin. */
  @Test
  void shouldHaveListenersHearOfOneChangeAfterTheOther() throws Exception {
    final IdentityTable table = new IdentityTable(new NumberRange("identities", 256, 300));
    final Caller caller = new Caller();
    table.addListener(caller);
    final LabelSet other = LabelSet.parse("labels", List.of("other=yes"));
    caller.next.add(() -> table.release(256)); // while it is acquired
    caller.next.add(() -> table.restore(257, other)); // while the first one is released
    caller.next.add(() -> table.acquire(LabelSet.parse("labels", List.of("last=yes"))));
    table.acquire(KEPT);
    for (int i = 0; i < 3; i++) {
      caller.others.get(i).result();
    }
    assertEquals(List.of("added 256", "removed 256", "added 257", "added 258"), caller.heard);
  }
}
