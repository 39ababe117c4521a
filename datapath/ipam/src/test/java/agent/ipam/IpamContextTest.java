package agent.ipam;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.types.IpAddress;
import agent.types.Prefix;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

class IpamContextTest {
  private static final IpAddress ADDRESS = IpAddress.parse("10.1.0.9");
  private static final AddressPool POOL =
      new AddressPool(AddressPool.DEFAULT, List.of(Prefix.parse("10.1.0.0/24")));

  @Test
  void shouldTakeNoValueOnceItIsConcluded() {
    final IpamContext context = new IpamContext().pool(POOL).conclude();
    final List<Consumer<IpamContext>> setters =
        List.of(
            c -> c.pool(new AddressPool("second", List.of())),
            c -> c.reserve(ADDRESS),
            c -> c.families(false, false),
            c -> c.gateways(ADDRESS, null),
            c -> c.expiration(Duration.ofSeconds(1)),
            c -> c.clock(InstantSource.system()),
            c -> c.uuids(() -> "x"),
            c -> c.store(LeaseStore.inMemory()));
    for (final Consumer<IpamContext> setter : setters) {
      assertThrows(IllegalStateException.class, () -> setter.accept(context));
    }
    assertEquals(List.of(POOL), context.conclude().pools());
    assertEquals(Set.of(), context.reserved());
    assertEquals(Duration.ofMinutes(10), context.expiration());
  }
}
