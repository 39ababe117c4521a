package agent.maps.kernel;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CopyOnWriteArrayList;

/** The maps that this process has open, by name. For any thread; the owner of a map closes it. */
public final class MapRegistry {
  /** Hears of maps as they come and go, on the thread that adds or removes them. */
  public interface Listener {
    void onMapAdded(BpfMap map);

    /** The map is still open during the call. */
    void onMapRemoved(BpfMap map);
  }

  private final Map<String, BpfMap> maps = new ConcurrentSkipListMap<>();
  private final List<Listener> listeners = new CopyOnWriteArrayList<>();

  /**
   * Adds an open map.
   *
   * @throws IllegalStateException where another map has the name
   */
  public void add(BpfMap map) {
    if (maps.putIfAbsent(map.name(), map) != null) {
      throw new IllegalStateException("map " + map.name() + ": is registered already");
    }
    for (final Listener listener : listeners) {
      listener.onMapAdded(map);
    }
  }

  /** Takes a map out without closing it; does nothing where another map has its name by now. */
  public void remove(BpfMap map) {
    if (maps.remove(map.name(), map)) {
      for (final Listener listener : listeners) {
        listener.onMapRemoved(map);
      }
    }
  }

  /** The map of that name; use it between {@link BpfMap#retain()} and {@link BpfMap#release()}. */
  public Optional<BpfMap> find(String name) {
    return Optional.ofNullable(maps.get(name));
  }

  /** All maps of this moment, in the order of their names. */
  public List<BpfMap> snapshot() {
    return List.copyOf(maps.values());
  }

  /** Adds a listener, which hears of maps that are registered later. */
  public void addListener(Listener listener) {
    listeners.add(listener);
  }

  public void removeListener(Listener listener) {
    listeners.remove(listener);
  }
}
