package agent.launcher.state;

import agent.ipam.Lease;
import agent.ipam.LeaseStore;
import agent.terms.IpAddress;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;

/** Address leases in {@code ipam/leases.json}. */
public final class LeaseFile implements LeaseStore {
  private static final String NAME = "leases";

  private final StateFolder folder;

  private LeaseFile(final StateFolder folder) {
    this.folder = folder;
  }

  /**
   * Opens the store.
   *
   * @param stateDirectory the agent's state directory
   * @return the store
   */
  public static LeaseFile open(final Path stateDirectory) {
    return new LeaseFile(StateFolder.open(stateDirectory.resolve("ipam"), NAME));
  }

  @Override
  public List<Lease> load() {
    return folder
        .read(NAME, Document.class, document -> document.leases.stream().map(Entry::lease).toList())
        .orElse(List.of());
  }

  @Override
  public void save(final List<Lease> leases) {
    folder.write(NAME, new Document(leases.stream().map(Entry::of).toList()));
  }

  record Document(List<Entry> leases) {}

  /** A lease as text; the expiration is null where no timer runs. */
  record Entry(
      String address,
      String pool,
      String owner,
      int endpointId,
      String expirationUuid,
      String expiresAt) {
    static Entry of(final Lease lease) {
      return new Entry(
          lease.address().toString(),
          lease.pool(),
          lease.owner(),
          lease.endpointId(),
          lease.expirationUuid(),
          lease.expiresAt() == null ? null : lease.expiresAt().toString());
    }

    Lease lease() {
      return new Lease(
          IpAddress.parse(address),
          pool,
          owner,
          endpointId,
          expirationUuid,
          expiresAt == null ? null : Instant.parse(expiresAt));
    }
  }
}
