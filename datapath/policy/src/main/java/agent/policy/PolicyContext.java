package agent.policy;

import agent.identity.IdentityAllocator;
import java.util.Objects;

/** What {@link PolicyEngine} is made of; not changed after {@link #conclude()}. */
public final class PolicyContext {
  /** Entries of one policy map: {@code POLICY_MAP_MAX_ENTRIES}. */
  public static final int MAP_CAPACITY = 16384;

  private IdentityAllocator identities;
  private PolicyStore store = PolicyStore.inMemory();
  private EnforcementMode mode = EnforcementMode.DEFAULT;
  private AllowLocalhost allowLocalhost = AllowLocalhost.AUTO;
  private int mapCapacity = MAP_CAPACITY;

  /** Where identities come from; required. */
  public PolicyContext identities(IdentityAllocator value) {
    identities = value;
    return this;
  }

  /** Where rules are kept. */
  public PolicyContext store(PolicyStore value) {
    store = value;
    return this;
  }

  /** When policy is enforced. */
  public PolicyContext mode(EnforcementMode value) {
    mode = value;
    return this;
  }

  /** When the node may reach its endpoints. */
  public PolicyContext allowLocalhost(AllowLocalhost value) {
    allowLocalhost = value;
    return this;
  }

  /** How many entries a policy map holds. */
  public PolicyContext mapCapacity(int value) {
    mapCapacity = value;
    return this;
  }

  /** Checks the whole. */
  public PolicyContext conclude() {
    Objects.requireNonNull(identities, "identities");
    Objects.requireNonNull(store, "store");
    Objects.requireNonNull(mode, "mode");
    Objects.requireNonNull(allowLocalhost, "allowLocalhost");
    if (mapCapacity < 2) {
      throw new IllegalArgumentException("a policy map of " + mapCapacity + " entries");
    }
    return this;
  }

  IdentityAllocator identities() {
    return identities;
  }

  PolicyStore store() {
    return store;
  }

  EnforcementMode mode() {
    return mode;
  }

  AllowLocalhost allowLocalhost() {
    return allowLocalhost;
  }

  int mapCapacity() {
    return mapCapacity;
  }
}
