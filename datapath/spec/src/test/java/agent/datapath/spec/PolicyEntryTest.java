package agent.datapath.spec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.layout.PolicyDirection;
import agent.maps.layout.PolicyFlag;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PolicyEntryTest {
  private static PolicyEntry allow(int identity) {
    return PolicyEntry.allow(identity, PolicyDirection.INGRESS, 6, 80);
  }

  @ParameterizedTest
  @CsvSource({"0, 0, 40", "6, 0, 48", "6, 32768, 49", "6, 65535, 64", "255, 8192, 51", "0, 0, 64"})
  void shouldAcceptAPortWithinThePrefix(int protocol, int port, int prefixLength) {
    final PolicyEntry entry =
        new PolicyEntry(
            7, PolicyDirection.EGRESS, protocol, port, prefixLength, PolicyVerdict.ALLOW);
    assertEquals(
        new PolicyEntry.Key(7, PolicyDirection.EGRESS, protocol, port, prefixLength), entry.key());
  }

  @ParameterizedTest
  @CsvSource({
    "6, 0, 40",
    "0, 80, 40",
    "0, 0, 41",
    "0, 0, 39",
    "0, 0, 0",
    "6, 80, 48",
    "6, 8193, 51",
    "6, 80, 65",
    "256, 80, 64",
    "-1, 80, 64",
    "6, 65536, 64",
    "6, -1, 64"
  })
  void shouldRefuseAPrefixLengthThatDisagreesWithProtocolAndPort(
      int protocol, int port, int prefixLength) {
    assertThrows(
        IllegalArgumentException.class,
        () ->
            new PolicyEntry(
                7, PolicyDirection.EGRESS, protocol, port, prefixLength, PolicyVerdict.ALLOW));
  }

  @Test
  void shouldOrderByDirectionThenKeyThenVerdict() {
    final List<PolicyEntry> ordered =
        List.of(
            PolicyEntry.allowAll(0, PolicyDirection.INGRESS),
            allow(1),
            with(allow(1), PolicyVerdict.DENY),
            with(allow(1), PolicyVerdict.redirect(1)),
            with(allow(1), PolicyVerdict.redirect(2)),
            allow(2),
            PolicyEntry.allowAll(0, PolicyDirection.EGRESS));
    final List<PolicyEntry> shuffled = new ArrayList<>(ordered);
    Collections.reverse(shuffled);
    shuffled.sort(null);
    assertEquals(ordered, shuffled);
  }

  @Test
  void shouldChangeOnlyEntriesThatDifferBetweenTwoContents() {
    final PolicyEntry denied = with(allow(2), PolicyVerdict.DENY);
    assertEquals(
        new PolicyDelta(List.of(denied, allow(4)), List.of(allow(3))),
        PolicyDelta.between(
            List.of(allow(1), allow(2), allow(3)), List.of(allow(1), denied, allow(4))));
    assertTrue(PolicyDelta.between(List.of(allow(1)), List.of(allow(1))).isEmpty());
    assertEquals(PolicyDelta.NONE, PolicyDelta.between(List.of(), List.of()));
  }

  @Test
  void shouldTellOneChangeFromAnother() {
    final PolicyDelta change = new PolicyDelta(List.of(allow(1)), List.of(allow(2)));
    assertEquals(change, new PolicyDelta(List.of(allow(1)), List.of(allow(2))));
    assertNotEquals(change, new PolicyDelta(List.of(allow(3)), List.of(allow(2))));
    assertNotEquals(change, new PolicyDelta(List.of(allow(1)), List.of(allow(3))));
    assertNotEquals(change, allow(1));
    assertEquals(
        "PolicyDelta[upserts=[" + allow(1) + "], deletes=[" + allow(2) + "]]", change.toString());
  }

  @Test
  void shouldReturnTheFlagsAndThePortOfTheMapEntry() {
    assertEquals(new PolicyVerdict(0, 0), PolicyVerdict.ALLOW);
    assertEquals(new PolicyVerdict(PolicyFlag.DENY.number(), 0), PolicyVerdict.DENY);
    assertEquals(
        new PolicyVerdict(PolicyFlag.REDIRECT.number(), 11_000), PolicyVerdict.redirect(11_000));
    assertEquals(
        new PolicyVerdict(PolicyFlag.REDIRECT.number() | PolicyFlag.AUDIT.number(), 65_535),
        PolicyVerdict.redirect(65_535).audited());
    assertEquals(
        new PolicyVerdict(PolicyFlag.DENY.number() | PolicyFlag.AUDIT.number(), 0),
        PolicyVerdict.DENY.audited());
    assertTrue(PolicyVerdict.DENY.audited().isDeny());
    assertTrue(PolicyVerdict.DENY.audited().isAudited());
    assertTrue(PolicyVerdict.redirect(1).isRedirect());
    assertFalse(PolicyVerdict.redirect(1).isDeny());
    assertFalse(PolicyVerdict.ALLOW.isAudited());
  }

  @Test
  void shouldMarkTheEntryThatAllowsAllInItsDirection() {
    final PolicyEntry all = PolicyEntry.allowAll(0, PolicyDirection.EGRESS);
    assertEquals(PolicyFlag.ALLOWS_ALL.number(), all.flags());
    assertEquals(0, PolicyEntry.allowAll(7, PolicyDirection.EGRESS).flags());
    assertEquals(0, PolicyEntry.allow(0, PolicyDirection.EGRESS, 0, 0).flags());
    assertEquals(PolicyFlag.DENY.number(), with(all, PolicyVerdict.DENY).flags());
    assertEquals(
        PolicyFlag.AUDIT.number() | PolicyFlag.ALLOWS_ALL.number(),
        with(all, PolicyVerdict.ALLOW.audited()).flags());
  }

  @ParameterizedTest
  @CsvSource({"3, 80", "3, 0", "2, 0", "2, 65536", "2, -1", "0, 80", "1, 80", "4, 80", "8, 0"})
  void shouldRefuseContradictoryVerdicts(int flags, int redirect) {
    assertFalse(PolicyVerdict.isValid(flags, redirect));
    assertThrows(IllegalArgumentException.class, () -> new PolicyVerdict(flags, redirect));
  }

  /** An entry with the same key and another verdict. */
  private static PolicyEntry with(PolicyEntry entry, PolicyVerdict verdict) {
    final PolicyEntry.Key key = entry.key();
    return new PolicyEntry(
        key.identity(), key.direction(), key.protocol(), key.port(), key.prefixLength(), verdict);
  }
}
