package agent.state;

import agent.conductor.Faults;
import agent.service.Frontend;
import agent.service.Service;
import agent.service.ServiceProtocol;
import agent.types.IpAddress;
import java.nio.file.Path;
import java.util.List;

/** Services in files of several, as the tests of their folder share them. */
final class StoredServices {
  private StoredServices() {}

  /** Opens the folder of a state directory, with what it has noted as written. */
  static ServiceBatches batches(Path directory, Faults faults) {
    return new ServiceBatches(
        new StateFolder<>(
            new FolderFiles(directory.resolve("service-batches")),
            "services",
            new ServiceListCodec(),
            faults,
            new WrittenFiles(directory, "service-batches"),
            FileChanges.ALONE),
        faults);
  }

  /** Returns a service whose port is its id. */
  static Service numbered(int id) {
    return new Service(
        id,
        new Frontend(IpAddress.parse("10.96.0.1"), id, ServiceProtocol.TCP),
        List.of(),
        false,
        0,
        null,
        null);
  }
}
