package agent.identity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.types.Refusal;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class LocalIdentityAllocatorTest extends IdentityAllocatorContract {
  private final LocalIdentityAllocator identities = new LocalIdentityAllocator();

  @Override
  protected IdentityAllocator identities() {
    return identities;
  }

  @Override
  protected void settle() {
    // The local allocator completes every call before it returns.
  }

  private int acquire(String label) {
    return identities.acquire(labels(label)).join().id();
  }

  @Test
  void shouldCompleteAtOnceAndNotifyListenersOfARemovalBeforeThat() {
    identities.addListener(recorder());
    assertTrue(identities.acquire(labels("app=a")).isDone());
    assertTrue(identities.release(Identity.CLUSTER_MIN).isDone());
    assertEquals(List.of("+256", "-256"), heard());
    assertTrue(identities.release(Identity.CLUSTER_MIN).isCompletedExceptionally());
  }

  @Test
  void shouldUseEveryNumberAndThenRefuse() {
    for (int i = Identity.CLUSTER_MIN; i <= Identity.CLUSTER_MAX; i++) {
      assertEquals(i, acquire("n=" + i));
    }
    final Refusal refusal =
        assertThrows(Refusal.class, () -> await(identities.acquire(labels("one=more"))));
    assertEquals(Refusal.Kind.EXHAUSTED, refusal.kind());
    assertEquals("identity: all 65280 identities are in use", refusal.getMessage());
    identities.release(300).join();
    identities.release(40_000).join();
    assertEquals(300, acquire("one=more"));
    identities.release(300).join();
    assertEquals(40_000, acquire("two=more"));
  }

  @Test
  void shouldGoOnAfterARestoredNumber() {
    identities.restore(400, labels("app=a")).join();
    assertEquals(401, acquire("app=b"));
  }

  @Test
  void shouldNumberTheReservedIdentitiesAsTheDecisionsSay() {
    final Map<Integer, String> expected = new HashMap<>();
    expected.put(1, "reserved:host");
    expected.put(2, "reserved:world");
    expected.put(3, "reserved:unmanaged");
    expected.put(4, "reserved:health");
    expected.put(5, "reserved:init");
    expected.put(6, "reserved:remote-node");
    expected.put(7, "reserved:orch-apiserver");
    expected.put(8, "reserved:ingress");
    expected.put(9, "reserved:world-ipv4");
    expected.put(10, "reserved:world-ipv6");
    final Map<Integer, String> actual = new HashMap<>();
    identities.list().forEach(i -> actual.put(i.id(), String.join(",", i.labels().toStrings())));
    assertEquals(expected, actual);
    assertEquals(Optional.of(ReservedIdentity.HOST), ReservedIdentity.of(1));
    assertEquals(Optional.empty(), ReservedIdentity.of(0));
    assertEquals(Optional.empty(), ReservedIdentity.of(11));
  }
}
