package agent.datapath.manager.conductor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.manager.conductor.PolicyWriter.Stored;
import agent.datapath.manager.spec.PolicyEntry;
import agent.datapath.manager.spec.PolicyVerdict;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.PolicyFlag;
import org.junit.jupiter.api.Test;

/** What a value in the kernel means; it may be none that an agent writes. */
class PolicyWriterTest {
  private static final int DENY = PolicyFlag.DENY.number();
  private static final int REDIRECT = PolicyFlag.REDIRECT.number();
  private static final int AUDIT = PolicyFlag.AUDIT.number();
  private static final int ALLOWS_ALL = PolicyFlag.ALLOWS_ALL.number();

  private static PolicyEntry entry(PolicyVerdict verdict) {
    return new PolicyEntry(7, PolicyDirection.EGRESS, 6, 443, 64, verdict);
  }

  private static PolicyVerdict verdict(int flags, int redirect) {
    final PolicyEntry read =
        new Stored(flags, redirect).entry(entry(PolicyVerdict.ALLOW.audited()).key());
    assertEquals(entry(read.verdict()), read, "the key is that of the map");
    return read.verdict();
  }

  @Test
  void shouldReadTheVerdictOfAnEntryOfTheAgent() {
    assertEquals(PolicyVerdict.ALLOW, verdict(0, 0));
    assertEquals(PolicyVerdict.ALLOW, verdict(ALLOWS_ALL, 0));
    assertEquals(PolicyVerdict.DENY.audited(), verdict(DENY | AUDIT, 0));
    assertEquals(PolicyVerdict.redirect(80), verdict(REDIRECT, 80));
  }

  @Test
  void shouldDenyWhatHasTheFlagAndAllowTheRestWhereAValueContradictsItself() {
    assertEquals(PolicyVerdict.DENY, verdict(DENY | REDIRECT, 80));
    assertEquals(PolicyVerdict.DENY, verdict(DENY, 80));
    assertEquals(PolicyVerdict.ALLOW, verdict(REDIRECT, 0));
    assertEquals(PolicyVerdict.ALLOW, verdict(0, 80));
    assertEquals(PolicyVerdict.ALLOW, verdict(1 << 7, 0));
  }

  @Test
  void shouldMatchOnlyWithTheSameFlagsAndPort() {
    assertTrue(new Stored(0, 0).matches(entry(PolicyVerdict.ALLOW)));
    assertTrue(new Stored(REDIRECT, 80).matches(entry(PolicyVerdict.redirect(80))));
    assertFalse(new Stored(REDIRECT, 81).matches(entry(PolicyVerdict.redirect(80))));
    assertFalse(new Stored(REDIRECT | AUDIT, 80).matches(entry(PolicyVerdict.redirect(80))));
    assertFalse(new Stored(ALLOWS_ALL, 0).matches(entry(PolicyVerdict.ALLOW)));
    assertTrue(new Stored(ALLOWS_ALL, 0).matches(PolicyEntry.allowAll(0, PolicyDirection.EGRESS)));
  }
}
