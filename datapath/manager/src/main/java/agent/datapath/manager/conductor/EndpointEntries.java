package agent.datapath.manager.conductor;

import agent.datapath.manager.spec.EndpointSpec;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EndpointMap;
import agent.maps.kernel.MapCursor;
import agent.maps.layout.EndpointEntryFlyweight;
import agent.maps.layout.EndpointFlag;
import agent.maps.layout.EndpointOption;
import java.util.Set;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/** Reads and writes entries of the map {@code endpoints}; for the conductor's thread. */
final class EndpointEntries {
  private static final Logger LOGGER = LogManager.getLogger(EndpointEntries.class);

  /** A copy of an endpoint's entry. */
  record Entry(int ifindex, int identity, long mac, long hostMac, int flags) {}

  private final EndpointMap map;

  EndpointEntries(BpfMap map) {
    this.map = new EndpointMap(map);
  }

  /** Reads an endpoint's entry; all fields are 0 where it has none. */
  Entry read(int id) {
    final int result = map.lookup(id);
    if (result < 0) {
      throw map.failure("lookup", result);
    }
    final EndpointEntryFlyweight found = map.found();
    return new Entry(
        found.ifindex(), found.identity(), found.mac(), found.hostMac(), found.flags());
  }

  void write(EndpointSpec endpoint) {
    final boolean isAudit = (endpoint.options() & EndpointOption.POLICY_AUDIT_MODE.number()) != 0;
    final int result =
        map.set(
            endpoint.id(),
            endpoint.ifindex(),
            endpoint.identity(),
            endpoint.mac().bits(),
            endpoint.hostMac().bits(),
            isAudit ? EndpointFlag.POLICY_AUDIT.number() : 0);
    if (result < 0) {
      throw map.failure("update", result);
    }
  }

  void clear(int id) {
    final int result = map.clear(id);
    if (result < 0) {
      throw map.failure("clear", result);
    }
  }

  /** Writes back an entry that {@link #read} returned; logs a failure instead of throwing it. */
  void restore(int id, Entry entry) {
    final int result =
        entry.ifindex() == 0
            ? map.clear(id)
            : map.set(
                id, entry.ifindex(), entry.identity(), entry.mac(), entry.hostMac(), entry.flags());
    if (result < 0) {
      LOGGER.error(map.failure("restore", result).getMessage());
    }
  }

  /** Adds the ids of all endpoints that have an entry to a set. */
  void addIds(Set<Integer> ids) {
    try (MapCursor cursor = new MapCursor()) {
      final int opened = cursor.open(map.map());
      if (opened < 0) {
        throw map.map().failure("walk", "all", opened);
      }
      while (cursor.next()) {
        ids.add(cursor.key().getInt(0));
      }
      if (cursor.error() < 0) {
        throw map.map().failure("walk", "all", cursor.error());
      }
    }
  }
}
