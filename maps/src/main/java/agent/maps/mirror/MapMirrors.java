package agent.maps.mirror;

import agent.maps.kernel.BpfMap;
import agent.maps.kernel.MapRegistry;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.EpochClock;
import org.agrona.concurrent.IdleStrategy;
import org.agrona.concurrent.SystemEpochClock;

/** The mirrors of all registered maps. */
public final class MapMirrors {
  /** What mirrors need. */
  public static final class Context {
    private MapRegistry registry;
    private EpochClock epochClock = SystemEpochClock.INSTANCE;
    private long refreshIntervalNs = TimeUnit.SECONDS.toNanos(5);
    private Path directory;

    /** The maps to mirror; needed. */
    public Context registry(MapRegistry value) {
      registry = value;
      return this;
    }

    public Context epochClock(EpochClock value) {
      epochClock = value;
      return this;
    }

    /** How old a copy of a map that programs write may be. */
    public Context refreshIntervalNs(long value) {
      refreshIntervalNs = value;
      return this;
    }

    /** Where large mirrors are files, which no other process may use; null: in memory. */
    public Context directory(Path value) {
      directory = value;
      return this;
    }
  }

  public MapMirrors(Context context) {
    throw new UnsupportedOperationException("mirrors of " + context.registry);
  }

  /** The duty cycle of {@code dp-mirror}; until it runs, reads go to the kernel. */
  public Agent agent() {
    throw new UnsupportedOperationException();
  }

  /** For the agent's runner: parks, and wakes as soon as a reader waits. */
  public IdleStrategy idleStrategy() {
    throw new UnsupportedOperationException();
  }

  /** All open maps, in the order of their names; for any thread. */
  public List<MapSummary> describe() {
    throw new UnsupportedOperationException();
  }

  /** One map; for any thread. */
  public Optional<MapSummary> describe(String name) {
    throw new UnsupportedOperationException();
  }

  /**
   * Streams the contents of one map; memory does not grow with its size. For any thread, which may
   * wait for a refresh.
   *
   * @return false where no map has the name
   */
  public boolean read(String name, MapVisitor visitor) {
    throw new UnsupportedOperationException();
  }

  /** Writes that failed and are still wanted. */
  public int unrealised() {
    throw new UnsupportedOperationException();
  }

  /**
   * Tries failed writes again, on the conductor's thread.
   *
   * @param limit of tries
   * @param onRealised hears of each map of which an entry was written or deleted
   * @return the number of writes that went through
   */
  public int reconcile(int limit, Consumer<BpfMap> onRealised) {
    throw new UnsupportedOperationException();
  }
}
