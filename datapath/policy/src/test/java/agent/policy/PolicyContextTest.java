package agent.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.identity.LocalCidrIdentityAllocator;
import agent.identity.LocalIdentityAllocator;
import agent.maps.layout.MapSize;
import agent.policy.repository.PolicyStore;
import agent.policy.resolve.AllowLocalhost;
import agent.policy.resolve.EnforcementMode;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

class PolicyContextTest {
  private static PolicyContext context() {
    return new PolicyContext().identities(new LocalIdentityAllocator());
  }

  @Test
  void shouldTakeNoValueOnceItIsConcluded() {
    final PolicyContext context = context().conclude();
    final List<Consumer<PolicyContext>> setters =
        List.of(
            c -> c.identities(new LocalIdentityAllocator()),
            c -> c.cidrIdentities(new LocalCidrIdentityAllocator()),
            c -> c.store(PolicyStore.inMemory()),
            c -> c.mode(EnforcementMode.ALWAYS),
            c -> c.allowLocalhost(AllowLocalhost.ALWAYS),
            c -> c.mapCapacity(16));
    for (final Consumer<PolicyContext> setter : setters) {
      assertThrows(IllegalStateException.class, () -> setter.accept(context));
    }
    assertEquals(EnforcementMode.DEFAULT, context.mode());
    assertEquals(MapSize.POLICY_MAP_MAX_ENTRIES, context.conclude().mapCapacity());
  }

  @Test
  void shouldRefuseAMapThatCannotHoldOneEntryADirection() {
    assertThrows(IllegalArgumentException.class, () -> context().mapCapacity(1).conclude());
    assertThrows(NullPointerException.class, () -> new PolicyContext().conclude());
  }
}
