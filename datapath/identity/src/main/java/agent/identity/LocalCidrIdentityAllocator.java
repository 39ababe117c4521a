package agent.identity;

import agent.identity.IdentityDirectory.IdentityListener;
import agent.types.Prefix;
import java.util.List;
import java.util.Optional;

/** The identities of CIDRs and of the addresses of names in this process. */
public final class LocalCidrIdentityAllocator implements CidrIdentityAllocator {
  private final IdentityTable table =
      new IdentityTable(new NumberRange("CIDR identities", Identity.LOCAL_MIN, Identity.LOCAL_MAX));

  /** Creates an allocator with only the reserved identities. */
  public LocalCidrIdentityAllocator() {}

  @Override
  public Identity acquire(Prefix prefix) {
    return table.acquire(labelsOf(prefix));
  }

  @Override
  public Identity restore(int id, Prefix prefix) {
    return table.restore(id, labelsOf(prefix));
  }

  @Override
  public Identity acquire(LabelSet labels) {
    return table.acquire(labels);
  }

  @Override
  public Identity restore(int id, LabelSet labels) {
    return table.restore(id, labels);
  }

  @Override
  public boolean release(int id) {
    return table.release(id);
  }

  private static LabelSet labelsOf(Prefix prefix) {
    if (prefix.length() == 0) {
      return ReservedIdentity.world(prefix.isIpv4()).identity().labels();
    }
    return LabelSet.ofCidr(prefix);
  }

  @Override
  public Optional<Identity> find(Prefix prefix) {
    return table.find(labelsOf(prefix));
  }

  @Override
  public Optional<Identity> find(int id) {
    return table.find(id);
  }

  @Override
  public List<Identity> list() {
    return table.list();
  }

  @Override
  public void addListener(IdentityListener listener) {
    table.addListener(listener);
  }
}
