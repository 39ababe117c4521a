package agent.state;

import agent.conductor.Faults;
import agent.service.Service;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Services that were created together, in files {@code <id>-<id>.json}. The name says whose records
 * in it count, also where the content cannot be read: a removal takes the id out of the name.
 * Thread-safe for different ids.
 */
final class ServiceBatches {
  /** Services in a file: names of files have at most 255 bytes. */
  static final int MOST_TOGETHER = 16;

  private static final Logger LOGGER = LogManager.getLogger(ServiceBatches.class);
  private static final String SEPARATOR = "-";

  private final StateFolder<List<Service>> folder;
  private final Faults faults;
  private final Map<Integer, String> names = new ConcurrentHashMap<>(); // by id

  /** Creates the files of a folder, which may have some; does not read them. */
  ServiceBatches(StateFolder<List<Service>> folder, Faults faults) {
    this.folder = folder;
    this.faults = faults;
    for (final String name : folder.names()) {
      final List<Integer> ids = ids(name);
      if (ids.isEmpty()) {
        LOGGER.warn(
            "the name of state file {} is not a list of services; ignored", folder.path(name));
      }
      ids.forEach(id -> names.put(id, name));
    }
  }

  /** Returns the ids of the services that have a record. */
  Set<Integer> ids() {
    return Set.copyOf(names.keySet());
  }

  /**
   * Reads all files.
   *
   * @param others ids that have a newer record elsewhere; theirs are not reported
   */
  NumberedFiles.Loaded<Service> load(Collection<Integer> others) {
    final Map<Integer, Service> services = new TreeMap<>();
    final Map<Integer, String> unreadable = new TreeMap<>();
    for (final String name : Set.copyOf(names.values())) {
      final List<Integer> wanted = ids(name).stream().filter(id -> !others.contains(id)).toList();
      try {
        final Map<Integer, Service> found = read(name);
        for (final int id : wanted) {
          if (found.containsKey(id)) {
            services.put(id, found.get(id));
          } else {
            unreadable.put(id, invalid(id, "it does not hold the service"));
          }
        }
      } catch (DamagedStateException e) {
        wanted.forEach(id -> unreadable.put(id, invalid(id, e.getMessage())));
      }
    }
    return new NumberedFiles.Loaded<>(List.copyOf(services.values()), unreadable);
  }

  private Map<Integer, Service> read(String name) throws DamagedStateException {
    return folder.read(name).orElse(List.of()).stream()
        .collect(Collectors.toMap(Service::id, Function.identity(), (first, second) -> second));
  }

  private String invalid(int id, String reason) {
    final String message = ServiceFiles.unreadable(folder.path(names.get(id)), reason);
    LOGGER.error("service {}: {}", id, message);
    faults.failed(subject(id), "service " + id + ": " + message);
    return message;
  }

  /** Returns whether a service has a record here. */
  boolean has(int id) {
    return names.containsKey(id);
  }

  /** Writes services, at most {@link #MOST_TOGETHER}, that have no record yet. */
  void save(List<Service> services) {
    final String name = name(services.stream().map(Service::id).toList());
    folder.write(
        name, services, () -> {}, () -> services.forEach(service -> names.put(service.id(), name)));
  }

  /** Removes the record of a service; one that does not exist is not an error. */
  synchronized void remove(int id) {
    final String name = names.get(id);
    if (name == null) {
      return;
    }
    final List<Integer> left = ids(name).stream().filter(other -> other != id).toList();
    if (left.isEmpty()) {
      folder.remove(name);
    } else {
      final String renamed = name(left);
      folder.rename(name, renamed);
      left.forEach(other -> names.put(other, renamed));
    }
    names.remove(id);
    faults.clear(subject(id));
  }

  private String subject(int id) {
    return folder + "/" + id;
  }

  private static String name(List<Integer> ids) {
    return ids.stream().map(String::valueOf).collect(Collectors.joining(SEPARATOR));
  }

  /** Returns the ids in a name; none where it is not such a name. */
  private static List<Integer> ids(String name) {
    final List<Integer> ids =
        Arrays.stream(name.split(SEPARATOR)).map(NumberedFiles::number).toList();
    return ids.contains(0) || !name(ids).equals(name) ? List.of() : ids;
  }
}
