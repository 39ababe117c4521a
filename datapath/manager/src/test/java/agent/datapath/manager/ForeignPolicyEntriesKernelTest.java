package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.PolicyDelta;
import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.PolicyVerdict;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.PolicyMap;
import agent.maps.layout.PolicyDirection;
import agent.testkit.KernelTest;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Another program has written entries into a policy map that no policy has. */
@KernelTest
class ForeignPolicyEntriesKernelTest {
  private static final int ENDPOINT = 12;
  private static final PolicyEntry KEPT = PolicyEntry.allow(7, PolicyDirection.EGRESS, 6, 443);
  private static final PolicyEntry STALE = PolicyEntry.allow(8, PolicyDirection.INGRESS, 6, 80);
  private static final PolicyEntry NEW = PolicyEntry.allowAll(9, PolicyDirection.INGRESS);

  private ManagerTestNode node;
  private DatapathManager manager;

  @BeforeEach
  void create() {
    node = new ManagerTestNode();
    manager = node.launch(node.context());
  }

  @AfterEach
  void remove() throws IOException {
    manager.close();
    node.close();
  }

  private PolicyDelta synchronize(PolicyEntry... entries) {
    return await(manager.policyMaps().synchronize(ENDPOINT, List.of(entries)));
  }

  @Test
  void shouldDeleteEntriesWhoseKeysNoPolicyHas() {
    synchronize(KEPT, STALE);
    manager.close(); // so that no comparison is before the synchronization
    manager = node.launch(node.context());
    final BpfMap map = manager.maps().find("policy_00012").orElseThrow();
    final PolicyMap policy = new PolicyMap(map);
    final int flags = PolicyVerdict.ALLOW.flags();
    assertEquals(0, policy.upsert(7, 2, 6, 80, 64, flags, 0), "no such direction");
    assertEquals(0, policy.upsert(7, 255, 0, 0, 40, flags, 0), "no such direction");
    assertEquals(0, policy.upsert(7, 0, 6, 0, 44, flags, 0), "a part of the protocol");
    assertEquals(0, policy.upsert(7, 0, 0, 0, 32, flags, 0), "any direction");
    assertEquals(0, policy.upsert(7, 0, 6, 81, 60, flags, 0), "a port beyond the prefix");
    assertEquals(7, map.countEntries());
    assertEquals(new PolicyDelta(List.of(NEW), List.of(STALE)), synchronize(KEPT, NEW));
    assertEquals(2, map.countEntries());
    assertTrue(synchronize(KEPT, NEW).isEmpty());
    assertFalse(synchronize(KEPT).isEmpty());
  }
}
