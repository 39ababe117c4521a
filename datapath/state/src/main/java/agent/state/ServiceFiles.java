package agent.state;

import agent.datapath.manager.guard.Faults;
import agent.service.Service;
import agent.service.ServiceStore;

/** Stores each service in a file of its own, {@code services/<id>.json}. */
final class ServiceFiles implements ServiceStore {
  private final NumberedFiles<Service> files;

  ServiceFiles(StateFolder<Service> folder, Faults faults) {
    files =
        new NumberedFiles<>(
            folder,
            faults,
            Service::id,
            Integer.MAX_VALUE,
            "service",
            "stays as the kernel has it");
  }

  @Override
  public Stored load() {
    final NumberedFiles.Loaded<Service> loaded = files.load();
    return new Stored(loaded.documents(), loaded.unreadable());
  }

  @Override
  public void save(Service service) {
    files.save(service);
  }

  @Override
  public void remove(int id) {
    files.remove(id);
  }
}
