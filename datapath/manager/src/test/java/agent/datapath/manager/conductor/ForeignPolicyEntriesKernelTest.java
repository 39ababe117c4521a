package agent.datapath.manager.conductor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.manager.spec.PolicyDelta;
import agent.datapath.manager.spec.PolicyEntry;
import agent.datapath.manager.spec.PolicyVerdict;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.MapCursor;
import agent.maps.kernel.MapDefinitions;
import agent.maps.kernel.PolicyMap;
import agent.maps.layout.PolicyDirection;
import agent.testkit.KernelTest;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Another program has written entries into a policy map that no policy has. */
@KernelTest
class ForeignPolicyEntriesKernelTest {
  private static final PolicyEntry KEPT = PolicyEntry.allow(7, PolicyDirection.EGRESS, 6, 443);
  private static final PolicyEntry STALE = PolicyEntry.allow(8, PolicyDirection.INGRESS, 6, 80);
  private static final PolicyEntry NEW = PolicyEntry.allowAll(9, PolicyDirection.INGRESS);

  private final PolicyWriter writer = new PolicyWriter();

  @Test
  void shouldDeleteEntriesWhoseKeysNoPolicyHas() {
    try (BpfMap map = BpfMap.create(MapDefinitions.of("endpoint", "prefilter").policy(12), "")) {
      final PolicyMap policy = new PolicyMap(map);
      writer.apply(policy, new PolicyDelta(List.of(KEPT, STALE), List.of()));
      final int flags = PolicyVerdict.ALLOW.flags();
      assertEquals(0, policy.upsert(7, 2, 6, 80, 64, flags, 0), "no such direction");
      assertEquals(0, policy.upsert(7, 255, 0, 0, 40, flags, 0), "no such direction");
      assertEquals(0, policy.upsert(7, 0, 6, 0, 44, flags, 0), "a part of the protocol");
      assertEquals(0, policy.upsert(7, 0, 0, 0, 32, flags, 0), "any direction");
      assertEquals(0, policy.upsert(7, 0, 6, 81, 60, flags, 0), "a port beyond the prefix");
      assertEquals(7, count(map));
      final PolicyDelta difference = writer.difference(policy, List.of(KEPT, NEW));
      assertEquals(new PolicyDelta(List.of(NEW), List.of(STALE)), difference);
      writer.apply(policy, difference);
      assertEquals(2, count(map));
      assertTrue(writer.difference(policy, List.of(KEPT, NEW)).isEmpty());
      assertFalse(writer.difference(policy, List.of(KEPT)).isEmpty());
    }
  }

  private static int count(BpfMap map) {
    final MapCursor cursor = new MapCursor();
    assertTrue(cursor.open(map) >= 0);
    int count = 0;
    while (cursor.next()) {
      count++;
    }
    cursor.close();
    assertEquals(0, cursor.error());
    return count;
  }
}
