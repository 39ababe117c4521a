package agent.datapath.manager.prefilter;

import agent.datapath.manager.guard.Check;
import agent.datapath.manager.guard.KernelFaults;
import agent.datapath.manager.guard.Repairs;
import agent.datapath.manager.guard.Repairs.Kind;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.MapCursor;
import agent.maps.layout.Prefilter4KeyFlyweight;
import agent.maps.layout.Prefilter6KeyFlyweight;
import agent.maps.layout.PrefilterEntryFlyweight;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.agrona.DirectBuffer;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Compares the tries and bitmaps of the prefilter with the list in force, which is sorted: a prefix
 * of the kernel is found by binary search, and one bit per prefix remembers that it was seen. It
 * rests while a change of the list is written. 100,000 prefixes are read in slices of 512, a round
 * in about 0.1 seconds. For the conductor's thread.
 */
final class PrefilterGuard implements Check {
  private static final Logger LOGGER = LogManager.getLogger(PrefilterGuard.class);
  private static final int BATCH = 512;
  private static final int WORDS_PER_STEP = 32_768;
  private static final int BITMAPS = 3;
  private static final String SUBJECT = "prefilter list";

  private final PrefilterMaps maps;
  private final CellPlan plan;
  private final KernelFaults faults;
  private final Repairs repairs;
  private final MapCursor cursor = new MapCursor(BATCH);
  private final Prefilter4KeyFlyweight key4 = new Prefilter4KeyFlyweight();
  private final Prefilter6KeyFlyweight key6 = new Prefilter6KeyFlyweight();
  private final PrefilterEntryFlyweight value = new PrefilterEntryFlyweight();
  private final List<Prefix> wrong = new ArrayList<>();
  private List<Prefix> deny;
  private long[] seen = new long[0];
  private int firstIpv6;
  private Phase phase = Phase.IPV4;
  private boolean isOpen;
  private int next;
  private int missing;
  private int notDesired;
  private int words;
  private String first;
  private boolean isFaulty;

  private enum Phase {
    IPV4,
    IPV6,
    MISSING,
    CELLS
  }

  PrefilterGuard(PrefilterMaps maps, CellPlan plan, KernelFaults faults, Repairs repairs) {
    this.maps = maps;
    this.plan = plan;
    this.faults = faults;
    this.repairs = repairs;
  }

  /** Stops the comparison: a change of list and plan begins. */
  void suspend() {
    restart();
    deny = null;
  }

  /** Begins to compare with a list that the kernel holds; its plan does not change until then. */
  void resume(List<Prefix> list) {
    restart();
    deny = list;
    seen = new long[(list.size() >>> 6) + 1];
    firstIpv6 = 0;
    while (firstIpv6 < list.size() && list.get(firstIpv6).isIpv4()) {
      firstIpv6++;
    }
  }

  private void restart() {
    cursor.close();
    isOpen = false;
    phase = Phase.IPV4;
    next = 0;
    missing = 0;
    notDesired = 0;
    words = 0;
    first = null;
  }

  @Override
  public Progress step(long nowNs) {
    if (deny == null) {
      return Progress.DONE;
    }
    final int before = missing + notDesired + words;
    final boolean isEnd =
        switch (phase) {
          case IPV4 -> walk(maps.map4(), Phase.IPV6);
          case IPV6 -> walk(maps.map6(), Phase.MISSING);
          case MISSING -> findMissing();
          case CELLS -> compareCells();
        };
    final int repaired = missing + notDesired + words - before;
    if (repaired > 0) {
      isFaulty = true;
      repairs.count(Kind.MAP_ENTRY, repaired);
      faults.degraded(0, null, SUBJECT, found());
    }
    if (isEnd) {
      end();
      return Progress.DONE;
    }
    return repaired > 0 ? Progress.REPAIRED : Progress.COMPARED;
  }

  private void end() {
    if (missing + notDesired + words > 0) {
      LOGGER.warn("{}: {}; repaired", SUBJECT, found());
    } else if (isFaulty) {
      isFaulty = false;
      faults.clear(SUBJECT);
    }
    restart();
    Arrays.fill(seen, 0);
  }

  private String found() {
    return "%d prefixes missing, %d not on the list, %d words of bitmaps different; the first: %s"
        .formatted(missing, notDesired, words, first);
  }

  /** Compares one batch of a trie; a walk that changes interrupted goes on in the next round. */
  private boolean walk(BpfMap map, Phase following) {
    if (!isOpen) {
      final int opened = cursor.open(map);
      if (opened < 0) {
        throw map.failure("walk", "all", opened);
      }
      isOpen = true;
    }
    for (int compared = 0; compared < BATCH; compared++) {
      if (!cursor.nextBatch()) {
        final boolean isInterrupted = cursor.error() < 0;
        cursor.close();
        isOpen = false;
        phase = following;
        return isInterrupted;
      }
      while (cursor.nextOfBatch()) {
        compare();
        compared++;
      }
      if (!wrong.isEmpty()) {
        deleteWrong();
        return false;
      }
    }
    return false;
  }

  private void compare() {
    final DirectBuffer key = cursor.key();
    final int index;
    if (phase == Phase.IPV4) {
      key4.wrap(cursor.key(), 0);
      index = find(0, firstIpv6, 0, key4.address() & 0xffff_ffffL, key4.prefixLength());
    } else {
      key6.wrap(cursor.key(), 0);
      index =
          find(firstIpv6, deny.size(), key6.addressHigh(), key6.addressLow(), key6.prefixLength());
    }
    if (index < 0 || value.wrap(cursor.value(), 0).deny() != 1) {
      wrong.add(prefixOf(key.capacity() == Prefilter4KeyFlyweight.LENGTH));
    } else {
      seen[index >>> 6] |= 1L << index;
    }
  }

  private Prefix prefixOf(boolean isIpv4) {
    return isIpv4
        ? Prefix.of(IpAddress.ofIpv4(key4.address()), key4.prefixLength())
        : Prefix.of(IpAddress.ofIpv6(key6.addressHigh(), key6.addressLow()), key6.prefixLength());
  }

  private int find(int from, int to, long high, long low, int length) {
    int left = from;
    int right = to - 1;
    while (left <= right) {
      final int middle = left + right >>> 1;
      final Prefix prefix = deny.get(middle);
      final IpAddress address = prefix.address();
      int order = Long.compareUnsigned(address.high(), high);
      order = order != 0 ? order : Long.compareUnsigned(address.low(), low);
      order = order != 0 ? order : Integer.compare(prefix.length(), length);
      if (order == 0) {
        return middle;
      }
      if (order < 0) {
        left = middle + 1;
      } else {
        right = middle - 1;
      }
    }
    return -1;
  }

  /** Deletes entries that are not on the list; the rest of the round writes those that are. */
  private void deleteWrong() {
    maps.write(wrong, 0, wrong.size(), false);
    notDesired += wrong.size();
    note("not on the list", wrong.getFirst());
    wrong.clear();
  }

  private void note(String found, Object what) {
    if (first == null) {
      first = found + " (" + what + ")";
    }
  }

  private boolean findMissing() {
    final int end = Math.min(deny.size(), next + WORDS_PER_STEP);
    while (next < end && wrong.size() < BATCH) {
      if ((seen[next >>> 6] & 1L << next) == 0) {
        wrong.add(deny.get(next));
      }
      next++;
    }
    if (!wrong.isEmpty()) {
      maps.write(wrong, 0, wrong.size(), true);
      missing += wrong.size();
      note("missing", wrong.getFirst());
      wrong.clear();
    }
    if (next == deny.size()) {
      next = 0;
      phase = Phase.CELLS;
    }
    return false;
  }

  /** Compares a part of the three bitmaps; the cursor counts the words of all of them. */
  private boolean compareCells() {
    final int bitmap = next / maps.cellWords();
    final int from = next % maps.cellWords();
    final int repaired = maps.repairCells(plan, bitmap, from, from + WORDS_PER_STEP);
    if (repaired > 0) {
      words += repaired;
      note("word", "of bitmap " + bitmap);
    }
    next += WORDS_PER_STEP;
    return next >= BITMAPS * maps.cellWords();
  }

  @Override
  public void close() {
    cursor.close();
  }

  @Override
  public String toString() {
    return SUBJECT;
  }
}
