package agent.datapath.manager.guard;

import agent.bindings.Errno;
import agent.bindings.MapFlag;
import agent.bindings.MapType;
import agent.conductor.Repairs;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EntryBuffer;
import agent.maps.kernel.MapCursor;
import org.agrona.MutableDirectBuffer;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Compares the entries of one map with the desired ones in slices of one batch, and repairs each
 * difference in the slice that finds it: deletes entries that are not desired, and writes those
 * that are missing or have another value. What the agent writes itself between two slices is no
 * difference, since a batch is compared in the slice that reads it. Reports, counts and logs what
 * it repairs; a fault ends with the first comparison that finds no difference. Reused for many
 * maps. For the conductor's thread.
 */
public final class EntryComparison {
  private static final Logger LOGGER = LogManager.getLogger(EntryComparison.class);

  /** A batch of a trie of 16,000 prefixes takes about 50 microseconds. */
  private static final int BATCH = 64;

  private static final int ENTRIES_PER_STEP = 4096;

  private final KernelFaults faults;
  private final Repairs repairs;
  private final MapCursor cursor = new MapCursor(BATCH);
  private GuardedMap guarded;
  private BpfMap map;
  private DesiredEntries desired;
  private EntryBuffer entry;
  private boolean isWalked;
  private int nextEntry;
  private int missing;
  private int notDesired;
  private int otherValue;
  private String first;
  private String failure;

  /** Creates a comparison that compares no map yet. */
  public EntryComparison(KernelFaults faults, Repairs repairs) {
    this.faults = faults;
    this.repairs = repairs;
  }

  /** Returns the map that is compared now, or null. */
  public GuardedMap guarded() {
    return guarded;
  }

  /** Begins to compare a map. */
  public void begin(GuardedMap compared) {
    guarded = compared;
    map = compared.map;
    desired = compared.desired;
    entry = null;
    isWalked = false;
    nextEntry = 0;
    missing = 0;
    notDesired = 0;
    otherValue = 0;
    first = null;
    failure = null;
    desired.beginRound();
    final int result = cursor.open(map);
    if (result < 0) {
      failure = map.failure("walk", "all", result).getMessage();
    }
  }

  /**
   * Compares one slice; {@link #guarded} is null after the last one.
   *
   * @return the number of entries that were written or deleted
   */
  public int step() {
    final int before = missing + notDesired + otherValue;
    final boolean isEnd = failure != null || (isWalked ? findMissing() : walk());
    final int repaired = missing + notDesired + otherValue - before;
    if (repaired > 0) {
      guarded.isFaulty = true;
      repairs.count(Repairs.Kind.MAP_ENTRY, repaired);
      faults.degraded(guarded.endpointId, guarded.part, guarded.subject, found());
    }
    if (isEnd) {
      end();
    }
    return repaired;
  }

  private void end() {
    final boolean isRepaired = missing + notDesired + otherValue > 0;
    if (isRepaired) {
      LOGGER.warn("{}: {}; repaired", guarded.subject, found());
    }
    if (failure != null) {
      faults.failed(guarded.endpointId, guarded.part, guarded.subject, "repair failed: " + failure);
      if (guarded.failure == null) {
        LOGGER.error("{}: repair failed: {}", guarded.subject, failure);
      }
      guarded.isFaulty = true;
    } else if (guarded.isFaulty && !isRepaired) {
      guarded.isFaulty = false;
      faults.clear(guarded.subject);
    }
    guarded.failure = failure;
    abandon();
  }

  /** Ends the comparison early, because the map is about to be closed or its entries replaced. */
  public void abandon() {
    cursor.close();
    guarded = null;
  }

  private boolean walk() {
    int compared = 0;
    while (compared < BATCH) {
      if (!cursor.nextBatch()) {
        isWalked = true;
        final int error = cursor.error();
        if (error < 0 && error != -Errno.EAGAIN) {
          failure = map.failure("walk", "all", error).getMessage();
        }
        return error < 0 || desired.isComplete();
      }
      while (cursor.nextOfBatch()) {
        compare();
        compared++;
      }
      compared++;
    }
    return false;
  }

  private void compare() {
    final DesiredEntries.Found found = desired.compare(cursor.key(), cursor.value());
    if (found == DesiredEntries.Found.EQUAL) {
      return;
    }
    final EntryBuffer buffer = buffer();
    buffer.key().putBytes(0, cursor.key(), 0, map.keySize());
    if (found == DesiredEntries.Found.OTHER_VALUE) {
      desired.copyValue(buffer.key(), buffer.value());
      otherValue += repaired(map.update(buffer, MapFlag.ANY), "wrong value");
    } else {
      notDesired += repaired(remove(buffer), "unexpected");
    }
  }

  /** The kernel deletes nothing in an array, where an entry of zeros stands for none. */
  private int remove(EntryBuffer buffer) {
    if (!isArray()) {
      return map.delete(buffer);
    }
    buffer.value().setMemory(0, map.valueSize(), (byte) 0);
    return map.update(buffer, MapFlag.ANY);
  }

  private boolean findMissing() {
    final int end = Math.min(desired.size(), nextEntry + ENTRIES_PER_STEP);
    final EntryBuffer buffer = buffer();
    for (; nextEntry < end && failure == null; nextEntry++) {
      if (desired.copyUnseen(nextEntry, buffer.key(), buffer.value())) {
        missing += repaired(map.update(buffer, insertion()), "missing");
      }
    }
    return failure != null || nextEntry >= desired.size();
  }

  /** An array has all entries; the walk passes over those that are zero. */
  private long insertion() {
    return isArray() ? MapFlag.ANY : MapFlag.NO_EXIST;
  }

  private boolean isArray() {
    return map.definition().spec().type() == MapType.ARRAY;
  }

  private EntryBuffer buffer() {
    if (entry == null) {
      entry = new EntryBuffer(map);
    }
    return entry;
  }

  /** Returns 1 if a write has changed the map; an entry may have come or gone before it. */
  private int repaired(int result, String found) {
    if (result == -Errno.EEXIST || result == -Errno.ENOENT) {
      return 0;
    }
    if (result < 0) {
      failure = map.failure("repair", text(entry.key()), result).getMessage();
      return 0;
    }
    if (first == null) {
      first = found + " (" + text(entry.key()) + ")";
    }
    return 1;
  }

  private StringBuilder text(MutableDirectBuffer key) {
    final StringBuilder text = new StringBuilder();
    map.format().appendKey(text, key, 0, null, 0);
    return text;
  }

  private String found() {
    return "%d entries missing, %d unexpected, %d with a wrong value; first: %s"
        .formatted(missing, notDesired, otherValue, first);
  }
}
