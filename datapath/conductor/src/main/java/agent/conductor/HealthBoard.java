package agent.conductor;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.agrona.concurrent.EpochClock;

/**
 * The health of all modules. Every read queries the probes, so that a level ends as soon as its
 * cause ends. Thread-safe.
 */
public final class HealthBoard {
  /**
   * One reading of a module's health.
   *
   * @param level current level
   * @param message cause of the level, for operators
   */
  public record Reading(ModuleHealth.Level level, String message) {
    /** Returns a reading of level OK. */
    public static Reading ok(String message) {
      return new Reading(ModuleHealth.Level.OK, message);
    }

    /** Returns a reading of level DEGRADED. */
    public static Reading degraded(String message) {
      return new Reading(ModuleHealth.Level.DEGRADED, message);
    }

    /** Returns a reading of level STOPPED. */
    public static Reading stopped(String message) {
      return new Reading(ModuleHealth.Level.STOPPED, message);
    }
  }

  /** Reads the health of one module, on the thread that reads the board. */
  @FunctionalInterface
  public interface Probe {
    /** Returns the current health. */
    Reading read();
  }

  private static final class Module {
    final Probe probe;
    long lastOkMs;

    Module(Probe probe) {
      this.probe = probe;
    }
  }

  private final Map<String, Module> modules = new TreeMap<>();
  private final EpochClock clock;

  /** Creates a board without modules. */
  public HealthBoard(EpochClock clock) {
    this.clock = clock;
  }

  /**
   * Adds a module.
   *
   * @param moduleId stable name, unique on this board
   */
  public synchronized void add(String moduleId, Probe probe) {
    if (modules.putIfAbsent(moduleId, new Module(probe)) != null) {
      throw new IllegalStateException("module " + moduleId + " is already registered");
    }
  }

  /** Reads all modules, in the order of their names. */
  public synchronized List<ModuleHealth> read() {
    final List<ModuleHealth> read = new ArrayList<>(modules.size());
    final long nowMs = clock.time();
    modules.forEach(
        (moduleId, module) -> {
          final Reading reading = module.probe.read();
          if (reading.level() == ModuleHealth.Level.OK) {
            module.lastOkMs = nowMs;
          }
          read.add(
              new ModuleHealth(
                  moduleId, reading.level(), reading.message(), module.lastOkMs, nowMs));
        });
    return read;
  }
}
