package agent.datapath.programs.load;

import agent.bindings.Descriptors;
import agent.bindings.bpf.BpfFileSystem;
import agent.bindings.bpf.MapDescription;
import agent.bindings.bpf.MapFlag;
import agent.datapath.programs.attach.Pins;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EntryBuffer;
import agent.maps.kernel.MapCursor;
import agent.maps.kernel.MapDefinition;
import java.nio.file.Path;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Opens a pinned map whose capacity is not the wanted one, without losing an entry: programs go on
 * with the former map until the new one, which is complete, takes its place.
 */
final class ResizedMap {
  private static final Logger LOGGER = LogManager.getLogger(ResizedMap.class);

  private ResizedMap() {}

  /**
   * Opens a pinned map that differs from the definition in its capacity alone. A larger map is
   * taken as it is; the entries of a smaller one are copied to a new one, which gets its pin.
   *
   * @return the map, or null where there is no such pinned map
   * @throws agent.maps.kernel.BpfMapException where the kernel refuses
   */
  static BpfMap open(MapDefinition definition, Path pin) {
    final int fd = BpfFileSystem.open(pin);
    if (fd < 0) {
      return null;
    }
    final MapDescription found = MapDescription.of(fd);
    final int wanted = definition.spec().maxEntries();
    if (found.maxEntries() == wanted || !definition.spec().fits(found.withMaxEntries(wanted))) {
      Descriptors.close(fd);
      return null;
    }
    final MapDefinition former = definition.withMaxEntries(found.maxEntries());
    if (found.maxEntries() > wanted) {
      return BpfMap.adopt(fd, former, pin.toString());
    }
    try (BpfMap smaller = BpfMap.adopt(fd, former, pin.toString())) {
      return grown(smaller, definition, pin);
    }
  }

  private static BpfMap grown(BpfMap former, MapDefinition definition, Path pin) {
    final BpfMap map = BpfMap.create(definition, pin.toString());
    try {
      copy(former, map);
      Pins.put(map.fd(), pin);
    } catch (RuntimeException failure) {
      map.close();
      throw failure;
    }
    LOGGER.info(
        "map {}: resizing from {} to {} entries",
        definition.name(),
        former.maxEntries(),
        map.maxEntries());
    return map;
  }

  /** Copies all entries of a map to one with the same keys and values. */
  static void copy(BpfMap from, BpfMap to) {
    final EntryBuffer entry = new EntryBuffer(to);
    try (MapCursor cursor = new MapCursor()) {
      final int opened = cursor.open(from);
      if (opened < 0) {
        throw from.failure("walk", "all", opened);
      }
      while (cursor.next()) {
        entry.key().putBytes(0, cursor.key(), 0, to.keySize());
        entry.value().putBytes(0, cursor.value(), 0, to.valueSize());
        final int result = to.update(entry, MapFlag.ANY);
        if (result < 0) {
          throw to.failure("copy", entry, result);
        }
      }
      if (cursor.error() < 0) {
        throw from.failure("walk", "all", cursor.error());
      }
    }
  }
}
