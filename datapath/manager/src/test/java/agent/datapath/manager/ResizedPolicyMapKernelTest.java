package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.EndpointSpec;
import agent.datapath.spec.PolicyDelta;
import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.PolicyMapProxy.PolicyChange;
import agent.maps.kernel.BpfMap;
import agent.maps.layout.PolicyDirection;
import agent.testkit.KernelTest;
import agent.testkit.Ping;
import agent.testkit.Workload;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The next run has another capacity of policy maps. */
@KernelTest
class ResizedPolicyMapKernelTest {
  private static final int ID = 41;
  private static final int IDENTITY = 1001;
  private static final int CAPACITY = 512;

  private ManagerTestNode node;
  private Workload workload;
  private DatapathManager manager;

  @BeforeEach
  void create() {
    node = new ManagerTestNode();
    workload = node.workload(ID);
    launch(CAPACITY);
    await(manager.policyMaps().synchronize(ID, IDENTITY, full()));
    final EndpointSpec spec = ManagerTestNode.spec(ID, workload, IDENTITY);
    await(manager.endpoints().attach(spec));
    ManagerTestNode.putAddresses(manager, spec);
  }

  @AfterEach
  void remove() throws IOException {
    manager.close();
    node.close();
  }

  private void launch(int capacity) {
    manager = node.launch(node.context().policyMapMax(capacity));
  }

  /** Returns as many entries as a map can hold, which let everybody in and out. */
  private static List<PolicyEntry> full() {
    final List<PolicyEntry> entries = new ArrayList<>(ManagerTestNode.allowAll());
    for (int port = 1; entries.size() < CAPACITY; port++) {
      entries.add(port(port));
    }
    return entries;
  }

  private static PolicyEntry port(int port) {
    return PolicyEntry.allow(5000, PolicyDirection.INGRESS, 6, port);
  }

  private Map<Integer, RuntimeException> add(int port) {
    final PolicyDelta delta = new PolicyDelta(List.of(port(port)), List.of());
    return await(manager.policyMaps().apply(List.of(new PolicyChange(ID, IDENTITY, delta))));
  }

  private BpfMap map() {
    return manager.maps().find("policy_%05d".formatted(ID)).orElseThrow();
  }

  private void assertReached() throws Exception {
    assertTrue(Ping.isAnswered(node.namespace(), workload.ipv4(), 5000));
    assertTrue(Ping.isAnswered(workload.namespace(), "10.77.0.1", 5000));
  }

  @Test
  void shouldRefuseWhatDoesNotFit() {
    final RuntimeException refused = add(999).get(ID);
    assertTrue(
        refused.getMessage().endsWith("ENOSPC, 512 of 512 entries"), () -> refused.getMessage());
  }

  @Test
  void shouldCarryEveryEntryToALargerMap() throws Exception {
    final int before = map().description().id();
    manager.close();
    launch(2 * CAPACITY);
    assertEquals(2 * CAPACITY, map().maxEntries());
    assertEquals(CAPACITY, map().countEntries());
    assertNotEquals(before, map().description().id());
    assertEquals(PolicyDelta.NONE, await(manager.policyMaps().synchronize(ID, IDENTITY, full())));
    assertEquals(Map.of(), add(999));
    assertReached();
    manager.close();
    launch(2 * CAPACITY);
    assertEquals(CAPACITY + 1, map().countEntries());
  }

  @Test
  void shouldKeepALargerMapWithItsEntries() throws Exception {
    final int before = map().description().id();
    manager.close();
    launch(CAPACITY / 2);
    assertEquals(CAPACITY, map().maxEntries());
    assertEquals(CAPACITY, map().countEntries());
    assertEquals(before, map().description().id());
    assertReached();
  }
}
