package agent.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.OtherThread;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Which changes of the nodes clients get, and for how long they are remembered. */
class ClusterNodesTest {
  private static final ClusterNode ONE = node("blue/one", "192.0.2.1");
  private static final ClusterNode TWO = node("blue/two", "192.0.2.2");
  private static final ClusterNode TWO_MOVED = node("blue/two", "192.0.2.3");

  private final List<ClusterNode> present = new ArrayList<>(List.of(ONE));
  private long nowNs = Long.MAX_VALUE - 1000; // the clock may wrap
  private final ClusterNodes nodes = new ClusterNodes(() -> present, () -> nowNs);

  private static ClusterNode node(String name, String address) {
    return ClusterNode.local(
        name,
        new NodeAddressing(
            FamilyAddressing.of(IpAddress.parse(address), Prefix.parse("10.1.0.0/24")),
            FamilyAddressing.DISABLED),
        List.of());
  }

  private void assertChanges(long id, List<ClusterNode> added, List<ClusterNode> removed) {
    final ClusterNodes.Changes changes = nodes.changesFor(id);
    assertEquals(added, changes.added());
    assertEquals(removed, changes.removed());
    assertEquals(id, changes.clientId());
  }

  @Test
  void shouldTellANewClientAllNodesAndThenOnlyChanges() {
    final ClusterNodes.Changes first = nodes.changesFor(0);
    assertEquals(List.of(ONE), first.added());
    assertEquals(List.of(), first.removed());
    final long id = first.clientId();
    assertTrue(id > 0 && id < 1L << 53, "id " + id);
    assertChanges(id, List.of(), List.of());
    present.add(TWO);
    assertChanges(id, List.of(TWO), List.of());
    present.set(1, TWO_MOVED);
    assertChanges(id, List.of(TWO_MOVED), List.of(TWO));
    present.remove(ONE);
    assertChanges(id, List.of(), List.of(ONE));
    assertChanges(id, List.of(), List.of());
  }

  @Test
  void shouldKeepClientsApart() {
    final long one = nodes.changesFor(0).clientId();
    final long other = nodes.changesFor(0).clientId();
    assertNotEquals(one, other);
    present.add(TWO);
    assertChanges(one, List.of(TWO), List.of());
    assertChanges(other, List.of(TWO), List.of());
  }

  @Test
  void shouldTreatAnUnknownClientAsANewOne() {
    for (final long unknown : new long[] {1, nodes.unassignedId()}) {
      final ClusterNodes.Changes changes = nodes.changesFor(unknown);
      assertEquals(List.of(ONE), changes.added());
      assertNotEquals(unknown, changes.clientId());
    }
  }

  @Test
  void shouldForgetAClientAfterFiveMinutes() {
    final long id = nodes.changesFor(0).clientId();
    nowNs += TimeUnit.MINUTES.toNanos(5);
    assertChanges(id, List.of(), List.of());
    nowNs += TimeUnit.MINUTES.toNanos(5);
    assertChanges(id, List.of(), List.of());
    nowNs += TimeUnit.MINUTES.toNanos(5) + 1;
    final ClusterNodes.Changes changes = nodes.changesFor(id);
    assertEquals(List.of(ONE), changes.added());
    assertNotEquals(id, changes.clientId());
  }

  @Test
  void shouldForgetTheClientThatWasHeardOfFirstWhereThereAreVeryMany() {
    final long first = nodes.changesFor(0).clientId();
    final long second = nodes.changesFor(0).clientId();
    assertChanges(first, List.of(), List.of()); // now the second is the oldest
    for (int i = 2; i < ClusterNodes.MOST_CLIENTS; i++) {
      nodes.changesFor(0);
    }
    nodes.changesFor(0);
    assertChanges(first, List.of(), List.of());
    assertNotEquals(second, nodes.changesFor(second).clientId());
  }

  @Test
  void shouldListTheOtherAddressesOfThisNodeThatOtherNodesCanReach() {
    final NodeAddressing addressing =
        new NodeAddressing(
            FamilyAddressing.of(IpAddress.parse("192.0.2.1"), Prefix.parse("10.1.0.0/24")),
            FamilyAddressing.DISABLED);
    final List<LocalAddress> all = new ArrayList<>();
    for (final String address :
        List.of(
            "127.0.0.1", "::1", "169.254.0.1", "fe80::1", "192.0.2.1", "10.1.0.1", "10.0.0.9")) {
      all.add(new LocalAddress(IpAddress.parse(address), 24, "eth0"));
    }
    assertEquals(
        List.of(IpAddress.parse("10.0.0.9"), IpAddress.parse("10.1.0.1")),
        ClusterNode.local("blue/one", addressing, all).secondary());
  }

  /** Otherwise two new clients could get one number, or a change be reported to neither. */
  @Test
  void shouldAnswerOneClientAfterTheOther() throws Exception {
    final List<OtherThread<ClusterNodes.Changes>> others = new ArrayList<>();
    final AtomicReference<ClusterNodes> clients = new AtomicReference<>();
    clients.set(
        new ClusterNodes(
            () -> {
              if (others.isEmpty()) {
                others.add(OtherThread.call(() -> clients.get().changesFor(0)));
                assertTrue(others.getFirst().waits(), "it waits for the client before");
              }
              return present;
            },
            () -> nowNs));
    final long first = clients.get().changesFor(0).clientId();
    assertNotEquals(first, others.getFirst().result().clientId());
  }

  @Test
  void shouldSayWhereANodeIsKnownFrom() {
    assertEquals("blue/one", ONE.name());
    assertEquals(ClusterNode.LOCAL, ONE.source());
  }
}
