package agent.maps.mirror;

import agent.bindings.bpf.MapType;
import agent.maps.kernel.BpfMap;
import java.util.Locale;

/** Receives the contents of a map, entry by entry, as they are read. */
public interface MapVisitor {
  /**
   * Handles the map itself; called once, before the entries.
   *
   * @param mirroredAtMs time of the contents, in ms since the epoch
   */
  void onMap(MapSummary map, long mirroredAtMs);

  /**
   * Handles one entry; the texts are valid during the call.
   *
   * @param lastError the error of the desired action, or null
   * @return false to stop reading
   */
  boolean onEntry(CharSequence key, CharSequence value, DesiredAction action, String lastError);

  /** The action that makes an entry of the kernel equal to the desired entry. */
  enum DesiredAction {
    /** None: the kernel holds the desired entry. */
    OK,
    /** Insert the entry, which the kernel refused to write. */
    INSERT,
    /** Delete the entry, which the kernel refused to delete. */
    DELETE;

    /** Returns the name that the API uses (decisions.md, section 3). */
    public String text() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /**
   * One open map as the map list of the API contains it (decisions.md, section 3).
   *
   * @param path path of its pin, or empty
   * @param name full name
   * @param type name that {@code bpftool} prints
   * @param keySize in bytes
   * @param valueSize in bytes
   * @param maxEntries capacity in entries; for a ring buffer in bytes
   * @param entries number of entries, at most five seconds old; without unused array slots
   * @param flags BPF_F_ bits of its creation
   * @param pressure ratio of entries to capacity, 0 to 1
   */
  record MapSummary(
      String path,
      String name,
      String type,
      int keySize,
      int valueSize,
      int maxEntries,
      long entries,
      int flags,
      double pressure) {
    static MapSummary of(BpfMap map, long entries) {
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
  }
}
