package agent.datapath.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.ModuleHealth;
import agent.conductor.ModuleHealth.Level;
import agent.conductor.Repairs.Kind;
import agent.datapath.spec.EndpointFaults.Fault;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EntryBuffer;
import agent.maps.kernel.MapCursor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Waits for what the guard of a manager reports and repairs. */
final class GuardWatch {
  /** A repair is due within this time. */
  static final Duration LIMIT = Duration.ofSeconds(10);

  /** How long a test waits that asserts no time; a round of the guard is long under emulation. */
  private static final long WITHIN_MS = 120_000;

  private final DatapathManager manager;

  GuardWatch(DatapathManager manager) {
    this.manager = manager;
  }

  ModuleHealth module() {
    return ManagerTestNode.health(manager, "dp-guard");
  }

  long repairs(Kind kind) {
    final long[] found = new long[1];
    manager.repairs().forEach((counted, number) -> found[0] += counted == kind ? number : 0);
    return found[0];
  }

  /** Waits until the endpoint has a fault, and returns it: it is reported until it is repaired. */
  Fault awaitFault(int endpointId) {
    final List<Fault> seen = new ArrayList<>();
    until(
        () -> seen.addAll(manager.endpointFaults().of(endpointId)),
        () -> "endpoint " + endpointId + " has no fault, " + module());
    return seen.getFirst();
  }

  /** Waits until this many objects were repaired. */
  void awaitRepair(Kind kind, long count) {
    until(() -> repairs(kind) >= count, () -> kind + ": " + repairs(kind) + ", " + module());
  }

  /** Deletes an entry of a map, as another tool may, and waits until it is repaired. */
  void deleteEntryAndAwaitRepair(BpfMap map) {
    final long before = repairs(Kind.MAP_ENTRY);
    deleteEntry(map);
    awaitRepair(Kind.MAP_ENTRY, before + 1);
  }

  /** Deletes an entry of a map, as another tool may. */
  static void deleteEntry(BpfMap map) {
    final EntryBuffer entry = new EntryBuffer(map);
    try (MapCursor cursor = new MapCursor()) {
      assertEquals(0, cursor.open(map));
      assertTrue(cursor.next());
      entry.key().putBytes(0, cursor.key(), 0, map.keySize());
    }
    assertEquals(0, map.delete(entry));
  }

  void awaitLevel(Level level) {
    until(() -> module().level() == level, () -> module().toString());
  }

  void awaitMessage(String part) {
    until(() -> module().message().contains(part), () -> module().toString());
  }

  /** Waits until there is no fault. */
  void awaitRight() {
    awaitLevel(Level.OK);
  }

  static void until(BooleanSupplier condition, Supplier<String> otherwise) {
    final long deadline = System.currentTimeMillis() + WITHIN_MS;
    while (!condition.getAsBoolean()) {
      assertTrue(System.currentTimeMillis() < deadline, otherwise);
      try {
        Thread.sleep(10);
      } catch (InterruptedException interrupted) {
        throw new IllegalStateException(interrupted);
      }
    }
  }
}
