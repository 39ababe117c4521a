package agent.state;

import agent.datapath.manager.guard.Faults;
import agent.service.Service;
import agent.service.ServiceStore;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/** Stores each service in a file of its own, {@code services/<id>.json}. */
final class ServiceFiles implements ServiceStore {
  private static final Logger LOGGER = LogManager.getLogger(ServiceFiles.class);

  private final StateFolder<Service> folder;
  private final Faults faults;

  ServiceFiles(StateFolder<Service> folder, Faults faults) {
    this.folder = folder;
    this.faults = faults;
  }

  @Override
  public Stored load() {
    final List<Service> services = new ArrayList<>();
    final Map<Integer, String> unreadable = new TreeMap<>();
    for (final String name : folder.names()) {
      final int id = NumberedFiles.numberOf(name, Integer.MAX_VALUE);
      if (id == 0) {
        LOGGER.warn("state file {} is not that of a service; it is not read", folder.path(name));
        continue;
      }
      try {
        final Service service = folder.read(name).orElse(null);
        if (service != null && service.id() == id) {
          services.add(service);
        } else if (service != null) {
          unreadable.put(id, invalid(id, "it holds service " + service.id()));
        }
      } catch (DamagedStateException e) {
        unreadable.put(id, invalid(id, e.getMessage()));
      }
    }
    return new Stored(services, unreadable);
  }

  private String invalid(int id, String reason) {
    final String message =
        ("the record in %s cannot be read (%s); the service stays as the kernel has it. Restore the"
                + " file and start the agent again, or delete the service")
            .formatted(folder.path(name(id)), reason);
    faults.failed(subject(id), "service " + id + ": " + message);
    return message;
  }

  @Override
  public void save(Service service) {
    folder.write(name(service.id()), service);
  }

  @Override
  public void remove(int id) {
    folder.remove(name(id));
    faults.clear(subject(id));
  }

  private String subject(int id) {
    return folder.path(name(id)).toString();
  }

  private static String name(int id) {
    return Integer.toString(id);
  }
}
