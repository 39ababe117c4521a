package agent.datapath.programs.load;

import agent.bindings.BindingsException;
import agent.bindings.Descriptors;
import agent.bindings.Errno;
import agent.bindings.bpf.BpfFileSystem;
import agent.bindings.bpf.MapDescription;
import agent.conductor.Work;
import agent.datapath.guard.KernelFaults;
import agent.maps.kernel.BatchWriter;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EntryBuffer;
import agent.maps.kernel.GenerationArray;
import agent.maps.kernel.MapCursor;
import agent.maps.kernel.MapDefinition;
import agent.maps.layout.ConntrackEntryFlyweight;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToIntFunction;
import org.agrona.MutableDirectBuffer;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Carries the entries of conntrack tables over from tables of another size or of the previous
 * layout. Programs of the previous run use those until theirs are replaced, so entries are copied
 * twice: all of them before a program uses the new table, and afterwards those that are missing
 * there. The pins of the old tables stay until then, so that a run that is interrupted is continued
 * by the next; so does that of a table that cannot be read to its end, which is a fault until then.
 * For one thread at a time: the launching one, then the conductor's.
 */
public final class ConntrackCarryOver implements Work, AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(ConntrackCarryOver.class);
  private static final int BATCH = 4096;
  private static final int ENTRIES_PER_STEP = 256;
  private static final int GENERATIONS_LAYOUT1 = 4;
  private static final int MOST_WALKS = 3;

  private final List<Source> sources = new ArrayList<>();
  private final MapCursor cursor = new MapCursor(BATCH);
  private final Path oldGenerations;
  private final KernelFaults faults;
  private final ToIntFunction<Path> opener;
  private boolean isGenerationNeeded;
  private int walks;
  private GenerationArray generations;
  private ConntrackLayout1 layout1;
  private Source current;
  private EntryBuffer entry;

  private static final class Source {
    final BpfMap map;
    final BpfMap target;
    final boolean isFresh;
    long carried;
    long ended;

    Source(BpfMap map, BpfMap target, boolean isFresh) {
      this.map = map;
      this.target = target;
      this.isFresh = isFresh;
    }

    boolean isLayout1() {
      return map.valueSize() == ConntrackLayout1.LENGTH;
    }
  }

  /**
   * Creates a carry-over without tables.
   *
   * @param oldGenerations the pin of the generations of layout 1
   * @param opener opens the map at a pin; returns a descriptor or a negative errno
   */
  ConntrackCarryOver(Path oldGenerations, KernelFaults faults, ToIntFunction<Path> opener) {
    this.oldGenerations = oldGenerations;
    this.faults = faults;
    this.opener = opener;
  }

  /** Returns the pin of a table that waits to be carried over to one of the same layout. */
  static Path resizedPin(Path pin) {
    return pin.resolveSibling(pin.getFileName() + "_resized");
  }

  /**
   * Moves the pin of a table of another size out of the way of the new one, where it is found again
   * after an interruption. A table that still waits there from an earlier change is given up.
   */
  static void setAside(Path pin) {
    try {
      Files.deleteIfExists(resizedPin(pin));
      Files.move(pin, resizedPin(pin));
    } catch (IOException e) {
      throw new UncheckedIOException("map pin " + pin + ": rename", e);
    }
  }

  /**
   * Adds the table at a pin as a source, where there is one.
   *
   * @param isFresh whether no program uses the target yet
   */
  void add(Path pin, BpfMap target, boolean isFresh) {
    final int fd = opener.applyAsInt(pin);
    if (fd == -Errno.ENOENT) {
      return;
    }
    if (fd < 0) {
      throw new BindingsException("map pin " + pin + ": open", fd);
    }
    final MapDescription found = MapDescription.of(fd);
    final boolean isKnown =
        found.type() == target.description().type()
            && found.keySize() == target.keySize()
            && (found.valueSize() == target.valueSize()
                || found.valueSize() == ConntrackLayout1.LENGTH);
    if (isKnown) {
      final MapDefinition definition = MapDefinition.of(found.spec());
      sources.add(new Source(BpfMap.adopt(fd, definition, pin.toString()), target, isFresh));
      return;
    }
    Descriptors.close(fd);
    LOGGER.warn(
        "map {}: the table at {} is {}, which is an unknown layout: its entries are lost",
        target.name(),
        pin,
        found.spec().shape());
    unpin(pin);
  }

  /** Copies all entries to tables that no program uses yet. */
  void copyToFresh(BpfMap newGenerations) {
    if (sources.isEmpty()) {
      unpin(oldGenerations);
      return;
    }
    generations = new GenerationArray(newGenerations);
    layout1 = new ConntrackLayout1(readOldGenerations()::get, generations::get);
    for (final Source source : sources) {
      if (source.isFresh) {
        copy(source);
      }
    }
  }

  /**
   * The generations of layout 1, none where the map is gone: then no entry of an endpoint is kept.
   */
  private record OldGenerations(int[] byId) {
    long get(int id) {
      return id < byId.length ? Integer.toUnsignedLong(byId[id]) : -1;
    }
  }

  private OldGenerations readOldGenerations() {
    final int fd = BpfFileSystem.open(oldGenerations);
    if (fd < 0) {
      return new OldGenerations(new int[0]);
    }
    final MapDescription found = MapDescription.of(fd);
    if (found.valueSize() != GENERATIONS_LAYOUT1) {
      Descriptors.close(fd);
      return new OldGenerations(new int[0]);
    }
    try (BpfMap map = BpfMap.adopt(fd, MapDefinition.of(found.spec()), "")) {
      final int[] byId = new int[map.maxEntries()];
      open(map);
      while (cursor.next()) {
        byId[cursor.key().getInt(0)] = cursor.value().getInt(0);
      }
      if (cursor.error() < 0) {
        throw map.failure("walk", "all", cursor.error());
      }
      cursor.close();
      return new OldGenerations(byId);
    }
  }

  private void open(BpfMap map) {
    final int result = cursor.open(map);
    if (result < 0) {
      throw map.failure("walk", "all", result);
    }
  }

  private void copy(Source source) {
    final BatchWriter batch = new BatchWriter(source.target, BATCH);
    final long nowNs = System.nanoTime();
    open(source.map);
    boolean hasNext = cursor.next();
    while (hasNext) {
      final boolean isKept =
          encode(
              source, nowNs, batch.keys(), batch.keyOffset(), batch.values(), batch.valueOffset());
      final boolean isFull = isKept && batch.add();
      source.carried += isKept ? 1 : 0;
      hasNext = cursor.next();
      if (isFull || !hasNext) {
        final int result = batch.writeAll();
        if (result < 0) {
          throw batch.failure("update", result);
        }
      }
    }
    cursor.close(); // what was not read is missing in the new table, and is copied afterwards
  }

  /** Encodes the entry at the cursor; returns false where it has expired or lost its endpoint. */
  private boolean encode(
      Source source,
      long nowNs,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    if (cursor.value().getLong(ConntrackEntryFlyweight.EXPIRES_NS_OFFSET) <= nowNs) {
      return false;
    }
    if (source.isLayout1()) {
      return layout1.convert(cursor.key(), cursor.value(), key, keyOffset, value, valueOffset);
    }
    key.putBytes(keyOffset, cursor.key(), 0, source.map.keySize());
    value.putBytes(valueOffset, cursor.value(), 0, source.map.valueSize());
    return true;
  }

  /** Returns whether tables wait to be carried over. */
  public boolean isPending() {
    return !sources.isEmpty();
  }

  /** Copies a bounded number of entries that the new tables lack; then removes the old pins. */
  @Override
  public Progress step() {
    if (current == null) {
      if (sources.isEmpty()) {
        return Progress.DONE;
      }
      current = sources.getFirst();
      entry = new EntryBuffer(current.target);
      open(current.map);
    }
    final long nowNs = System.nanoTime();
    for (int i = 0; i < ENTRIES_PER_STEP; i++) {
      if (!cursor.next()) {
        end();
        return sources.isEmpty() ? Progress.DONE : Progress.WORKED;
      }
      if (encode(current, nowNs, entry.key(), 0, entry.value(), 0)) {
        final int result = current.target.insert(entry);
        if (result == 0) {
          current.carried++;
        } else if (result != -Errno.EEXIST) {
          throw current.target.failure("update", entry, result);
        }
      } else {
        current.ended++;
      }
    }
    return Progress.WORKED;
  }

  /** Ends a walk, or begins another one where changes of the table have cut it short. */
  private void end() {
    final int error = cursor.error();
    if (error == -Errno.EAGAIN && ++walks < MOST_WALKS) {
      open(current.map);
      return;
    }
    cursor.close();
    walks = 0;
    if (error < 0) {
      keep(current.map.failure("walk", "all", error).getMessage());
    } else {
      finish();
    }
  }

  /** Leaves what was not read to the next start. */
  private void keep(String reason) {
    isGenerationNeeded |= current.isLayout1();
    fault(current, reason);
    current.map.close();
    sources.removeFirst();
    current = null;
  }

  private void fault(Source source, String reason) {
    final String subject = "map " + source.target.name();
    final String found =
        "entries of the previous run are missing; the next start will look for them at "
            + source.map.pinPath()
            + " again: "
            + reason;
    LOGGER.warn("{}: {}", subject, found);
    faults.failed(0, null, subject, found);
  }

  private void finish() {
    LOGGER.info(
        "map {}: carried over {} entries from {}; {} had expired or lost their endpoint",
        current.target.name(),
        current.carried,
        current.map.definition().spec().shape(),
        current.ended);
    final Path pin = Path.of(current.map.pinPath());
    current.map.close();
    sources.removeFirst();
    current = null;
    unpin(pin);
    if (sources.isEmpty() && !isGenerationNeeded) {
      unpin(oldGenerations);
    }
  }

  private static void unpin(Path pin) {
    final int result = BpfFileSystem.unpin(pin);
    if (result < 0 && result != -Errno.ENOENT) {
      LOGGER.warn("map pin {}: unpin: {}", pin, Errno.name(-result));
    }
  }

  @Override
  public void failed(RuntimeException failure) {
    sources.forEach(source -> fault(source, failure.getMessage()));
  }

  @Override
  public void close() {
    cursor.close();
    sources.forEach(source -> source.map.close());
    sources.clear();
    if (generations != null) {
      generations.close();
      generations = null;
    }
  }
}
