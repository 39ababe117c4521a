package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.PolicyDelta;
import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.PolicyMapProxy.PolicyChange;
import agent.datapath.spec.PolicyVerdict;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.GenerationArray;
import agent.maps.kernel.MapWriteListener;
import agent.maps.kernel.PolicyMap;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.PolicyKeyFlyweight;
import agent.testkit.KernelTest;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Changes of several policy maps in one call: what is written when, and what the maps hold. */
@KernelTest
class PolicyRoundsKernelTest {
  private static final int TCP = 6;
  private static final int FIRST = 9;
  private static final int SECOND = 10;
  private static final int THIRD = 11;
  private static final int IDENTITY = 1001;
  private static final int CAPACITY = 16_384;

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

  private static PolicyEntry in(int identity) {
    return PolicyEntry.allow(identity, PolicyDirection.INGRESS, TCP, 80);
  }

  private static PolicyEntry out(int identity) {
    return PolicyEntry.allow(identity, PolicyDirection.EGRESS, TCP, 80);
  }

  private static PolicyEntry denied(PolicyEntry entry) {
    return new PolicyEntry(
        entry.identity(),
        entry.direction(),
        entry.protocol(),
        entry.port(),
        entry.prefixLength(),
        PolicyVerdict.DENY);
  }

  private void hold(int id, int identity, List<PolicyEntry> entries) {
    await(manager.policyMaps().synchronize(id, identity, entries));
  }

  private void assertHolds(int id, int identity, List<PolicyEntry> entries) {
    assertEquals(PolicyDelta.NONE, await(manager.policyMaps().synchronize(id, identity, entries)));
  }

  private static PolicyChange change(
      int id, int identity, List<PolicyEntry> before, List<PolicyEntry> after) {
    return new PolicyChange(id, identity, PolicyDelta.between(before, after));
  }

  private Map<Integer, RuntimeException> apply(PolicyChange... changes) {
    return await(manager.policyMaps().apply(List.of(changes)));
  }

  private BpfMap map(String name) {
    return manager.maps().find(name).orElseThrow();
  }

  private boolean holds(String name, PolicyEntry entry) {
    return manager
        .maps()
        .find(name)
        .map(PolicyMap::new)
        .filter(
            policy ->
                policy.lookup(
                        entry.identity(),
                        entry.direction().number(),
                        entry.protocol(),
                        entry.port(),
                        entry.prefixLength())
                    == 0)
        .isPresent();
  }

  private List<String> policyMaps() {
    return node.pins().stream()
        .filter(pin -> pin.startsWith("agent/maps/policy_"))
        .map(pin -> pin.substring("agent/maps/".length()))
        .toList();
  }

  /** Records the writes to a policy map and to the slots. */
  private void record(List<String> writes, String... names) {
    for (final String name : names) {
      map(name).writeListener(new Recorder(writes));
    }
    map("policies").writeListener(new Recorder(writes));
  }

  @Test
  void shouldCloseAllMapsAndWaitForTheProgramsBeforeItOpensOne() {
    final List<PolicyEntry> senderAfter = List.of(out(2));
    final List<PolicyEntry> receiverBefore = List.of(in(1), in(7));
    final List<PolicyEntry> receiverAfter = List.of(in(7), in(8));
    hold(FIRST, 0, List.of());
    hold(SECOND, 0, receiverBefore);
    final List<String> writes = new ArrayList<>();
    record(writes, "policy_00009", "policy_00010");
    final GenerationArray generations = new GenerationArray(map("generations"));
    final long before = generations.get(SECOND);
    map("policy_00009")
        .writeListener(
            new Recorder(writes) {
              @Override
              public void onUpdate(BpfMap map, DirectBuffer key, DirectBuffer value, int result) {
                super.onUpdate(map, key, value, result);
                writes.add("generation +" + (generations.get(SECOND) - before));
              }
            });
    assertEquals(
        Map.of(),
        apply(
            change(FIRST, 0, List.of(), senderAfter),
            change(SECOND, 0, receiverBefore, receiverAfter)));
    assertEquals(
        List.of(
            "policy_00010 delete 1",
            "policies",
            "policy_00009 update 2",
            "generation +1",
            "policy_00010 update 8"),
        writes);
    generations.close();
    assertHolds(FIRST, 0, senderAfter);
    assertHolds(SECOND, 0, receiverAfter);
  }

  @Test
  void shouldWriteOneDirectionAndSingleMapsInOneRound() {
    final List<PolicyEntry> before = List.of(in(1), out(1));
    final List<PolicyEntry> after = List.of(in(2), out(2));
    hold(FIRST, 0, before);
    hold(SECOND, 0, List.of(in(1)));
    final List<String> writes = new ArrayList<>();
    record(writes, "policy_00009", "policy_00010");
    assertEquals(Map.of(), apply(change(FIRST, 0, before, after)));
    assertEquals(
        Map.of(),
        apply(
            change(FIRST, 0, after, List.of(in(3), out(2))),
            change(SECOND, 0, List.of(in(1)), List.of(in(3)))));
    assertTrue(writes.stream().noneMatch("policies"::equals), writes.toString());
    assertHolds(FIRST, 0, List.of(in(3), out(2)));
    assertHolds(SECOND, 0, List.of(in(3)));
  }

  /** The entry of the identity may be read before the change, that of any identity after it. */
  @Test
  void shouldWaitForTheProgramsWhereTwoEntriesOfOneMapAreTorn() {
    final PolicyEntry wide =
        new PolicyEntry(1, PolicyDirection.INGRESS, TCP, 0, 48, PolicyVerdict.ALLOW);
    final List<PolicyEntry> before = List.of(wide, denied(in(0)));
    final List<PolicyEntry> after = List.of(denied(in(1)), in(0));
    hold(FIRST, 0, before);
    final List<String> writes = new ArrayList<>();
    record(writes, "policy_00009");
    assertEquals(Map.of(), apply(change(FIRST, 0, before, after)));
    assertEquals(
        List.of(
            "policy_00009 update 1", "policy_00009 delete 1", "policies", "policy_00009 update 0"),
        writes);
  }

  @Test
  void shouldChangeASharedMapInTwoRounds() {
    final List<PolicyEntry> before = List.of(in(1));
    final List<PolicyEntry> after = List.of(out(1));
    hold(FIRST, IDENTITY, before);
    hold(SECOND, IDENTITY, before);
    final List<String> writes = new ArrayList<>();
    record(writes, "policy_00009");
    assertEquals(
        Map.of(),
        apply(change(FIRST, IDENTITY, before, after), change(SECOND, IDENTITY, before, after)));
    assertEquals(List.of("policy_00009 delete 1", "policies", "policy_00009 update 1"), writes);
    assertEquals(List.of("policy_00009"), policyMaps());
    assertHolds(SECOND, IDENTITY, after);
  }

  /** Two of three leave a shared map by way of maps of their own, and share one afterwards. */
  @Test
  void shouldChangeSomeEndpointsOfASharedMapInTwoRounds() {
    final List<PolicyEntry> before = List.of(in(1), in(2));
    final List<PolicyEntry> after = List.of(in(2), out(1));
    hold(FIRST, IDENTITY, before);
    hold(SECOND, IDENTITY, before);
    hold(THIRD, IDENTITY, before);
    final boolean[] isOpened = new boolean[1];
    map("policies")
        .writeListener(
            new Recorder(new ArrayList<>()) {
              @Override
              public void onUpdate(BpfMap map, DirectBuffer key, DirectBuffer value, int result) {
                isOpened[0] |= holds("policy_00010", out(1));
              }
            });
    assertEquals(
        Map.of(),
        apply(change(SECOND, IDENTITY, before, after), change(THIRD, IDENTITY, before, after)));
    assertFalse(isOpened[0], "a map opened before the wait for the programs");
    assertEquals(2, policyMaps().size(), policyMaps().toString());
    assertHolds(FIRST, IDENTITY, before);
    assertHolds(SECOND, IDENTITY, after);
    assertHolds(THIRD, IDENTITY, after);
  }

  @Test
  void shouldReplaceTheContentOfAMapThatHasNoRoomForBoth() {
    final List<PolicyEntry> before = new ArrayList<>(List.of(denied(in(99_999))));
    final List<PolicyEntry> after = new ArrayList<>(before);
    for (int i = 1; i < CAPACITY; i++) {
      before.add(in(i));
      after.add(out(i));
    }
    hold(FIRST, 0, before);
    assertEquals(Map.of(), apply(change(FIRST, 0, before, after)));
    assertHolds(FIRST, 0, after);
    hold(FIRST, 0, before);
    assertHolds(FIRST, 0, before);
  }

  /** Each of 200 identities would need each of 200 ports: the map is closed for the moment. */
  @Test
  void shouldCloseAMapThatHasNoRoomForWhatBothPoliciesAllow() {
    final List<PolicyEntry> before = new ArrayList<>();
    final List<PolicyEntry> after = new ArrayList<>();
    for (int i = 1; i <= 200; i++) {
      before.add(PolicyEntry.allow(0, PolicyDirection.INGRESS, TCP, i));
      after.add(PolicyEntry.allowAll(i, PolicyDirection.INGRESS));
    }
    hold(FIRST, 0, before);
    final List<String> writes = new ArrayList<>();
    record(writes, "policy_00009");
    assertEquals(Map.of(), apply(change(FIRST, 0, before, after)));
    assertEquals(401, writes.size());
    assertEquals("policy_00009 delete 0", writes.get(199));
    assertEquals("policies", writes.get(200));
    assertHolds(FIRST, 0, after);
    hold(FIRST, 0, before);
    assertHolds(FIRST, 0, before);
  }

  @Test
  void shouldNotOpenAMapThatRefusedToClose() {
    final List<PolicyEntry> before = new ArrayList<>(List.of(in(1), in(2), out(3)));
    for (int i = before.size(); i < CAPACITY; i++) {
      before.add(PolicyEntry.allow(i, PolicyDirection.EGRESS, 17, 53));
    }
    final List<PolicyEntry> after = new ArrayList<>(before);
    after.removeAll(List.of(in(1), in(2), before.getLast()));
    after.addAll(List.of(denied(in(1)), out(4), denied(in(9))));
    hold(FIRST, 0, List.of());
    hold(SECOND, 0, before);
    // After this failure the size of the map is not known.
    final PolicyDelta refused = new PolicyDelta(List.of(denied(in(99_999))), List.of());
    assertEquals(1, apply(new PolicyChange(SECOND, 0, refused)).size());
    final Map<Integer, RuntimeException> failures =
        apply(change(FIRST, 0, List.of(), List.of(out(5))), change(SECOND, 0, before, after));
    assertEquals(List.of(SECOND), List.copyOf(failures.keySet()));
    assertTrue(failures.get(SECOND).getMessage().contains("ENOSPC"), failures.toString());
    final PolicyMap policy = new PolicyMap(map("policy_00010"));
    assertTrue(policy.lookup(2, 0, TCP, 80, 64) < 0, "it closes as far as it can");
    assertTrue(policy.lookup(4, 1, TCP, 80, 64) < 0, "it does not open");
    assertHolds(FIRST, 0, List.of(out(5)));
    hold(SECOND, 0, after);
    assertHolds(SECOND, 0, after);
  }

  /** A run that ended between the two rounds: the next one brings the maps to the new policy. */
  @Test
  void shouldEndWithTheNewPolicyWhereTheFirstRoundWasTheLastOfARun() {
    final List<PolicyEntry> before = List.of(in(0), out(2));
    final List<PolicyEntry> after =
        List.of(PolicyEntry.allowAll(5, PolicyDirection.INGRESS), out(2), out(3));
    hold(FIRST, 0, before);
    final PolicyDelta delta = PolicyDelta.between(before, after);
    assertEquals(Map.of(), apply(new PolicyChange(FIRST, 0, delta.closing())));
    manager.close();
    manager = node.launch(node.context());
    assertEquals(
        new java.util.HashSet<>(delta.opening().upserts()),
        new java.util.HashSet<>(
            await(manager.policyMaps().synchronize(FIRST, 0, after)).upserts()));
    assertHolds(FIRST, 0, after);
  }

  /** This run has not read the maps: what they gain is added to what the former run has left. */
  @Test
  void shouldAddToTheEntriesOfAFormerRunThatWereNotReadYet() {
    final PolicyEntry kept = PolicyEntry.allowAll(7, PolicyDirection.INGRESS);
    hold(FIRST, 0, List.of(in(1), kept));
    hold(SECOND, 0, List.of(out(7)));
    manager.close();
    manager = node.launch(node.context());
    final List<PolicyEntry> closed = List.of(denied(in(8)), in(2));
    final List<PolicyEntry> opened = List.of(out(7), out(9));
    assertEquals(
        Map.of(), apply(change(FIRST, 0, List.of(), closed), change(SECOND, 0, List.of(), opened)));
    assertTrue(holds("policy_00009", in(2)) && holds("policy_00010", out(9)));
    assertHolds(FIRST, 0, List.of(in(1), kept, in(2), denied(in(8))));
    assertHolds(SECOND, 0, opened);
  }

  private static class Recorder implements MapWriteListener {
    private final List<String> writes;

    Recorder(List<String> writes) {
      this.writes = writes;
    }

    @Override
    public void onUpdate(BpfMap map, DirectBuffer key, DirectBuffer value, int result) {
      writes.add(isSlot(map) ? map.name() : map.name() + " update " + of(key));
    }

    @Override
    public void onDelete(BpfMap map, DirectBuffer key, int result) {
      writes.add(map.name() + " delete" + (isSlot(map) ? "" : " " + of(key)));
    }

    @Override
    public void onBulkWrite(BpfMap map) {
      writes.add(map.name() + " bulk");
    }

    private static boolean isSlot(BpfMap map) {
      return map.name().equals("policies");
    }

    private static int of(DirectBuffer key) {
      final byte[] bytes = new byte[key.capacity()];
      key.getBytes(0, bytes);
      return new PolicyKeyFlyweight().wrap(new UnsafeBuffer(bytes), 0).identity();
    }
  }
}
