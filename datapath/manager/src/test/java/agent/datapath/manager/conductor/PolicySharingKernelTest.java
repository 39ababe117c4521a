package agent.datapath.manager.conductor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.guard.KernelFaults;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.MapDefinitions;
import agent.testkit.KernelTest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** When another endpoint may use a policy map. */
@KernelTest
class PolicySharingKernelTest {
  private final BpfMap map =
      BpfMap.create(MapDefinitions.of("endpoint", "prefilter").policy(12).withMaxEntries(16), "");
  private final SharedPolicy policy = new SharedPolicy(12, map, null, new KernelFaults());

  @AfterEach
  void close() {
    map.close();
  }

  @Test
  void shouldBeSharedByItsIdentityWhileItsEntriesAreKnown() {
    assertEquals(12, policy.number());
    assertFalse(policy.isKnown());
    assertFalse(policy.isShared(256), "nothing is written yet");
    policy.known(256);
    assertTrue(policy.isKnown());
    assertTrue(policy.isShared(256));
    assertFalse(policy.isShared(257));
    policy.uncertain();
    assertFalse(policy.isKnown());
    assertFalse(policy.isShared(256));
    policy.known(257);
    assertTrue(policy.isShared(257));
    assertFalse(policy.isShared(256));
  }

  @Test
  void shouldNeverBeSharedWithoutAnIdentity() {
    policy.known(SharedPolicy.NOT_SHARED);
    assertTrue(policy.isKnown());
    assertFalse(policy.isShared(SharedPolicy.NOT_SHARED));
  }

  @Test
  void shouldCountItsMembers() {
    assertEquals(0, policy.size());
    policy.members().add(7);
    policy.members().add(9);
    assertEquals(2, policy.size());
  }
}
