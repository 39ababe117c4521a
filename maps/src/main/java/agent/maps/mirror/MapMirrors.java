package agent.maps.mirror;

import agent.bindings.Errno;
import agent.bindings.MapType;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.MapRegistry;
import agent.maps.kernel.MapWriteListener;
import agent.maps.kernel.MirrorMode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.EpochClock;
import org.agrona.concurrent.IdleStrategy;
import org.agrona.concurrent.NanoClock;
import org.agrona.concurrent.SystemEpochClock;
import org.agrona.concurrent.SystemNanoClock;

/**
 * What readers see of the registered maps: their copies where these are current, else the kernel's.
 * A cache of this process, never a source of truth.
 */
public final class MapMirrors implements MapRegistry.Listener {
  private static final long REFRESH_TIMEOUT_NS = TimeUnit.SECONDS.toNanos(10);
  private static final long RETRY_INTERVAL_NS = TimeUnit.SECONDS.toNanos(1);
  private static final long LARGE_RETRY_INTERVAL_NS = TimeUnit.SECONDS.toNanos(60);
  private static final int POOLED_READINGS = 4;

  private final Context context;
  private final Map<Integer, MirroredMap> mirrors = new ConcurrentHashMap<>();
  private final UnrealisedWrites unrealised = new UnrealisedWrites();
  private final MirrorIdleStrategy idleStrategy = new MirrorIdleStrategy();
  private final BlockingQueue<MapReading> readings = new ArrayBlockingQueue<>(POOLED_READINGS);
  private final MirrorJournal journal;
  private final MirrorAgent agent;
  private long retriedNs; // of the conductor's thread

  /** Follows the registry of the context from here on; maps that it has already are taken in. */
  public MapMirrors(Context context) {
    this.context = context.conclude();
    retriedNs = context.nanoTime() - RETRY_INTERVAL_NS;
    journal = new MirrorJournal(context.journalBytes);
    agent = new MirrorAgent(context, mirrors, journal);
    context.registry.addListener(this);
    context.registry.snapshot().forEach(this::onMapAdded);
  }

  /**
   * The duty cycle of {@code dp-mirror}. Its store is opened after the first read, which takes
   * seconds; until then, and where no one runs it, reads go to the kernel.
   */
  public Agent agent() {
    return agent;
  }

  /** For the agent's runner: parks, and wakes as soon as a reader waits. */
  public IdleStrategy idleStrategy() {
    return idleStrategy;
  }

  @Override
  public void onMapAdded(BpfMap map) {
    final MirroredMap mirror = new MirroredMap(map, journal, unrealised);
    if (mirrors.putIfAbsent(map.serial(), mirror) == null) {
      map.writeListener(mirror);
    }
  }

  @Override
  public void onMapRemoved(BpfMap map) {
    map.writeListener(MapWriteListener.NONE);
    final MirroredMap mirror = mirrors.remove(map.serial());
    if (mirror != null) {
      unrealised.forgetMap(map.serial());
      agent.submit(MirrorRequest.drop(mirror));
    }
  }

  /** All open maps, in the order of their names; for any thread. */
  public List<MapSummary> describe() {
    final List<MapSummary> summaries = new ArrayList<>();
    for (final BpfMap map : context.registry.snapshot()) {
      summaries.add(summary(map));
    }
    return summaries;
  }

  /** One map; for any thread. */
  public Optional<MapSummary> describe(String name) {
    return context.registry.find(name).map(this::summary);
  }

  private MapSummary summary(BpfMap map) {
    final MirroredMap mirror = mirrors.get(map.serial());
    return summary(map, mirror == null ? map.countEntries() : entries(mirror));
  }

  private static MapSummary summary(BpfMap map, long entries) {
    return new MapSummary(
        map.pinPath(),
        map.name(),
        MapType.name(map.description().type()),
        map.keySize(),
        map.valueSize(),
        map.maxEntries(),
        entries,
        map.description().flags(),
        (double) entries / Math.max(1, map.maxEntries()));
  }

  private long entries(MirroredMap mirror) {
    final long nowNs = context.nanoTime();
    final boolean noted = journal.consumerPosition() >= journal.producerPosition();
    if (noted && mirror.current(nowNs, context.refreshIntervalNs)) {
      return mirror.entries();
    }
    final long changes = mirror.changes();
    final MirroredMap.Count last = mirror.count();
    if (last != null
        && last.changes() == changes
        && nowNs - last.countedNs() < context.refreshIntervalNs
        && mirror.mode() != MirrorMode.JOURNALLED) {
      return last.entries();
    }
    final long counted = mirror.map().countEntries();
    mirror.count(new MirroredMap.Count(counted, changes, nowNs));
    return counted;
  }

  /**
   * Streams the contents of one map; memory does not grow with its size. For any thread, which may
   * wait for a refresh.
   *
   * @return false where no map has the name, or it went away before the first entry
   */
  public boolean read(String name, MapVisitor visitor) {
    final Optional<BpfMap> found = context.registry.find(name);
    if (found.isEmpty() || !found.get().retain()) {
      return false;
    }
    final BpfMap map = found.get();
    final MapReading pooled = readings.poll();
    final MapReading reading = pooled == null ? new MapReading() : pooled;
    try {
      reading.begin(map, unrealised.ofMap(map.serial()), visitor);
      final MirroredMap mirror = mirrors.get(map.serial());
      if (mirror == null || !readCopy(mirror, reading, visitor)) {
        visitor.onMap(summary(map), context.epochMs());
        reading.fromKernel(map);
      }
      return true;
    } finally {
      map.release();
      readings.offer(reading); // where the pool is full it is garbage
    }
  }

  private boolean readCopy(MirroredMap mirror, MapReading reading, MapVisitor visitor) {
    if (mirror.mode() == MirrorMode.DIRECT
        || mirror.large(context.nanoTime(), LARGE_RETRY_INTERVAL_NS)) {
      return false;
    }
    if (!agent.open()) {
      agent.want();
      idleStrategy.wakeUp();
      return false;
    }
    mirror.lastReadNs(context.nanoTime());
    final MirrorRequest request = MirrorRequest.refresh(mirror);
    agent.submit(request);
    idleStrategy.wakeUp();
    if (!request.await(REFRESH_TIMEOUT_NS)) {
      return false;
    }
    final MirrorStore store = mirror.store();
    if (store == null || !store.retain()) {
      return false;
    }
    try {
      final long mirroredAtMs =
          mirror.mode() == MirrorMode.ON_AGE ? mirror.mirroredAtMs() : context.epochMs();
      visitor.onMap(summary(mirror.map(), mirror.entries()), mirroredAtMs);
      reading.fromStore(mirror.map(), store, mirror.epoch());
      return true;
    } finally {
      store.release();
    }
  }

  /** Writes that were refused and are still wanted. */
  public int unrealised() {
    return unrealised.size();
  }

  /**
   * Tries refused writes again of maps that {@linkplain BpfMap#retriesRefused() allow it}, on the
   * conductor's thread: of each map in the order of the writes, up to its first one that is refused
   * again. Does nothing within a second of the last tries.
   *
   * @param limit of tries
   * @param onRealised hears of each map of which an entry was written or deleted, once an entry
   * @return the number of writes that went through
   */
  public int reconcile(int limit, Consumer<BpfMap> onRealised) {
    final long nowNs = context.nanoTime();
    if (unrealised.size() == 0 || nowNs - retriedNs < RETRY_INTERVAL_NS) {
      return 0;
    }
    retriedNs = nowNs;
    int realised = 0;
    int tries = 0;
    final Set<Integer> refusedAgain = new HashSet<>();
    for (final UnrealisedWrites.Write write : unrealised.all()) {
      final MirroredMap mirror = mirrors.get(write.serial());
      if (mirror == null) {
        unrealised.forgetMap(write.serial());
      } else if (mirror.map().retriesRefused() && !refusedAgain.contains(write.serial())) {
        if (tries++ == limit) {
          break;
        }
        final int result = mirror.retry(write);
        if (result == 0 || result == -Errno.ENOENT && write.value() == null) {
          realised++;
          onRealised.accept(mirror.map());
        } else {
          refusedAgain.add(write.serial());
        }
      }
    }
    return realised;
  }

  /** What mirrors need. */
  public static final class Context {
    private static final int MIN_JOURNAL_BYTES = 1 << 12;

    private MapRegistry registry;
    private EpochClock epochClock = SystemEpochClock.INSTANCE;
    private NanoClock nanoClock = SystemNanoClock.INSTANCE;
    private long refreshIntervalNs = TimeUnit.SECONDS.toNanos(5);
    private Path directory;
    private int journalBytes = 1 << 20;
    private long sharedEntries = 1 << 17;

    private Context conclude() {
      Objects.requireNonNull(registry, "mirrors: no registry");
      if (refreshIntervalNs < 0) {
        throw new IllegalArgumentException("mirrors: refresh interval " + refreshIntervalNs);
      }
      if (journalBytes < MIN_JOURNAL_BYTES || Integer.bitCount(journalBytes) != 1) {
        throw new IllegalArgumentException("mirrors: journal of " + journalBytes + " bytes");
      }
      return this;
    }

    /** The maps to mirror; needed. */
    public Context registry(MapRegistry value) {
      registry = value;
      return this;
    }

    public Context epochClock(EpochClock value) {
      epochClock = value;
      return this;
    }

    public Context nanoClock(NanoClock value) {
      nanoClock = value;
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

    /** Room for writes that the mirror's thread has not seen yet; a power of two. */
    public Context journalBytes(int value) {
      journalBytes = value;
      return this;
    }

    /** Entries of all journalled maps together for which the store is made; it grows to 4 times. */
    public Context sharedEntries(long value) {
      sharedEntries = value;
      return this;
    }

    long nanoTime() {
      return nanoClock.nanoTime();
    }

    long epochMs() {
      return epochClock.time();
    }

    long refreshIntervalNs() {
      return refreshIntervalNs;
    }

    Path directory() {
      return directory;
    }

    long sharedEntries() {
      return sharedEntries;
    }
  }
}
