package agent.maps.mirror;

import agent.maps.kernel.MapDefinition;
import agent.maps.kernel.MirrorMode;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.agrona.MutableDirectBuffer;
import org.agrona.collections.Int2ObjectHashMap;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.MessageHandler;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * {@code dp-mirror}: the only writer of stores. Opens the first one when a reader first asks, so
 * that neither the start nor a node whose maps nobody reads pays for it.
 */
final class MirrorAgent implements Agent, MessageHandler {
  private static final Logger LOGGER = LogManager.getLogger(MirrorAgent.class);
  private static final int JOURNAL_LIMIT = 1024;
  private static final int ENTRIES_PER_STEP = 4096;
  private static final long UNREAD_NS = TimeUnit.SECONDS.toNanos(60);
  private static final long HOUSEKEEPING_NS = TimeUnit.SECONDS.toNanos(1);
  private static final int SHARED_KEY_SIZE = 12;
  private static final int SHARED_VALUE_SIZE = 8;

  /** Closed, then open, or failed for good. */
  private enum State {
    CLOSED,
    OPEN,
    FAILED
  }

  private final MapMirrors.Context context;
  private final Map<Integer, MirroredMap> mirrors;
  private final MirrorJournal journal;
  private final Queue<MirrorRequest> submitted = new ConcurrentLinkedQueue<>();
  private final ArrayDeque<MirrorRequest> waiting = new ArrayDeque<>();
  private final List<MirroredMap> withOwnStore = new ArrayList<>();
  private final Int2ObjectHashMap<MirroredMap> journalled = new Int2ObjectHashMap<>();
  private final MirrorRefresh refresh = new MirrorRefresh();
  private volatile State state = State.CLOSED;
  private volatile boolean wanted;
  private MirrorStore shared;
  private long housekeptNs;

  MirrorAgent(
      MapMirrors.Context context, Map<Integer, MirroredMap> mirrors, MirrorJournal journal) {
    this.context = context;
    this.mirrors = mirrors;
    this.journal = journal;
  }

  @Override
  public String roleName() {
    return "dp-mirror";
  }

  boolean open() {
    return state == State.OPEN;
  }

  /** Asks for the store to be opened; nobody waits for it. */
  void want() {
    wanted = true;
  }

  /** Hands a request over; where the agent does not run it is answered at once. */
  void submit(MirrorRequest request) {
    submitted.add(request);
    if (state != State.OPEN) {
      refuseSubmitted();
    }
  }

  @Override
  public int doWork() {
    if (state != State.OPEN) {
      return state == State.CLOSED && wanted ? openShared() : refuseSubmitted();
    }
    int work = takeSubmitted();
    if (refresh.active()) {
      work++;
      stepRefresh();
    }
    // A journalled map's copy must not be overtaken by what was noted while it was made.
    if (!refresh.active() || refresh.mirror().mode() != MirrorMode.JOURNALLED) {
      work += journal.drain(this, JOURNAL_LIMIT);
    }
    if (!refresh.active()) {
      work += serveFirst();
    }
    return work + housekeep();
  }

  private int openShared() {
    try {
      shared =
          MirrorStore.open(
              "maps", context.sharedEntries(), SHARED_KEY_SIZE, SHARED_VALUE_SIZE, null);
      state = State.OPEN;
    } catch (RuntimeException | LinkageError e) {
      state = State.FAILED;
      LOGGER.warn("mirrors: no store, maps are read from the kernel: {}", e.toString());
    }
    return 1;
  }

  private int takeSubmitted() {
    int taken = 0;
    MirrorRequest request;
    while ((request = submitted.poll()) != null) {
      request.journalPosition(journal.producerPosition());
      waiting.add(request);
      taken++;
    }
    return taken;
  }

  private int serveFirst() {
    final MirrorRequest request = waiting.peek();
    if (request == null || journal.consumerPosition() < request.journalPosition()) {
      return 0;
    }
    final MirroredMap mirror = request.mirror();
    if (request.drop()) {
      waiting.remove();
      drop(mirror);
      request.complete(false);
    } else if (mirror.current(context.nanoTime(), context.refreshIntervalNs())) {
      waiting.remove();
      request.complete(true);
    } else if (!beginRefresh(mirror)) {
      waiting.remove();
      request.complete(false);
    }
    return 1;
  }

  private boolean beginRefresh(MirroredMap mirror) {
    if (!mirrors.containsKey(mirror.map().serial())) {
      return false;
    }
    final MirrorStore store;
    try {
      store = storeOf(mirror);
    } catch (RuntimeException e) {
      LOGGER.warn("mirror of {}: no store: {}", mirror.map(), e.toString());
      return false;
    }
    final boolean begun = refresh.begin(mirror, store);
    if (begun && store == shared) {
      journalled.put(mirror.map().serial(), mirror);
    } else if (begun && !withOwnStore.contains(mirror)) {
      withOwnStore.add(mirror);
    } else if (!begun && store != shared && mirror.store() == null) {
      store.release();
    }
    return begun;
  }

  private MirrorStore storeOf(MirroredMap mirror) {
    if (mirror.store() != null) {
      return mirror.store();
    }
    if (mirror.mode() == MirrorMode.JOURNALLED) {
      return shared;
    }
    final MapDefinition definition = mirror.map().definition();
    final Path directory = context.directory();
    final Path file =
        directory == null
            ? null
            : directory.resolve(definition.name() + "-" + mirror.map().serial() + ".mirror");
    return MirrorStore.open(
        definition.name(),
        Math.min(mirror.map().maxEntries(), MirrorRefresh.LARGEST_COPY),
        mirror.map().keySize(),
        mirror.map().valueSize(),
        file);
  }

  private void stepRefresh() {
    try {
      if (refresh.step(ENTRIES_PER_STEP)) {
        endRefresh();
      }
    } catch (IllegalStateException e) { // the store is full
      LOGGER.warn("mirror of {}: {}", refresh.mirror().map(), e.getMessage());
      refresh.cancel();
      waiting.remove().complete(false);
    }
  }

  private void endRefresh() {
    final MirroredMap mirror = refresh.mirror();
    final boolean whole = refresh.error() == 0 && !refresh.tooLarge();
    if (refresh.error() != 0) {
      LOGGER.warn("mirror of {}: refresh ended with errno {}", mirror.map(), -refresh.error());
    }
    final boolean tooLarge = refresh.tooLarge();
    refresh.end(context.nanoTime(), context.epochMs());
    if (tooLarge) {
      mirror.large(context.nanoTime());
      drop(mirror);
    }
    waiting.remove().complete(whole); // the others are served from the copy, or anew
  }

  private void drop(MirroredMap mirror) {
    final MirrorStore store = mirror.store();
    mirror.drop();
    if (store == shared) {
      journalled.remove(mirror.map().serial());
      shared.clear(mirror.map().serial());
    } else if (store != null) {
      withOwnStore.remove(mirror);
      store.release();
    }
  }

  private int housekeep() {
    final long nowNs = context.nanoTime();
    if (nowNs - housekeptNs < HOUSEKEEPING_NS) {
      return 0;
    }
    housekeptNs = nowNs;
    int dropped = 0;
    for (int i = withOwnStore.size() - 1; i >= 0; i--) {
      final MirroredMap mirror = withOwnStore.get(i);
      if (mirror != refresh.mirror() && nowNs - mirror.lastReadNs() > UNREAD_NS) {
        drop(mirror);
        dropped++;
      }
    }
    return dropped;
  }

  @Override
  public void onMessage(int type, MutableDirectBuffer buffer, int index, int length) {
    final int serial = buffer.getInt(index);
    final MirroredMap mirror = journalled.get(serial);
    if (mirror == null) {
      return;
    }
    final int keySize = buffer.getInt(index + MirrorJournal.KEY_SIZE_OFFSET);
    final int keyAt = index + MirrorJournal.KEY_OFFSET;
    final int valueAt = keyAt + keySize;
    final int valueSize = length - MirrorJournal.KEY_OFFSET - keySize;
    final boolean wanted =
        type == MirrorJournal.UPDATE && mirror.map().format().present(buffer, valueAt);
    final boolean held = shared.contains(serial, buffer, keyAt, keySize);
    if (wanted) {
      try {
        shared.put(serial, mirror.epoch(), buffer, keyAt, keySize, buffer, valueAt, valueSize);
      } catch (IllegalStateException e) { // the store is full
        mirror.onBulkWrite(mirror.map());
        return;
      }
    } else if (held) {
      shared.remove(serial, buffer, keyAt, keySize);
    }
    mirror.addEntries((wanted ? 1 : 0) - (held ? 1 : 0));
  }

  @Override
  public void onClose() {
    state = State.FAILED;
    refresh.cancel();
    refuseSubmitted();
    waiting.forEach(request -> request.complete(false));
    waiting.clear();
    for (final MirroredMap mirror : List.copyOf(withOwnStore)) {
      drop(mirror);
    }
    journalled.values().forEach(MirroredMap::drop);
    if (shared != null) {
      shared.release();
    }
  }

  private int refuseSubmitted() {
    int refused = 0;
    MirrorRequest request;
    while ((request = submitted.poll()) != null) {
      request.complete(false);
      refused++;
    }
    return refused;
  }
}
