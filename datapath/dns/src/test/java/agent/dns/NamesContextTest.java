package agent.dns;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.dns.NameLookup.Source;
import agent.types.IpAddress;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class NamesContextTest {
  @Test
  void shouldRefuseWhatWouldKeepNothing() {
    assertEquals(
        "tofqdns-endpoint-max-ip-per-hostname: 0 is not between 1 and 65535",
        assertThrows(
                IllegalArgumentException.class,
                () -> new NamesContext().mostAddresses(0).conclude())
            .getMessage());
    assertThrows(
        IllegalArgumentException.class,
        () -> new NamesContext().leastTtl(Duration.ofSeconds(-1)).conclude());
    assertThrows(IllegalArgumentException.class, () -> new NamesContext().mostHeld(-1).conclude());
    assertEquals(10_384, new NamesContext().mostHeld(10_384).conclude().limits().mostHeld());
    assertThrows(
        IllegalArgumentException.class,
        () -> new NamesContext().mostHeld(10_385).conclude(),
        "more than a round of sweeps looks for");
    assertEquals(
        "store",
        assertThrows(NullPointerException.class, () -> new NamesContext().store(null).conclude())
            .getMessage());
    final NamesContext least =
        new NamesContext().mostAddresses(1).leastTtl(Duration.ZERO).conclude();
    assertEquals(1, least.limits().mostAddresses());
    assertEquals(0, least.limits().leastTtlSec());
  }

  @Test
  void shouldKeepAnAddressForAWeekAtLeastWhereNothingIsSet() {
    assertEquals(604_800, new NamesContext().conclude().limits().leastTtlSec());
  }

  @Test
  void shouldNotChangeAfterItIsConcluded() {
    final NamesContext concluded = new NamesContext().conclude();
    for (final Executable change :
        List.<Executable>of(
            () -> concluded.store(NameStore.inMemory()),
            () -> concluded.leastTtl(Duration.ZERO),
            () -> concluded.mostAddresses(1),
            () -> concluded.resolver(null),
            () -> concluded.limits(null),
            () -> concluded.mostHeld(1),
            () -> concluded.selected(name -> true),
            () -> concluded.threads(null),
            () -> concluded.pauses(NamePoller.Pauses.DEFAULT),
            () -> concluded.preloaded(List.of()),
            () -> concluded.clocks(() -> Instant.EPOCH, () -> 0))) {
      assertEquals(
          "the context of names is concluded",
          assertThrows(IllegalStateException.class, change).getMessage());
    }
  }

  @Test
  void shouldKeepWhatIsSavedWhereNoStoreIsSet() {
    final NameStore store = new NamesContext().conclude().store();
    assertEquals(List.of(), store.load());
    final NameLookup one =
        new NameLookup(
            "www.example.com.",
            List.of(IpAddress.parse("192.0.2.7")),
            5,
            Instant.EPOCH,
            Instant.EPOCH,
            Source.LOOKUP);
    store.save(List.of(one));
    assertEquals(List.of(one), store.load());
  }
}
