package agent.datapath.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.DatapathStatus;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.Conntrack4Map;
import agent.maps.kernel.Conntrack6Map;
import agent.testkit.KernelTest;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The sweep of expired flows, as the running datapath does it. */
@KernelTest
class SweepKernelTest {
  private static final List<String> TABLES =
      List.of("conntrack4_tcp", "conntrack4_any", "conntrack6_tcp", "conntrack6_any");
  private static final int EXPIRED = 30;
  private static final int LIVING = 7;
  private static final long LONGEST_NS = TimeUnit.SECONDS.toNanos(60);

  private ManagerTestNode node;

  @BeforeEach
  void create() {
    node = new ManagerTestNode();
  }

  @AfterEach
  void remove() throws IOException {
    node.close();
  }

  @Test
  void shouldDeleteTheExpiredFlowsOfEachTable() throws InterruptedException {
    try (DatapathManager manager = node.launch(node.context().conntrackGcIntervalSec(1))) {
      TABLES.forEach(table -> fill(manager, table));
      for (final String table : TABLES) {
        awaitEntries(map(manager, table), LIVING);
      }
      final DatapathStatus.Conntrack first = manager.status().conntrack();
      awaitRuns(manager, first.runs() + 2);
      final DatapathStatus.Conntrack status = manager.status().conntrack();
      assertEquals(TABLES.size() * EXPIRED, status.deleted());
      assertEquals(TABLES.size() * LIVING, status.entries());
      assertEquals(1, status.intervalSec());
      for (final String table : TABLES) {
        assertEquals(LIVING, map(manager, table).countEntries(), table);
      }
    }
  }

  @Test
  void shouldSweepTheTablesOfEnabledFamiliesOnly() throws InterruptedException {
    try (DatapathManager manager =
        node.launch(node.context().conntrackGcIntervalSec(1).enableIpv6(false))) {
      TABLES.stream()
          .filter(table -> table.startsWith("conntrack4"))
          .forEach(table -> fill(manager, table));
      awaitEntries(map(manager, "conntrack4_tcp"), LIVING);
      awaitEntries(map(manager, "conntrack4_any"), LIVING);
      awaitRuns(manager, manager.status().conntrack().runs() + 1);
      assertEquals(2 * EXPIRED, manager.status().conntrack().deleted());
    }
    try (DatapathManager manager =
        node.launch(node.context().conntrackGcIntervalSec(1).enableIpv4(false))) {
      fill(manager, "conntrack6_tcp");
      fill(manager, "conntrack6_any");
      awaitEntries(map(manager, "conntrack6_tcp"), LIVING);
      awaitEntries(map(manager, "conntrack6_any"), LIVING);
    }
  }

  /** The round at the start counts what the previous run left; a long interval shows no other. */
  @Test
  void shouldWaitForTheConfiguredInterval() throws InterruptedException {
    try (DatapathManager manager = node.launch(node.context())) {
      assertEquals(60, manager.status().conntrack().intervalSec(), "the default");
    }
    try (DatapathManager manager = node.launch(node.context().conntrackGcIntervalSec(3600))) {
      awaitRuns(manager, 1);
      fill(manager, "conntrack4_tcp");
      assertEquals(3600, manager.status().conntrack().intervalSec());
      Thread.sleep(1500);
      assertEquals(1, manager.status().conntrack().runs());
      assertEquals(EXPIRED + LIVING, map(manager, "conntrack4_tcp").countEntries());
    }
  }

  private static BpfMap map(DatapathManager manager, String table) {
    return manager.maps().find(table).orElseThrow();
  }

  private static void awaitEntries(BpfMap map, long entries) throws InterruptedException {
    final long deadline = System.nanoTime() + LONGEST_NS;
    while (map.countEntries() != entries && System.nanoTime() < deadline) {
      Thread.sleep(20);
    }
    assertEquals(entries, map.countEntries(), map.name());
  }

  private static void awaitRuns(DatapathManager manager, long runs) throws InterruptedException {
    final long deadline = System.nanoTime() + LONGEST_NS;
    while (manager.status().conntrack().runs() < runs && System.nanoTime() < deadline) {
      Thread.sleep(20);
    }
    assertTrue(manager.status().conntrack().runs() >= runs);
  }

  private static void fill(DatapathManager manager, String table) {
    final int protocol = table.endsWith("tcp") ? 6 : 17;
    for (int i = 0; i < EXPIRED + LIVING; i++) {
      final long expiresNs = i < EXPIRED ? 1 : Long.MAX_VALUE;
      if (table.startsWith("conntrack4")) {
        final Conntrack4Map map = new Conntrack4Map(map(manager, table));
        map.foundKey().clear().protocol(protocol).lowPort(i).highPort(80);
        map.found().clear().expiresNs(expiresNs);
        assertEquals(0, map.put());
      } else {
        final Conntrack6Map map = new Conntrack6Map(map(manager, table));
        map.foundKey().clear().protocol(protocol).lowPort(i).highPort(80);
        map.found().clear().expiresNs(expiresNs);
        assertEquals(0, map.put());
      }
    }
  }
}
