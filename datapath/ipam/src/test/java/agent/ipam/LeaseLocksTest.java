package agent.ipam;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.OtherThread;
import agent.types.Prefix;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import org.junit.jupiter.api.Test;

/** Leases that another thread stores later, while the allocator changes them. */
class LeaseLocksTest {
  private final Queue<Runnable> later = new ArrayDeque<>();
  private final List<OtherThread<?>> others = new ArrayList<>();
  private final CallingStore store = new CallingStore();
  private Runnable inTheMiddle = () -> {};
  private final Ipam ipam =
      Ipam.open(
          new IpamContext()
              .pool(new AddressPool("default", List.of(Prefix.parse("10.1.0.0/24"))))
              .families(true, false)
              .uuids(this::uuid)
              .store(store)
              .storing(later::add)
              .conclude());

  private String uuid() {
    inTheMiddle();
    return "timer";
  }

  private void inTheMiddle() {
    final Runnable call = inTheMiddle;
    inTheMiddle = () -> {};
    call.run();
  }

  /** Runs something before the leases are written, as a slow disk would. */
  private final class CallingStore implements LeaseStore {
    private final List<Integer> saved = new ArrayList<>();

    @Override
    public List<Lease> load() {
      return List.of();
    }

    @Override
    public void save(List<Lease> leases) {
      inTheMiddle();
      saved.add(leases.size());
    }
  }

  private void callInTheMiddle(Runnable call) {
    inTheMiddle =
        () -> {
          others.add(OtherThread.run(call));
          assertTrue(others.getFirst().waits(), "it waits for the other thread");
        };
  }

  private void allocate(String owner, boolean expiring) {
    ipam.allocate(AddressFamily.IPV4, owner, null, expiring);
  }

  /** Leases of an endpoint that is gone are stored later. */
  private void change() {
    ipam.allocateFor(7, null);
    store.saved.clear();
    ipam.releaseEndpoint(7);
    ipam.expire();
  }

  /** Otherwise a restart would have the leases of before the last change. */
  @Test
  void shouldNotWriteOldLeasesOverThoseOfALaterChange() throws Exception {
    change();
    callInTheMiddle(() -> allocate("kept", false));
    later.remove().run();
    others.getFirst().result();
    assertEquals(List.of(0, 1), store.saved);
  }

  @Test
  void shouldStoreTheLeasesOfWholeChanges() throws Exception {
    change();
    callInTheMiddle(later.remove());
    allocate("kept", true);
    others.getFirst().result();
    assertEquals(List.of(1), store.saved);
  }
}
