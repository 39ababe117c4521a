package agent.datapath.manager.conductor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.PolicyVerdict;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.PolicyEntryFlyweight;
import agent.maps.layout.PolicyFlag;
import agent.maps.layout.PolicyKeyFlyweight;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

/** What a value in the kernel means; it may be none that an agent writes. */
class PolicyEntryCodecTest {
  private static final int DENY = PolicyFlag.DENY.number();
  private static final int REDIRECT = PolicyFlag.REDIRECT.number();
  private static final int AUDIT = PolicyFlag.AUDIT.number();
  private static final int ALLOWS_ALL = PolicyFlag.ALLOWS_ALL.number();

  private final PolicyEntryCodec codec = new PolicyEntryCodec();
  private final UnsafeBuffer key = new UnsafeBuffer(new byte[PolicyKeyFlyweight.LENGTH]);
  private final UnsafeBuffer value = new UnsafeBuffer(new byte[PolicyEntryFlyweight.LENGTH]);

  private static PolicyEntry entry(PolicyVerdict verdict) {
    return new PolicyEntry(7, PolicyDirection.EGRESS, 6, 443, 64, verdict);
  }

  private UnsafeBuffer value(int flags, int redirect) {
    new PolicyEntryFlyweight().wrap(value, 0).clear().flags(flags).redirect(redirect);
    return value;
  }

  private PolicyVerdict verdict(int flags, int redirect) {
    key.putBytes(0, codec.encode(entry(PolicyVerdict.ALLOW.audited())).key(), 0, key.capacity());
    final PolicyEntry read = codec.decode(key, value(flags, redirect));
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
  void shouldWriteFlagsAndPort() {
    assertWritten(0, 0, entry(PolicyVerdict.ALLOW));
    assertWritten(REDIRECT, 80, entry(PolicyVerdict.redirect(80)));
    assertWritten(REDIRECT | AUDIT, 80, entry(PolicyVerdict.redirect(80).audited()));
    assertWritten(DENY, 0, entry(PolicyVerdict.DENY));
    assertWritten(ALLOWS_ALL, 0, PolicyEntry.allowAll(0, PolicyDirection.EGRESS));
    assertWritten(0, 0, PolicyEntry.allowAll(7, PolicyDirection.EGRESS));
  }

  private void assertWritten(int flags, int redirect, PolicyEntry entry) {
    assertEquals(value(flags, redirect), codec.encode(entry).value());
    assertEquals((flags & DENY) != 0, codec.isDeny(value));
    key.putBytes(0, codec.key(), 0, key.capacity());
    assertEquals(entry, codec.decode(key, value));
  }

  @Test
  void shouldReadNoEntryFromAKeyThatNoPolicyHas() {
    assertNull(decode(2, 6, 80, 64), "no such direction");
    assertNull(decode(255, 0, 0, 40), "no such direction");
    assertNull(decode(0, 6, 0, 44), "a part of the protocol");
    assertNull(decode(0, 0, 0, 32), "any direction");
    assertNull(decode(0, 6, 81, 60), "a port beyond the prefix");
    assertTrue(codec.foreign(key).startsWith("identity 7, direction 0, protocol 6, port 81, "));
    assertFalse(codec.isDeny(value));
  }

  private PolicyEntry decode(int direction, int protocol, int port, int prefixLength) {
    new PolicyKeyFlyweight()
        .wrap(key, 0)
        .identity(7)
        .direction(direction)
        .protocol(protocol)
        .port(port)
        .prefixLength(prefixLength);
    return codec.decode(key, value(0, 0));
  }
}
