package agent.endpoint.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.endpoint.state.Reachability.Status;
import agent.types.IpAddress;
import java.util.List;
import org.junit.jupiter.api.Test;

/** When a workload is asked, and what its answers say; times are small numbers. */
class ReachabilityTest {
  private static final IpAddress IPV4 = IpAddress.parse("10.5.0.9");
  private static final IpAddress IPV6 = IpAddress.parse("f00d::9");
  private static final EndpointAddressing BOTH =
      new EndpointAddressing(IPV4, null, null, IPV6, null, null);
  private static final long INTERVAL = 50;
  private static final long RETRY = 10;
  private static final long WINDOW = 30;

  private final Reachability reachability = new Reachability();

  private void ask(long nowNs) {
    reachability.asked(BOTH, nowNs, INTERVAL, RETRY);
  }

  private void assertStatus(Status status, boolean isChanged, long nowNs) {
    assertEquals(isChanged, reachability.evaluate(BOTH, nowNs, WINDOW));
    assertEquals(status, reachability.status());
  }

  @Test
  void shouldAskAgainSoonerUntilAnAnswerComes() {
    reachability.watch();
    assertTrue(reachability.isDue(100));
    ask(100);
    assertFalse(reachability.isDue(109));
    assertTrue(reachability.isDue(110));
    ask(110);
    assertFalse(reachability.isDue(119));
    reachability.answered(true, 111);
    ask(120);
    assertFalse(reachability.isDue(169));
    assertTrue(reachability.isDue(170));
    ask(170);
    assertTrue(reachability.isDue(180), "the request of before was not answered");
  }

  @Test
  void shouldAskASilentWorkloadNoMoreOften() {
    reachability.watch();
    ask(100);
    assertStatus(Status.SILENT, true, 131);
    ask(131);
    assertFalse(reachability.isDue(180));
    assertTrue(reachability.isDue(181));
  }

  @Test
  void shouldBeSilentWhenTheWindowEndsWithoutAnAnswer() {
    reachability.watch();
    assertStatus(Status.AWAITED, false, 90);
    ask(100);
    assertStatus(Status.AWAITED, false, 130);
    assertStatus(Status.SILENT, true, 131);
    assertFalse(reachability.isReached());
    assertEquals(List.of(IPV4, IPV6), reachability.silent(BOTH));
    assertStatus(Status.SILENT, false, 132);
  }

  @Test
  void shouldBeAnsweredForAWindow() {
    reachability.watch();
    ask(100);
    reachability.answered(true, 120);
    assertStatus(Status.ANSWERED, true, 150);
    assertTrue(reachability.isReached());
    assertStatus(Status.SILENT, true, 151);
  }

  @Test
  void shouldWatchAnEndpointThatHasOneFamilyAlone() {
    for (final boolean isIpv4 : new boolean[] {true, false}) {
      final IpAddress address = isIpv4 ? IPV4 : IPV6;
      final EndpointAddressing one =
          new EndpointAddressing(
              isIpv4 ? address : null, null, null, isIpv4 ? null : address, null, null);
      final Reachability alone = new Reachability();
      alone.watch();
      alone.asked(one, 100, INTERVAL, RETRY);
      alone.answered(isIpv4, 110);
      assertTrue(alone.evaluate(one, 120, WINDOW));
      assertEquals(Status.ANSWERED, alone.status());
      assertEquals(List.of(), alone.silent(one));
      assertTrue(alone.evaluate(one, 141, WINDOW));
      assertEquals(Status.SILENT, alone.status());
      assertEquals(List.of(address), alone.silent(one));
    }
  }

  /** An address that was never answered for does not count; one that was counts from then on. */
  @Test
  void shouldTellWhichAddressesAreSilent() {
    reachability.watch();
    ask(100);
    reachability.answered(true, 110);
    reachability.answered(false, 120);
    assertStatus(Status.ANSWERED, true, 140);
    assertStatus(Status.SILENT, true, 141);
    assertEquals(List.of(IPV4), reachability.silent(BOTH));
    assertStatus(Status.SILENT, false, 150);
    assertStatus(Status.SILENT, true, 151);
    assertEquals(List.of(IPV4, IPV6), reachability.silent(BOTH));
    reachability.answered(true, 152);
    assertStatus(Status.SILENT, true, 152);
    assertEquals(List.of(IPV6), reachability.silent(BOTH));
  }

  @Test
  void shouldNotTellOfAddressesThatAreAwaited() {
    reachability.watch();
    ask(100);
    reachability.answered(true, 101);
    reachability.answered(false, 101);
    reachability.restart(false);
    assertTrue(reachability.isDue(102));
    ask(110);
    assertStatus(Status.AWAITED, false, 111);
    reachability.answered(true, 112);
    assertStatus(Status.AWAITED, false, 112);
  }

  @Test
  void shouldCountTheSameAddressesAgainOnTheSameInterface() {
    reachability.watch();
    ask(100);
    reachability.answered(true, 101);
    reachability.answered(false, 101);
    assertStatus(Status.ANSWERED, true, 102);
    reachability.restart(false);
    assertEquals(Status.AWAITED, reachability.status());
    ask(103);
    assertStatus(Status.AWAITED, false, 104);
    reachability.answered(true, 104);
    assertStatus(Status.AWAITED, false, 105);
    reachability.answered(false, 105);
    assertStatus(Status.ANSWERED, true, 105);
  }

  @Test
  void shouldForgetWhichAddressesCountOnAnotherInterface() {
    reachability.watch();
    ask(100);
    reachability.answered(true, 101);
    reachability.answered(false, 101);
    reachability.restart(true);
    ask(103);
    assertStatus(Status.AWAITED, false, 104);
    reachability.answered(true, 104);
    assertStatus(Status.ANSWERED, true, 105);
  }

  @Test
  void shouldStayUnwatched() {
    reachability.restart(true);
    assertEquals(Status.UNWATCHED, reachability.status());
    assertTrue(reachability.isReached());
  }
}
