package agent.identity;

import agent.identity.IdentityDirectory.IdentityInUse;
import agent.identity.IdentityDirectory.IdentityListener;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/** The identities of a node that shares them with no other; its futures are always complete. */
public final class LocalIdentityAllocator implements IdentityAllocator {
  private final IdentityTable table;

  /** Creates an allocator with only the reserved identities. */
  public LocalIdentityAllocator() {
    this(FixedIdentities.NONE);
  }

  /** Creates an allocator with the reserved identities and those with chosen numbers. */
  public LocalIdentityAllocator(FixedIdentities fixed) {
    table =
        new IdentityTable(
            new NumberRange("identities", Identity.CLUSTER_MIN, Identity.CLUSTER_MAX), fixed);
  }

  @Override
  public CompletableFuture<Identity> acquire(LabelSet labels) {
    return complete(() -> table.acquire(ofEndpoint(labels)));
  }

  @Override
  public CompletableFuture<Identity> restore(int id, LabelSet labels) {
    return complete(() -> table.restore(id, ofEndpoint(labels)));
  }

  @Override
  public CompletableFuture<Boolean> release(int id) {
    return complete(() -> table.release(id));
  }

  private static LabelSet ofEndpoint(LabelSet labels) {
    return labels.isEmpty() ? ReservedIdentity.INIT.identity().labels() : labels;
  }

  private static <T> CompletableFuture<T> complete(Supplier<T> change) {
    try {
      return CompletableFuture.completedFuture(change.get());
    } catch (RuntimeException failure) {
      return CompletableFuture.failedFuture(failure);
    }
  }

  @Override
  public Optional<Identity> find(int id) {
    return table.find(id);
  }

  @Override
  public Optional<Identity> find(LabelSet labels) {
    return table.find(labels);
  }

  @Override
  public List<Identity> list() {
    return table.list();
  }

  @Override
  public List<IdentityInUse> inUse() {
    return table.inUse();
  }

  @Override
  public void addListener(IdentityListener listener) {
    table.addListener(listener);
  }
}
