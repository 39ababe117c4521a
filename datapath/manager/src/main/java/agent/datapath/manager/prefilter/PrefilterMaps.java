package agent.datapath.manager.prefilter;

import agent.datapath.manager.load.NodeMapSet;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.MapCursor;
import agent.maps.kernel.NodeMaps;
import agent.maps.kernel.Prefilter4Trie;
import agent.maps.kernel.Prefilter6Trie;
import agent.maps.kernel.PrefilterCells;
import agent.maps.layout.Prefilter4KeyFlyweight;
import agent.maps.layout.Prefilter6KeyFlyweight;
import agent.maps.layout.PrefilterGeometry;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.List;

/** Reads and writes the five maps of the prefilter. Only the conductor's thread writes. */
public final class PrefilterMaps implements AutoCloseable {
  private final Prefilter4Trie trie4;
  private final Prefilter6Trie trie6;
  private final PrefilterCells cells4;
  private final PrefilterCells wide6;
  private final PrefilterCells narrow6;

  /** Maps the bitmaps of the open maps into memory. */
  public PrefilterMaps(NodeMapSet maps) {
    trie4 = new Prefilter4Trie(maps.get(NodeMaps.PREFILTER4));
    trie6 = new Prefilter6Trie(maps.get(NodeMaps.PREFILTER6));
    cells4 = new PrefilterCells(maps.get(NodeMaps.PREFILTER4_CELLS));
    wide6 = new PrefilterCells(maps.get(NodeMaps.PREFILTER6_WIDE_CELLS));
    narrow6 = new PrefilterCells(maps.get(NodeMaps.PREFILTER6_NARROW_CELLS));
  }

  /** Returns the number of prefixes that the trie of one address family can hold. */
  int capacity() {
    return trie4.map().maxEntries();
  }

  /** Reads the prefixes of both tries. */
  List<Prefix> read() {
    final List<Prefix> found = new ArrayList<>();
    readIpv4(trie4.map(), found);
    readIpv6(trie6.map(), found);
    return found;
  }

  static void readIpv4(BpfMap map, List<Prefix> found) {
    final Prefilter4KeyFlyweight key = new Prefilter4KeyFlyweight();
    try (MapCursor cursor = new MapCursor()) {
      open(cursor, map);
      while (cursor.next()) {
        key.wrap(cursor.key(), 0);
        found.add(Prefix.of(IpAddress.ofIpv4(key.address()), key.prefixLength()));
      }
      check(cursor, map);
    }
  }

  static void readIpv6(BpfMap map, List<Prefix> found) {
    final Prefilter6KeyFlyweight key = new Prefilter6KeyFlyweight();
    try (MapCursor cursor = new MapCursor()) {
      open(cursor, map);
      while (cursor.next()) {
        key.wrap(cursor.key(), 0);
        found.add(
            Prefix.of(IpAddress.ofIpv6(key.addressHigh(), key.addressLow()), key.prefixLength()));
      }
      check(cursor, map);
    }
  }

  /**
   * Inserts a part of a list into the tries, or deletes it, in batches.
   *
   * @param from index of the first prefix
   * @param limit largest number of prefixes
   * @return the index after the last written prefix
   */
  int write(List<Prefix> prefixes, int from, int limit, boolean isInsert) {
    final int end = Math.min(prefixes.size(), from + limit);
    for (int i = from; i < end; i++) {
      final Prefix prefix = prefixes.get(i);
      final IpAddress address = prefix.address();
      if (prefix.isIpv4()) {
        if (trie4.stage((int) address.low(), prefix.length())) {
          flush4(isInsert);
        }
      } else if (trie6.stage(address.high(), address.low(), prefix.length())) {
        flush6(isInsert);
      }
    }
    flush4(isInsert);
    flush6(isInsert);
    return end;
  }

  /**
   * Copies the words that differ to one bitmap.
   *
   * @param bitmap 0: IPv4, 1: wide IPv6, 2: narrow IPv6
   */
  void copyCells(CellPlan plan, int bitmap) {
    switch (bitmap) {
      case 0 -> copy(plan.cells4(), cells4);
      case 1 -> copy(plan.wide6(), wide6);
      default -> copy(plan.narrow6(), narrow6);
    }
  }

  /** Returns the trie of IPv4 prefixes. */
  BpfMap map4() {
    return trie4.map();
  }

  /** Returns the trie of IPv6 prefixes. */
  BpfMap map6() {
    return trie6.map();
  }

  /** Returns the number of words of one bitmap, equal for all three. */
  int cellWords() {
    return PrefilterGeometry.CELL_WORDS;
  }

  /**
   * Copies the words that differ in a part of one bitmap.
   *
   * @return their number
   */
  int repairCells(CellPlan plan, int bitmap, int from, int to) {
    return switch (bitmap) {
      case 0 -> repair(plan.cells4(), cells4, from, to);
      case 1 -> repair(plan.wide6(), wide6, from, to);
      default -> repair(plan.narrow6(), narrow6, from, to);
    };
  }

  private static int repair(long[] words, PrefilterCells cells, int from, int to) {
    int repaired = 0;
    for (int i = from; i < Math.min(to, words.length); i++) {
      if (cells.word(i) != words[i]) {
        cells.word(i, words[i]);
        repaired++;
      }
    }
    return repaired;
  }

  @Override
  public void close() {
    cells4.close();
    wide6.close();
    narrow6.close();
  }

  private void flush4(boolean isInsert) {
    final int result = isInsert ? trie4.insertStaged() : trie4.deleteStaged();
    if (result < 0) {
      throw trie4.stagedFailure(operation(isInsert), result);
    }
  }

  private void flush6(boolean isInsert) {
    final int result = isInsert ? trie6.insertStaged() : trie6.deleteStaged();
    if (result < 0) {
      throw trie6.stagedFailure(operation(isInsert), result);
    }
  }

  private static String operation(boolean isInsert) {
    return isInsert ? "update" : "delete";
  }

  private static void copy(long[] words, PrefilterCells cells) {
    for (int i = 0; i < words.length; i++) {
      if (cells.word(i) != words[i]) {
        cells.word(i, words[i]);
      }
    }
  }

  private static void open(MapCursor cursor, BpfMap map) {
    final int result = cursor.open(map);
    if (result < 0) {
      throw map.failure("walk", "all", result);
    }
  }

  private static void check(MapCursor cursor, BpfMap map) {
    if (cursor.error() < 0) {
      throw map.failure("walk", "all", cursor.error());
    }
  }
}
