package agent.datapath.manager;

import agent.datapath.manager.spec.ModuleHealth;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import org.agrona.concurrent.EpochClock;

/** The health of each part, told by the parts and read by any thread. */
public final class HealthBoard {
  private static final long FORGOTTEN_MS = 60_000;

  private final Map<String, ModuleHealth> modules = new ConcurrentSkipListMap<>();
  private final EpochClock clock;

  /** An empty board. */
  public HealthBoard(EpochClock clock) {
    this.clock = clock;
  }

  /** The part works. */
  public void ok(String moduleId, String message) {
    final long now = clock.time();
    modules.put(moduleId, new ModuleHealth(moduleId, ModuleHealth.Level.OK, message, now, now));
  }

  /** The part works in part, or failed and will try again. */
  public void degraded(String moduleId, String message) {
    put(moduleId, ModuleHealth.Level.DEGRADED, message);
  }

  /** The part has ended. */
  public void stopped(String moduleId, String message) {
    put(moduleId, ModuleHealth.Level.STOPPED, message);
  }

  /** All parts, by name; a failure that did not come again for a minute is over. */
  public List<ModuleHealth> modules() {
    final long now = clock.time();
    for (final ModuleHealth module : modules.values()) {
      if (module.level() == ModuleHealth.Level.DEGRADED
          && now - module.lastUpdatedMs() > FORGOTTEN_MS) {
        ok(module.moduleId(), "well again after: " + module.message());
      }
    }
    return List.copyOf(modules.values());
  }

  private void put(String moduleId, ModuleHealth.Level level, String message) {
    final long now = clock.time();
    final ModuleHealth before = modules.get(moduleId);
    modules.put(
        moduleId,
        new ModuleHealth(moduleId, level, message, before == null ? 0 : before.lastOkMs(), now));
  }
}
