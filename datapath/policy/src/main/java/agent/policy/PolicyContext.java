package agent.policy;

import agent.identity.CidrIdentityAllocator;
import agent.identity.IdentityDirectory;
import agent.identity.LocalCidrIdentityAllocator;
import agent.maps.layout.MapSize;
import agent.policy.repository.PolicyLimits;
import agent.policy.repository.PolicyStore;
import agent.policy.resolve.AllowLocalhost;
import agent.policy.resolve.EnforcementMode;
import agent.types.IpAddress;
import agent.types.Prefix;
import agent.types.ServiceName;
import java.util.Collection;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** The configuration of {@link PolicyEngine} until {@link #conclude()}; immutable after it. */
public final class PolicyContext {
  private boolean isConcluded;
  private IdentityDirectory identities;
  private CidrIdentityAllocator cidrIdentities = new LocalCidrIdentityAllocator();
  private PolicyStore store = PolicyStore.inMemory();
  private Function<Runnable, CompletableFuture<Void>> storing = PolicyContext::atOnce;
  private Function<Runnable, CompletableFuture<Void>> beside = PolicyContext::atOnce;
  private EnforcementMode mode = EnforcementMode.DEFAULT;
  private AllowLocalhost allowLocalhost = AllowLocalhost.AUTO;
  private int mapCapacity = MapSize.POLICY_MAP_MAX_ENTRIES;
  private PolicyLimits limits = PolicyLimits.DEFAULT;
  private Map<String, ? extends Collection<IpAddress>> names = Map.of();
  private Map<ServiceName, ? extends Collection<IpAddress>> services = Map.of();
  private Map<Prefix, Integer> formerNumbers = Map.of();

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

  /** Sets what runs writes to the store, in their order; the future completes after the write. */
  public PolicyContext storing(Function<Runnable, CompletableFuture<Void>> value) {
    storing = changing(value);
    return this;
  }

  /** Sets what resolves policies beside the engine's thread during a commit. */
  public PolicyContext beside(Function<Runnable, CompletableFuture<Void>> value) {
    beside = changing(value);
    return this;
  }

  static CompletableFuture<Void> atOnce(Runnable work) {
    return CompletableFuture.runAsync(work, Runnable::run);
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

  /** Sets how much the rules may hold together. */
  public PolicyContext limits(PolicyLimits value) {
    limits = changing(value);
    return this;
  }

  /** Sets the addresses that names have at the start, by name with a dot at the end. */
  public PolicyContext names(Map<String, ? extends Collection<IpAddress>> value) {
    names = changing(value);
    return this;
  }

  /** Sets the addresses that the backends of services have at the start. */
  public PolicyContext services(Map<ServiceName, ? extends Collection<IpAddress>> value) {
    services = changing(value);
    return this;
  }

  /**
   * Sets the numbers that addresses of names had in the previous run: those of the kernel's
   * ipcache.
   */
  public PolicyContext formerNumbers(Map<Prefix, Integer> value) {
    formerNumbers = changing(value);
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
    Objects.requireNonNull(storing, "storing");
    Objects.requireNonNull(beside, "beside");
    Objects.requireNonNull(mode, "mode");
    Objects.requireNonNull(allowLocalhost, "allowLocalhost");
    Objects.requireNonNull(limits, "limits");
    Objects.requireNonNull(names, "names");
    Objects.requireNonNull(services, "services");
    Objects.requireNonNull(formerNumbers, "formerNumbers");
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

  Function<Runnable, CompletableFuture<Void>> storing() {
    return storing;
  }

  Function<Runnable, CompletableFuture<Void>> beside() {
    return beside;
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

  PolicyLimits limits() {
    return limits;
  }

  Map<String, ? extends Collection<IpAddress>> names() {
    return names;
  }

  Map<ServiceName, ? extends Collection<IpAddress>> services() {
    return services;
  }

  Map<Prefix, Integer> formerNumbers() {
    return formerNumbers;
  }
}
