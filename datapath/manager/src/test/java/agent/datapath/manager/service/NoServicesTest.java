package agent.datapath.manager.service;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.conductor.ConductorAgent;
import agent.datapath.spec.ServiceEntries;
import agent.datapath.spec.ServiceProxy;
import agent.types.IpAddress;
import agent.types.Refusal;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;

class NoServicesTest {
  private static final ServiceEntries SERVICE =
      new ServiceEntries(1, IpAddress.parse("10.96.0.1"), 80, List.of(6), 0, List.of());

  private final ConductorAgent conductor = new ConductorAgent("dp-conductor", () -> 0);
  private final ServiceProxy services = new NoServices(conductor);

  @Test
  void shouldRefuseServicesAndHaveNone() {
    assertEquals(List.of(), services.restore(List.of(SERVICE), Set.of(2)).join());
    final Refusal refusal =
        assertInstanceOf(
            Refusal.class,
            assertThrows(CompletionException.class, services.put(SERVICE)::join).getCause());
    assertEquals(Refusal.Kind.DISABLED, refusal.kind());
    assertEquals("services are disabled by --disable-orch-services", refusal.getMessage());
    assertNull(services.remove(1).join());
    assertEquals(ServiceProxy.Hooks.OFF, services.hooks());
    assertEquals(Map.of(), services.counters());
    final CompletableFuture<Void> command = services.run(() -> {});
    assertFalse(command.isDone(), "on the thread of the conductor");
    conductor.doWork();
    assertNull(command.join());
  }
}
