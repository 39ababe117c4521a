package agent.maps.kernel;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CopyOnWriteArrayList;

/** The open maps of this process, by name. Thread-safe. The owner of a map closes it. */
public final class MapRegistry {
  /** Is notified of added and removed maps, on the thread that adds or removes them. */
  public interface Listener {
    void onMapAdded(BpfMap map);

    /** Handles the removal of a map, which is still open during the call. */
    void onMapRemoved(BpfMap map);
  }

  private final Map<String, BpfMap> maps = new ConcurrentSkipListMap<>();
  private final List<Listener> listeners = new CopyOnWriteArrayList<>();

  /**
   * Adds an open map.
   *
   * @throws IllegalStateException if another map has the name
   */
  public void add(BpfMap map) {
    if (maps.putIfAbsent(map.name(), map) != null) {
      throw new IllegalStateException("map " + map.name() + " is already registered");
    }
    for (final Listener listener : listeners) {
      listener.onMapAdded(map);
    }
  }

  /** Removes a map without closing it; does nothing if another map has taken its name. */
  public void remove(BpfMap map) {
    if (maps.remove(map.name(), map)) {
      for (final Listener listener : listeners) {
        listener.onMapRemoved(map);
      }
    }
  }

  /**
   * Returns the map of that name; to be used between {@link BpfMap#retain()} and {@link
   * BpfMap#release()}.
   */
  public Optional<BpfMap> find(String name) {
    return Optional.ofNullable(maps.get(name));
  }

  /** Returns the currently registered maps in the order of their names. */
  public List<BpfMap> snapshot() {
    return List.copyOf(maps.values());
  }

  /** Adds a listener, which is notified of maps that are registered later. */
  public void addListener(Listener listener) {
    listeners.add(listener);
  }
}
