package agent.state;

import agent.conductor.Faults;
import agent.ipam.Lease;
import agent.ipam.LeaseStore;
import agent.types.UnreadableStateException;
import java.util.List;

/** Stores the address leases in {@code ipam/leases.json}. */
final class LeaseFile implements LeaseStore {
  private static final String NAME = "leases";

  private final StateFolder<List<Lease>> folder;
  private final Faults faults;

  LeaseFile(StateFolder<List<Lease>> folder, Faults faults) {
    this.folder = folder;
    this.faults = faults;
  }

  @Override
  public List<Lease> load() {
    try {
      return folder.read(NAME).orElse(List.of());
    } catch (DamagedStateException e) {
      final String message =
          ("ipam: the leases in %s cannot be read (%s). Endpoints keep their addresses, and no"
                  + " address is allocated or released. Restore the file, or, if only endpoints have"
                  + " addresses, whose leases come back, %s, and start the agent again")
              .formatted(folder.path(NAME), e.getMessage(), folder.moveAway(NAME));
      faults.failed(folder.path(NAME).toString(), message);
      throw new UnreadableStateException(message);
    }
  }

  @Override
  public void save(List<Lease> leases) {
    folder.write(NAME, leases);
  }
}
