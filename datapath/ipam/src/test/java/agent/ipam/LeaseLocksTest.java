package agent.ipam;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.OtherThread;
import agent.types.IpAddress;
import agent.types.OperationException;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;

/** Leases that another thread stores later, while the allocator changes them. */
class LeaseLocksTest {
  private final LaterWrites writes = new LaterWrites();
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
              .storing(writes::add)
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

  private OtherThread<?> other(Runnable call) {
    final OtherThread<?> other = OtherThread.run(call);
    others.add(other);
    return other;
  }

  private void allocate(String owner, boolean expiring) {
    ipam.allocate(AddressFamily.IPV4, owner, null, expiring);
  }

  /** Leases of an endpoint that is gone are stored later. */
  private void change() {
    ipam.allocateFor(7, null);
    writes.runAll();
    store.saved.clear();
    ipam.releaseEndpoint(7);
    ipam.expire();
  }

  /** Otherwise a restart would have the leases of before the last change. */
  @Test
  void shouldNotWriteOldLeasesOverThoseOfALaterChange() throws Exception {
    change();
    inTheMiddle =
        () -> assertTrue(other(() -> allocate("kept", false)).waits(), "it waits for the disk");
    writes.runNext();
    assertEquals(1, writes.size(), "one write at a time");
    writes.runNext();
    others.getFirst().result();
    assertEquals(List.of(0, 1), store.saved);
  }

  @Test
  void shouldStoreTheLeasesOfWholeChanges() throws Exception {
    change();
    inTheMiddle =
        () -> assertTrue(other(writes::runNext).waits(), "it waits for the end of the change");
    allocate("kept", true);
    others.getFirst().result();
    assertEquals(List.of(1), store.saved);
  }

  private Ipam.Change<?> claim(int address, int endpoint) {
    final IpAddress claimed = IpAddress.parse("10.1.0." + address);
    return ipam.change(() -> ipam.claim("a", claimed, endpoint, null, null));
  }

  @Test
  void shouldStoreTogetherWhatComesWhileTheDiskIsAtWork() {
    final Ipam.Change<?> first = claim(7, 7);
    final List<Ipam.Change<?>> during = new ArrayList<>();
    inTheMiddle =
        () -> {
          during.add(claim(8, 8));
          during.add(claim(9, 9));
        };
    writes.runNext();
    assertTrue(first.stored().isDone());
    assertSame(during.getFirst().stored(), during.getLast().stored());
    assertFalse(during.getFirst().stored().isDone(), "it came after the leases were read");
    writes.runAll();
    assertTrue(during.getFirst().stored().isDone());
    assertEquals(List.of(1, 3), store.saved);
  }

  private static String failure(Ipam.Change<?> change) {
    assertTrue(change.stored().isDone(), "it is answered");
    return assertThrows(CompletionException.class, change.stored()::join).getCause().getMessage();
  }

  /** A later change may rest on what is taken back: an address that another one has released. */
  @Test
  void shouldTakeBackAllThatIsNotStoredTheLastChangeFirst() {
    final IpAddress address = IpAddress.parse("10.1.0.7");
    claim(6, 6);
    writes.runAll();
    final Ipam.Change<?> first = claim(7, 7);
    final List<Ipam.Change<?>> during = new ArrayList<>();
    inTheMiddle = () -> during.add(claim(8, 8));
    writes.failNext(new OperationException("no space left on device"));
    assertEquals("no space left on device", failure(first));
    assertEquals("no space left on device", failure(during.getFirst()));
    assertEquals(1, ipam.leases().size());
    assertTrue(ipam.find(address).isEmpty());
    writes.runAll();
    assertEquals(List.of(1, 2), store.saved, "what is taken back is not written");
  }

  @Test
  void shouldKeepWhatFollowedAChangeThatIsTakenBack() {
    claim(7, 7);
    inTheMiddle = () -> ipam.releaseEndpoint(7);
    writes.failNext(new OperationException("no space left on device"));
    assertEquals(List.of(), ipam.leases());
    ipam.expire();
    writes.runAll();
    assertEquals(List.of(1, 0), store.saved);
  }
}
