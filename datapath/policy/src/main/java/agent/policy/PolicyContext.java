package agent.policy;

import agent.identity.CidrIdentityAllocator;
import agent.identity.IdentityDirectory;
import agent.identity.LocalCidrIdentityAllocator;
import agent.maps.layout.MapSize;
import java.util.Objects;

/** The configuration of {@link PolicyEngine} until {@link #conclude()}; immutable after it. */
public final class PolicyContext {
  private boolean isConcluded;
  private IdentityDirectory identities;
  private CidrIdentityAllocator cidrIdentities = new LocalCidrIdentityAllocator();
  private PolicyStore store = PolicyStore.inMemory();
  private EnforcementMode mode = EnforcementMode.DEFAULT;
  private AllowLocalhost allowLocalhost = AllowLocalhost.AUTO;
  private int mapCapacity = MapSize.POLICY_MAP;
  private boolean isTraced;

  /** Sets the directory of identities of endpoints, of this node and of others; required. */
  public PolicyContext identities(IdentityDirectory value) {
    identities = changing(value);
    return this;
  }

  /** Sets the allocator of identities of CIDRs; required. */
  public PolicyContext cidrIdentities(CidrIdentityAllocator value) {
    cidrIdentities = changing(value);
    return this;
  }

  /** Sets the store of rules. */
  public PolicyContext store(PolicyStore value) {
    store = changing(value);
    return this;
  }

  /** Sets when policy is enforced. */
  public PolicyContext mode(EnforcementMode value) {
    mode = changing(value);
    return this;
  }

  /** Sets when the node may send to its endpoints. */
  public PolicyContext allowLocalhost(AllowLocalhost value) {
    allowLocalhost = changing(value);
    return this;
  }

  /** Sets the number of entries that a policy map can hold. */
  public PolicyContext mapCapacity(int value) {
    mapCapacity = changing(value);
    return this;
  }

  /** Sets whether the reasons of every policy are logged from the start. */
  public PolicyContext traced(boolean value) {
    isTraced = changing(value);
    return this;
  }

  /**
   * Checks what was set; after it nothing can be set.
   *
   * @return this
   * @throws IllegalArgumentException where a policy map could not hold one entry a direction
   */
  public PolicyContext conclude() {
    Objects.requireNonNull(identities, "identities");
    Objects.requireNonNull(cidrIdentities, "cidrIdentities");
    Objects.requireNonNull(store, "store");
    Objects.requireNonNull(mode, "mode");
    Objects.requireNonNull(allowLocalhost, "allowLocalhost");
    if (mapCapacity < 2) {
      throw new IllegalArgumentException("policy map capacity: " + mapCapacity + " is less than 2");
    }
    isConcluded = true;
    return this;
  }

  private <T> T changing(T value) {
    if (isConcluded) {
      throw new IllegalStateException("the policy context is concluded");
    }
    return value;
  }

  IdentityDirectory identities() {
    return identities;
  }

  CidrIdentityAllocator cidrIdentities() {
    return cidrIdentities;
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

  boolean isTraced() {
    return isTraced;
  }

  int mapCapacity() {
    return mapCapacity;
  }
}
