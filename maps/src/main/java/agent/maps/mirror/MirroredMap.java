package agent.maps.mirror;

import agent.bindings.Errno;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EntryBuffer;
import agent.maps.kernel.MapWriteListener;
import agent.maps.kernel.MirrorMode;
import java.util.concurrent.atomic.AtomicLong;
import org.agrona.DirectBuffer;

/** One registered map and what is known of its copy. Hears of writes on the conductor's thread. */
final class MirroredMap implements MapWriteListener {
  private final BpfMap map;
  private final MirrorMode mode;
  private final MirrorJournal journal;
  private final UnrealisedWrites unrealised;
  private final AtomicLong changes = new AtomicLong(1);
  private EntryBuffer retry;

  // Written by the mirror's thread.
  private volatile boolean journalled;
  private volatile long mirroredChanges;
  private volatile long refreshedNs;
  private volatile long mirroredAtMs;
  private volatile int epoch;
  private int attempts;
  private volatile long entries;
  private volatile MirrorStore store;
  private volatile boolean large;
  private volatile long largeSinceNs;

  // Written by readers.
  private volatile long lastReadNs;
  private volatile Count count;

  /** What a walk counted, and when. */
  record Count(long entries, long changes, long countedNs) {}

  MirroredMap(BpfMap map, MirrorJournal journal, UnrealisedWrites unrealised) {
    this.map = map;
    this.journal = journal;
    this.unrealised = unrealised;
    mode = map.definition().mirrorMode();
  }

  BpfMap map() {
    return map;
  }

  MirrorMode mode() {
    return mode;
  }

  @Override
  public void onUpdate(BpfMap written, DirectBuffer key, DirectBuffer value, int result) {
    if (result < 0) {
      unrealised.refused(map.serial(), key, value, -result);
      return;
    }
    unrealised.realised(map.serial(), key);
    if (!journalled || !journal.update(map.serial(), key, value)) {
      changes.incrementAndGet();
    }
  }

  @Override
  public void onDelete(BpfMap written, DirectBuffer key, int result) {
    if (result < 0 && result != -Errno.ENOENT) {
      unrealised.refused(map.serial(), key, null, -result);
      return;
    }
    unrealised.realised(map.serial(), key);
    if (!journalled || !journal.delete(map.serial(), key)) {
      changes.incrementAndGet();
    }
  }

  @Override
  public void onBulkWrite(BpfMap written) {
    changes.incrementAndGet();
  }

  @Override
  public void onStartOver(BpfMap written) {
    unrealised.forgetMap(map.serial());
  }

  /** Tries a refused write again, on the conductor's thread; 0 or a negative errno. */
  int retry(UnrealisedWrites.Write write) {
    if (retry == null) {
      retry = new EntryBuffer(map);
    }
    retry.key().putBytes(0, write.key());
    if (write.value() == null) {
      return map.delete(retry);
    }
    retry.value().putBytes(0, write.value());
    return map.update(retry, 0);
  }

  /** Counts writes that the journal does not carry. */
  long changes() {
    return changes.get();
  }

  /** Whether the copy may be shown, once the journal is drained. */
  boolean current(long nowNs, long refreshIntervalNs) {
    if (store == null || mirroredChanges == 0) {
      return false;
    }
    return mode == MirrorMode.ON_AGE
        ? nowNs - refreshedNs < refreshIntervalNs
        : mirroredChanges == changes.get();
  }

  /**
   * From here on the conductor notes every write; comes before the copying.
   *
   * @return the epoch of this copy, which no other attempt has
   */
  int beginRefresh(MirrorStore target) {
    store = target;
    journalled = mode == MirrorMode.JOURNALLED;
    return ++attempts;
  }

  void endRefresh(int newEpoch, long changesBefore, long held, long nowNs, long nowMs) {
    epoch = newEpoch;
    entries = held;
    refreshedNs = nowNs;
    mirroredAtMs = nowMs;
    mirroredChanges = changesBefore;
  }

  void addEntries(int difference) {
    entries += difference;
  }

  /** Forgets the copy. */
  void drop() {
    journalled = false;
    mirroredChanges = 0;
    store = null;
  }

  int epoch() {
    return epoch;
  }

  long entries() {
    return entries;
  }

  long mirroredAtMs() {
    return mirroredAtMs;
  }

  MirrorStore store() {
    return store;
  }

  /** The map held too much to be copied. */
  void large(long nowNs) {
    largeSinceNs = nowNs;
    large = true;
  }

  /** Whether it is not worth trying to copy the map. */
  boolean large(long nowNs, long retryNs) {
    return large && nowNs - largeSinceNs < retryNs;
  }

  long lastReadNs() {
    return lastReadNs;
  }

  void lastReadNs(long nowNs) {
    lastReadNs = nowNs;
  }

  Count count() {
    return count;
  }

  void count(Count counted) {
    count = counted;
  }
}
