package agent.maps.mirror;

import agent.maps.kernel.BpfMap;
import agent.maps.kernel.MapRegistry;
import agent.maps.kernel.MapWriteListener;
import agent.maps.mirror.MapVisitor.MapSummary;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.EpochClock;
import org.agrona.concurrent.NanoClock;

/**
 * Reads the registered maps for the API. A map that the agent writes has a mirror, a copy in this
 * process, from which reads are answered while it is current. Otherwise, and for all other maps,
 * reads go to the kernel. Mirrors are caches and never the source of truth.
 */
public final class MapMirrors implements MapRegistry.Listener {
  private static final long COUNT_AGE_NS = TimeUnit.SECONDS.toNanos(5);
  private static final int POOLED_READINGS = 4;

  /** A cached count of entries and its time, so that not every reader walks a large map. */
  private record Count(long entries, long changes, long ringEnd, long countedNs) {}

  private final MapRegistry registry;
  private final RefusedWrites refused;
  private final EpochClock epochClock;
  private final NanoClock nanoClock;
  private final Map<Integer, MirroredMap> mirrors = new ConcurrentHashMap<>();
  private final Map<Integer, Count> counts = new ConcurrentHashMap<>();
  private final BlockingQueue<MapReading> readings = new ArrayBlockingQueue<>(POOLED_READINGS);
  private final WriteRing ring = new WriteRing();
  private final MirrorAgent agent;

  /**
   * Adds the maps of the registry and follows its changes.
   *
   * @param refused what the maps do not hold as they are to
   */
  public MapMirrors(
      MapRegistry registry, RefusedWrites refused, EpochClock epochClock, NanoClock nanoClock) {
    this.registry = registry;
    this.refused = refused;
    this.epochClock = epochClock;
    this.nanoClock = nanoClock;
    agent = new MirrorAgent(nanoClock, ring);
    registry.addListener(this);
    registry.snapshot().forEach(this::onMapAdded);
  }

  /**
   * Returns the agent of {@code dp-mirror}; an idle strategy of about 50 ms is sufficient. It opens
   * the store after the first read, which takes seconds. Until then, or if no thread runs the
   * agent, reads go to the kernel.
   */
  public Agent agent() {
    return agent;
  }

  @Override
  public void onMapAdded(BpfMap map) {
    final MirroredMap mirror = new MirroredMap(map, ring, nanoClock.nanoTime());
    if (mirrors.putIfAbsent(map.serial(), mirror) == null) {
      map.writeListener(mirror);
    }
  }

  @Override
  public void onMapRemoved(BpfMap map) {
    map.writeListener(MapWriteListener.NONE);
    final MirroredMap mirror = mirrors.remove(map.serial());
    counts.remove(map.serial());
    if (mirror != null) {
      mirror.remove();
      clear(mirror);
    }
  }

  private void clear(MirroredMap mirror) {
    if (agent.store() != null && mirror.wantsClearing()) {
      agent.submit(mirror);
    }
  }

  /**
   * Returns all open maps in the order of their names; any thread may call it.
   *
   * @throws agent.maps.kernel.BpfMapException if the entries of a map cannot be counted
   */
  public List<MapSummary> describe() {
    return registry.snapshot().stream().map(this::summary).toList();
  }

  private MapSummary summary(BpfMap map) {
    return MapSummary.of(map, entries(map));
  }

  private long entries(BpfMap map) {
    final MirroredMap mirror = mirrors.get(map.serial());
    if (mirror == null) {
      return map.countEntries();
    }
    if (mirror.isCurrent()) {
      return mirror.entries();
    }
    final long nowNs = nanoClock.nanoTime();
    final long changes = mirror.changes();
    final long ringEnd = map.definition().hasMirror() ? ring.end() : 0;
    final Count last = counts.get(map.serial());
    if (last != null
        && last.changes() == changes
        && last.ringEnd() == ringEnd
        && nowNs - last.countedNs() < COUNT_AGE_NS) {
      return last.entries();
    }
    final long counted = map.countEntries();
    counts.put(map.serial(), new Count(counted, changes, ringEnd, nowNs));
    return counted;
  }

  /**
   * Streams the contents of one map to the visitor in bounded memory and without waiting for other
   * threads. Any thread may call it.
   *
   * @return false if no map has the name, or if it was closed before the first entry
   * @throws agent.maps.kernel.BpfMapException if the walk ended before the last entry
   */
  public boolean read(String name, MapVisitor visitor) {
    final Optional<BpfMap> found = registry.find(name);
    if (found.isEmpty() || !found.get().retain()) {
      return false;
    }
    final BpfMap map = found.get();
    final MapReading pooled = readings.poll();
    final MapReading reading = pooled == null ? new MapReading() : pooled;
    try {
      reading.begin(map, refused.of(name), visitor);
      if (!readCopy(map, reading, visitor)) {
        visitor.onMap(summary(map), epochClock.time());
        reading.fromKernel(map);
      }
      return true;
    } finally {
      map.release();
      readings.offer(reading); // a full pool rejects it
    }
  }

  private boolean readCopy(BpfMap map, MapReading reading, MapVisitor visitor) {
    final MirroredMap mirror = map.definition().hasMirror() ? mirrors.get(map.serial()) : null;
    if (mirror == null) {
      return false;
    }
    if (!mirror.beginReading()) {
      if (mirror.wantsCopy(nanoClock.nanoTime())) {
        agent.submit(mirror);
      }
      return false;
    }
    try {
      final MirrorStore store = agent.store();
      if (store == null || !store.retain()) {
        return false;
      }
      try {
        visitor.onMap(summary(map), epochClock.time());
        reading.fromStore(map, store);
        return true;
      } finally {
        store.release();
      }
    } finally {
      mirror.endReading();
      clear(mirror);
    }
  }
}
