package agent.maps.mirror;

import agent.bindings.Errno;
import agent.maps.kernel.MapCursor;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.agrona.MutableDirectBuffer;
import org.agrona.collections.Int2ObjectHashMap;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.MessageHandler;
import org.agrona.concurrent.NanoClock;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The agent {@code dp-mirror}, the only writer of the store, which it opens at the first request of
 * a reader. It applies the writes from the ring, and rebuilds one mirror at a time: it drains the
 * ring, clears the old copy and copies the kernel's entries, a bounded part in each duty cycle.
 * Writes during the rebuild stay in the ring and are applied afterwards.
 */
final class MirrorAgent implements Agent, MessageHandler {
  /** Maps with more entries are read from the kernel, which is faster and bounds the memory. */
  static final int LARGEST_COPY = 1 << 16;

  private static final Logger LOGGER = LogManager.getLogger(MirrorAgent.class);
  private static final int WRITES_PER_CYCLE = 1024;
  private static final int ENTRIES_PER_CYCLE = 4000;
  private static final int SEGMENTS_PER_CYCLE = 8;
  private static final long RETRY_NS = TimeUnit.SECONDS.toNanos(60);

  /** The next step in the rebuild of a mirror. */
  private enum Phase {
    DRAIN,
    CLEAR,
    COPY
  }

  private final NanoClock clock;
  private final WriteRing ring;
  private final Queue<MirroredMap> requests = new ConcurrentLinkedQueue<>(); // each map once
  private final Int2ObjectHashMap<MirroredMap> copied = new Int2ObjectHashMap<>();
  private final MapCursor cursor = new MapCursor();
  private volatile MirrorStore store;
  private boolean isClosed;
  private MirroredMap mirror;
  private Phase phase;
  private long changesBefore;
  private long ringEnd;
  private int segment;
  private int entries;
  private boolean isAbandoned;

  MirrorAgent(NanoClock clock, WriteRing ring) {
    this.clock = clock;
    this.ring = ring;
  }

  @Override
  public String roleName() {
    return "dp-mirror";
  }

  /** Returns the open store, or null. */
  MirrorStore store() {
    return store;
  }

  /**
   * Requests a rebuild of the mirror, or its removal if the map is closed; any thread may call it.
   */
  void submit(MirroredMap requested) {
    requests.add(requested);
  }

  @Override
  public int doWork() {
    if (mirror != null) {
      step();
      return 1;
    }
    final int applied = store == null ? 0 : ring.drain(this, WRITES_PER_CYCLE);
    final MirroredMap next = requests.poll();
    if (next == null) {
      return applied;
    }
    begin(next);
    return applied + 1;
  }

  private void begin(MirroredMap next) {
    if (!open()) {
      next.noCopy(clock.nanoTime() + RETRY_NS);
      return;
    }
    changesBefore = next.beginCopy();
    if (changesBefore < 0) { // a reader uses the copy; the next reader requests it again
      next.noCopy(clock.nanoTime());
      if (next.wantsClearing()) {
        submit(next);
      }
      return;
    }
    ringEnd = ring.end();
    copied.put(next.map().serial(), next);
    mirror = next;
    isAbandoned = false;
    phase = Phase.DRAIN;
  }

  /** Opens the store, which takes seconds once; no thread waits for this one. */
  private boolean open() {
    if (store == null && !isClosed) {
      try {
        store = new MirrorStore();
      } catch (RuntimeException | LinkageError e) {
        isClosed = true;
        LOGGER.warn(
            "mirrors: opening the store failed, maps are read from the kernel: {}", e.toString());
      }
    }
    return store != null;
  }

  private void step() {
    switch (phase) {
      case DRAIN -> drain();
      case CLEAR -> clear();
      case COPY -> copy();
    }
  }

  /** Applies earlier writes first, since they may be older than the kernel's entries. */
  private void drain() {
    ring.drain(this, WRITES_PER_CYCLE);
    if (ring.isDrained(ringEnd)) {
      segment = 0;
      phase = Phase.CLEAR;
    }
  }

  private void clear() {
    for (int i = 0; i < SEGMENTS_PER_CYCLE && segment < store.segments(); i++) {
      store.clear(segment++, mirror.map().serial());
    }
    if (segment < store.segments()) {
      return;
    }
    entries = 0;
    phase = Phase.COPY;
    mirror.addEntries((int) -mirror.entries());
    final boolean isCopied = !isAbandoned && !mirror.isRemoved() && cursor.open(mirror.map()) == 0;
    if (!isCopied) {
      end(false);
    }
  }

  private void copy() {
    final int serial = mirror.map().serial();
    final int keySize = mirror.map().keySize();
    final int valueSize = mirror.map().valueSize();
    try {
      for (int i = 0; i < ENTRIES_PER_CYCLE; i++) {
        if (!cursor.next()) {
          endWalk();
          return;
        }
        if (++entries > LARGEST_COPY || mirror.isRemoved()) {
          abandon();
          return;
        }
        final boolean isNew =
            store.put(serial, cursor.key(), 0, keySize, cursor.value(), 0, valueSize);
        mirror.addEntries(isNew ? 1 : 0);
      }
    } catch (IllegalStateException e) {
      LOGGER.warn("mirror of {}: the store is full: {}", mirror.map(), e.getMessage());
      abandon();
    }
  }

  /** Clears the partial copy; the map is read from the kernel until the retry interval ends. */
  private void abandon() {
    cursor.close();
    isAbandoned = true;
    segment = 0;
    phase = Phase.CLEAR;
  }

  private void endWalk() {
    final int error = cursor.error();
    if (error == 0) {
      end(true);
    } else {
      LOGGER.warn("mirror of {}: walk: {}", mirror.map(), Errno.name(error));
      abandon();
    }
  }

  private void end(boolean isWhole) {
    cursor.close();
    final MirroredMap ended = mirror;
    mirror = null;
    if (isWhole) {
      ended.endCopy(changesBefore);
      if (ended.wantsClearing()) {
        submit(ended);
      }
    } else {
      copied.remove(ended.map().serial());
      ended.noCopy(clock.nanoTime() + RETRY_NS);
    }
  }

  @Override
  public void onMessage(int type, MutableDirectBuffer buffer, int index, int length) {
    final int serial = buffer.getInt(index);
    final MirroredMap noted = copied.get(serial);
    if (noted == null) {
      return;
    }
    final int keySize = buffer.getInt(index + WriteRing.KEY_SIZE_OFFSET);
    final int keyAt = index + WriteRing.KEY_OFFSET;
    final int valueAt = keyAt + keySize;
    final int valueSize = length - WriteRing.KEY_OFFSET - keySize;
    final boolean isHeld =
        type == WriteRing.UPDATE && noted.map().format().present(buffer, valueAt);
    try {
      if (isHeld) {
        final boolean isNew = store.put(serial, buffer, keyAt, keySize, buffer, valueAt, valueSize);
        noted.addEntries(isNew ? 1 : 0);
      } else if (store.remove(serial, buffer, keyAt, keySize)) {
        noted.addEntries(-1);
      }
    } catch (IllegalStateException e) { // the store is full
      noted.invalidate();
    }
  }

  @Override
  public void onClose() {
    isClosed = true;
    cursor.close();
    mirror = null;
    final MirrorStore open = store;
    store = null;
    copied.values().forEach(MirroredMap::invalidate);
    if (open != null) {
      open.release();
    }
  }
}
