package agent.ipam;

import agent.types.IpAddress;
import agent.types.Prefix;
import agent.types.Refusal;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The addresses of this node's workloads: pools, leases and expiration timers. Any thread may call.
 *
 * <p>A change of a lease without an endpoint is in the store before the call returns; where the
 * store fails nothing has changed. No caller waits for the store under the lock: changes that come
 * while leases are written share the next write, and where one fails, all that are not stored are
 * taken back. An endpoint's own record is the commit point of its creation and deletion: a claim is
 * stored before it, and what follows from it (addresses of an endpoint that is deleted or was not
 * created) stands even where it can be stored only by a later call. After a crash in between,
 * restored endpoints claim their addresses again, and the leases of endpoints that do not exist are
 * released.
 *
 * <p>Where the stored leases cannot be read, addresses that are in use are not known: no address is
 * given out or released, and nothing is stored. Leases without an endpoint are in that file alone,
 * so they cannot be found again from the endpoints.
 */
public final class Ipam {
  private static final Logger LOGGER = LogManager.getLogger(Ipam.class);
  private static final int LONGEST_OWNER = 1024;
  private static final CompletableFuture<Void> STORED = CompletableFuture.completedFuture(null);

  private final IpamContext context;
  private final Map<String, AddressPool> pools = new LinkedHashMap<>();
  private final Map<Prefix, PrefixCursor> cursors = new HashMap<>();
  private final Set<IpAddress> reserved;
  private final LeaseTable leases;
  private boolean isStoring;

  /** Completes with the write that is at work, and with the next one; null where there is none. */
  private CompletableFuture<Void> present;

  private CompletableFuture<Void> next;

  /**
   * A change of leases.
   *
   * @param value what the calls returned
   * @param stored completes when the change is in the store; exceptionally where that has failed
   *     and the change is taken back
   */
  public record Change<T>(T value, CompletableFuture<Void> stored) {}

  private Ipam(IpamContext context) {
    this.context = context;
    reserved = context.reserved();
    leases = new LeaseTable(context.store(), this::giveBack);
    for (final AddressPool pool : context.pools()) {
      pools.put(pool.name(), pool);
      pool.cidrs().forEach(cidr -> cursors.put(cidr, new PrefixCursor(cidr)));
    }
  }

  /**
   * Restores the leases of the store.
   *
   * @param context concluded
   * @return the address management
   */
  public static Ipam open(IpamContext context) {
    final Ipam ipam = new Ipam(context);
    ipam.leases.restore();
    return ipam;
  }

  /**
   * Allocates the next free address of each family asked for.
   *
   * @param family which family
   * @param owner who asks; may be null or empty
   * @param pool the pool's name; null or empty for the default one
   * @param expiring whether the lease expires unless an endpoint claims the address in time
   * @return the addresses
   * @throws Refusal INVALID for an unknown pool or an owner that is too long, DISABLED, EXHAUSTED;
   *     then nothing is allocated
   */
  public AddressAllocation allocate(
      AddressFamily family, String owner, String pool, boolean expiring) {
    return awaited(change(() -> allocate(family, owner, pool, expiring, 0)));
  }

  /**
   * Makes changes for an endpoint, without waiting for the store.
   *
   * @param calls {@link #allocateFor} and {@link #claim}
   * @throws RuntimeException as the calls; also where it is known at once that the store fails
   */
  public synchronized <T> Change<T> change(Supplier<T> calls) {
    final long before = leases.version();
    final T value = calls.get();
    return new Change<>(value, leases.version() == before || next == null ? STORED : next);
  }

  private static <T> T awaited(Change<T> change) {
    try {
      change.stored().join();
    } catch (CompletionException failure) {
      throw failure.getCause() instanceof RuntimeException refused ? refused : failure;
    }
    return change.value();
  }

  /**
   * Allocates the next free address of each enabled family and claims them for an endpoint, in one
   * change, which {@link #change} has stored.
   *
   * @param endpointId the endpoint, not 0
   * @param pool the pool's name; null or empty for the default one
   * @return the addresses
   * @throws Refusal as {@link #allocate}
   */
  public synchronized AddressAllocation allocateFor(int endpointId, String pool) {
    return allocate(AddressFamily.BOTH, "endpoint " + endpointId, pool, false, endpointId);
  }

  private synchronized AddressAllocation allocate(
      AddressFamily family, String owner, String pool, boolean expiring, int endpointId) {
    leases.checkReadable();
    checkOwner(owner);
    expire();
    final AddressPool from = pool(pool);
    final boolean wants4 = wants(family, from, true);
    final boolean wants6 = wants(family, from, false);
    final Lease ipv4 = wants4 ? next(from, true, owner, expiring) : null;
    final Lease ipv6;
    try {
      ipv6 = wants6 ? next(from, false, owner, expiring) : null;
    } catch (Refusal refusal) {
      if (ipv4 != null) {
        giveBack(ipv4.address());
      }
      throw refusal;
    }
    final Map<IpAddress, Lease> change = new LinkedHashMap<>();
    for (final Lease lease : new Lease[] {ipv4, ipv6}) {
      if (lease != null) {
        change.put(lease.address(), endpointId == 0 ? lease : lease.claimedBy(endpointId));
      }
    }
    if (change.isEmpty()) {
      throw Refusal.disabled(
          "family", "pool '" + from.name() + "' has no addresses of an enabled family");
    }
    store(change);
    return new AddressAllocation(
        Optional.ofNullable(ipv4).map(this::answer), Optional.ofNullable(ipv6).map(this::answer));
  }

  private boolean wants(AddressFamily family, AddressPool pool, boolean ipv4) {
    final AddressFamily own = ipv4 ? AddressFamily.IPV4 : AddressFamily.IPV6;
    if (family == AddressFamily.BOTH) {
      return context.isEnabled(ipv4) && !pool.cidrs(ipv4).isEmpty();
    }
    if (family != own) {
      return false;
    }
    checkEnabled("family", ipv4);
    if (pool.cidrs(ipv4).isEmpty()) {
      throw Refusal.disabled(
          "family", "pool '" + pool.name() + "' has no " + familyName(ipv4) + " addresses");
    }
    return true;
  }

  private void checkEnabled(String field, boolean ipv4) {
    if (!context.isEnabled(ipv4)) {
      throw Refusal.disabled(field, familyName(ipv4) + " is disabled");
    }
  }

  private static String familyName(boolean ipv4) {
    return ipv4 ? "IPv4" : "IPv6";
  }

  /** The owner is stored with each lease and quoted in refusals. */
  private static void checkOwner(String owner) {
    if (owner != null && owner.length() > LONGEST_OWNER) {
      throw Refusal.invalid("owner", "longer than " + LONGEST_OWNER + " characters");
    }
  }

  private Lease next(AddressPool pool, boolean ipv4, String owner, boolean expiring) {
    for (final Prefix cidr : pool.cidrs(ipv4)) {
      final IpAddress address = cursors.get(cidr).find(this::isTaken);
      if (address != null) {
        return lease(address, pool, owner, expiring);
      }
    }
    final long inUse =
        leases.all().stream()
            .filter(l -> l.pool().equals(pool.name()) && l.address().isIpv4() == ipv4)
            .count();
    throw Refusal.exhausted(
        "pool",
        "'" + pool.name() + "' has no free " + familyName(ipv4) + " address, " + inUse + " in use");
  }

  private boolean isTaken(IpAddress address) {
    return leases.get(address) != null || reserved.contains(address);
  }

  private Lease lease(IpAddress address, AddressPool pool, String owner, boolean expiring) {
    final Instant end = expiring ? context.clock().instant().plus(context.expiration()) : null;
    final String uuid = expiring ? context.uuids().get() : null;
    return new Lease(address, pool.name(), owner == null ? "" : owner, 0, uuid, end);
  }

  /**
   * Allocates this address.
   *
   * @param field the field to name in a refusal
   * @param address the address
   * @param owner who asks; may be null or empty
   * @param pool the pool's name; null or empty for the one whose prefix holds the address
   * @return the address
   * @throws Refusal INVALID outside the pool or reserved, CONFLICT where it is leased, DISABLED
   */
  public AllocatedAddress allocateAddress(
      String field, IpAddress address, String owner, String pool) {
    return awaited(change(() -> lease(field, address, owner, pool)));
  }

  private synchronized AllocatedAddress lease(
      String field, IpAddress address, String owner, String pool) {
    leases.checkReadable();
    checkOwner(owner);
    expire();
    final Lease lease = specific(field, address, owner, pool);
    store(Map.of(address, lease));
    return answer(lease);
  }

  private Lease specific(String field, IpAddress address, String owner, String poolName) {
    checkEnabled(field, address.isIpv4());
    final AddressPool pool = poolOf(field, address, poolName);
    final Lease holder = leases.get(address);
    if (holder != null) {
      throw Refusal.conflict(field, address + " is in use by " + holder.holder());
    }
    if (reserved.contains(address)) {
      throw Refusal.conflict(field, address + " is in use by the node");
    }
    if (pool.cidrs().stream().noneMatch(cidr -> cursors.get(cidr).isUsable(address))) {
      throw Refusal.invalid(field, address + " is a network or broadcast address");
    }
    return lease(address, pool, owner, false);
  }

  private AddressPool poolOf(String field, IpAddress address, String name) {
    if (name != null && !name.isEmpty()) {
      final AddressPool pool = pool(name);
      if (!pool.contains(address)) {
        throw Refusal.invalid(
            field, address + " is outside pool '" + name + "' " + pool.cidrs(address.isIpv4()));
      }
      return pool;
    }
    for (final AddressPool pool : pools.values()) {
      if (pool.contains(address)) {
        return pool;
      }
    }
    throw Refusal.invalid(field, address + " is outside every pool");
  }

  private AddressPool pool(String name) {
    final String wanted = name == null || name.isEmpty() ? AddressPool.DEFAULT : name;
    final AddressPool pool = pools.get(wanted);
    if (pool == null) {
      throw Refusal.invalid("pool", "pool '" + wanted + "' does not exist");
    }
    return pool;
  }

  /**
   * Claims an address for an endpoint: adopts its lease and stops the expiration timer, or creates
   * a new lease where there is none. Claiming again for the same endpoint changes nothing. {@link
   * #change} has the claim stored.
   *
   * @param field the field to name in a refusal
   * @param address the address
   * @param endpointId the endpoint, not 0
   * @param expirationUuid the timer that the endpoint names; null or empty where it names none
   * @param pool the pool's name; null or empty for the one whose prefix holds the address
   * @return the address
   * @throws Refusal as {@link #allocateAddress}; CONFLICT where another endpoint uses it; INVALID
   *     where the timer is another one
   */
  public synchronized AllocatedAddress claim(
      String field, IpAddress address, int endpointId, String expirationUuid, String pool) {
    leases.checkReadable();
    expire();
    final Lease claimed = claimed(field, address, endpointId, expirationUuid, pool);
    if (!claimed.equals(leases.get(address))) {
      store(Map.of(address, claimed));
    }
    return answer(claimed);
  }

  /** Checks whether {@link #claim} would be refused, and returns its answer; changes nothing. */
  public synchronized AllocatedAddress checkClaim(
      String field, IpAddress address, int endpointId, String expirationUuid, String pool) {
    expire();
    return answer(claimed(field, address, endpointId, expirationUuid, pool));
  }

  /**
   * Claims an address for an endpoint of the previous run, as {@link #claim}, but also where leases
   * cannot be read or stored now.
   *
   * @param address the address
   * @param endpointId the endpoint, not 0
   * @throws Refusal as {@link #claim}
   */
  public synchronized void reclaim(IpAddress address, int endpointId) {
    expire();
    final Lease claimed = claimed("addressing", address, endpointId, null, null);
    if (!claimed.equals(leases.get(address))) {
      follow(Map.of(address, claimed));
    }
  }

  /** Applies changes that are taken back where they cannot be stored. */
  private void store(Map<IpAddress, Lease> change) {
    leases.change(change);
    final CompletableFuture<Void> stored = storeSoon();
    if (stored.isCompletedExceptionally()) {
      throw unwrapped(stored.exceptionNow());
    }
  }

  /** Applies changes that stand even where they are stored later. */
  private void follow(Map<IpAddress, Lease> change) {
    leases.follow(change);
    storeSoon();
  }

  /** Returns when the changes until now are stored; those until that write begins share it. */
  private CompletableFuture<Void> storeSoon() {
    if (next == null) {
      next = new CompletableFuture<>();
    }
    final CompletableFuture<Void> stored = next;
    if (!isStoring) {
      begin();
    }
    return stored;
  }

  private synchronized void begin() {
    isStoring = true;
    final Storing storing = new Storing();
    context.storing().apply(storing::write).whenComplete((done, failure) -> storing.ended(failure));
  }

  /** One write of the leases. The lock is not held while the disk is waited for. */
  private final class Storing {
    private LeaseTable.Unsaved unsaved;

    private void write() {
      synchronized (Ipam.this) {
        present = next;
        next = null;
        unsaved = leases.unsaved();
      }
      if (unsaved != null) {
        context.store().save(unsaved.leases());
      }
    }

    private void ended(Throwable failure) {
      final List<CompletableFuture<Void>> answers = new ArrayList<>();
      synchronized (Ipam.this) {
        answers.add(present);
        present = null;
        isStoring = false;
        if (failure != null) {
          LOGGER.debug("storing the leases failed: {}", failure.getMessage());
          leases.failed();
          answers.add(next);
          next = null;
        } else if (unsaved != null) {
          leases.stored(unsaved);
        }
        if (next != null) {
          begin();
        }
      }
      answers.stream().filter(Objects::nonNull).forEach(answer -> answer(answer, failure));
    }

    private static void answer(CompletableFuture<Void> answer, Throwable failure) {
      if (failure == null) {
        answer.complete(null);
      } else {
        answer.completeExceptionally(unwrapped(failure));
      }
    }
  }

  private static RuntimeException unwrapped(Throwable failure) {
    final Throwable cause =
        failure instanceof CompletionException && failure.getCause() != null
            ? failure.getCause()
            : failure;
    return cause instanceof RuntimeException refused ? refused : new IllegalStateException(cause);
  }

  private Lease claimed(
      String field, IpAddress address, int endpointId, String expirationUuid, String pool) {
    final Lease known = leases.get(address);
    final Lease lease = known != null ? known : specific(field, address, "", pool);
    if (lease.endpointId() == endpointId) {
      return lease;
    }
    if (lease.endpointId() != 0) {
      throw Refusal.conflict(field, address + " is in use by " + lease.holder());
    }
    final boolean namesTimer = expirationUuid != null && !expirationUuid.isEmpty();
    if (namesTimer && known != null && !expirationUuid.equals(known.expirationUuid())) {
      throw Refusal.invalid(
          field, "'" + expirationUuid + "' is not the expiration timer of " + address);
    }
    if (known != null && pool != null && !pool.isEmpty() && !pool.equals(known.pool())) {
      throw Refusal.invalid(field, address + " belongs to pool '" + known.pool() + "'");
    }
    return lease.claimedBy(endpointId);
  }

  /**
   * Releases the addresses of an endpoint.
   *
   * @param endpointId the endpoint
   * @return the addresses that it had
   */
  public synchronized List<IpAddress> releaseEndpoint(int endpointId) {
    final List<IpAddress> gone = leases.of(endpointId);
    if (!gone.isEmpty()) {
      follow(removal(gone));
    }
    return gone;
  }

  /**
   * Undoes the claims of an endpoint that was not created: leases return to their owners as they
   * were, and addresses that had none are free.
   *
   * @param endpointId the endpoint
   * @param adopted the leases that it adopted, as they were before
   */
  public synchronized void undoClaims(int endpointId, List<Lease> adopted) {
    final Map<IpAddress, Lease> change = new HashMap<>();
    leases.of(endpointId).forEach(address -> change.put(address, null));
    for (final Lease lease : adopted) {
      final Lease now = leases.get(lease.address());
      if (now == null || now.endpointId() == endpointId) {
        change.put(lease.address(), lease);
      }
    }
    if (!change.isEmpty()) {
      follow(change);
    }
  }

  /**
   * Releases an address.
   *
   * @param field the field to name in a refusal
   * @param address the address
   * @param pool the pool's name; null or empty for any
   * @throws Refusal NOT_FOUND where it is not leased, CONFLICT where an endpoint uses it
   */
  public void release(String field, IpAddress address, String pool) {
    awaited(
        change(
            () -> {
              releaseLease(field, address, pool);
              return null;
            }));
  }

  private synchronized void releaseLease(String field, IpAddress address, String pool) {
    leases.checkReadable();
    expire();
    final boolean anyPool = pool == null || pool.isEmpty();
    if (!anyPool) {
      pool(pool);
    }
    final Lease lease = leases.get(address);
    if (lease == null || !anyPool && !lease.pool().equals(pool)) {
      throw Refusal.notFound(
          field, address + " is not allocated" + (anyPool ? "" : " from pool '" + pool + "'"));
    }
    if (lease.endpointId() != 0) {
      throw Refusal.conflict(field, address + " is in use by " + lease.holder());
    }
    store(removal(List.of(address)));
  }

  /**
   * Releases the leases whose timers have ended, and has stored what could not be stored before.
   * Every other call does so first; a periodic call keeps the store small and current.
   *
   * @return how many addresses were released
   */
  public synchronized int expire() {
    final int expired = leases.removeExpired(context.clock().instant());
    if (expired > 0 || leases.unsaved() != null && !isStoring) {
      storeSoon();
    }
    return expired;
  }

  private static Map<IpAddress, Lease> removal(List<IpAddress> addresses) {
    final Map<IpAddress, Lease> change = new HashMap<>();
    addresses.forEach(address -> change.put(address, null));
    return change;
  }

  private void giveBack(IpAddress address) {
    cursors.forEach(
        (cidr, cursor) -> {
          if (cursor.isUsable(address)) {
            cursor.freed(address);
          }
        });
  }

  private AllocatedAddress answer(Lease lease) {
    final boolean ipv4 = lease.address().isIpv4();
    final AddressPool pool = pools.get(lease.pool());
    return new AllocatedAddress(
        lease.address(),
        lease.pool(),
        context.gateway(ipv4),
        pool == null ? List.of() : pool.cidrs(ipv4),
        lease.expirationUuid());
  }

  /** Returns the lease of an address, if any. */
  public synchronized Optional<Lease> find(IpAddress address) {
    return Optional.ofNullable(leases.get(Objects.requireNonNull(address)));
  }

  /** Returns all leases by address. */
  public synchronized List<Lease> leases() {
    return leases.all();
  }

  /** Returns the pools in the order in which they were named. */
  public List<AddressPool> pools() {
    return List.copyOf(pools.values());
  }

  /**
   * The answer to an allocation.
   *
   * @param ipv4 the IPv4 address, where one was given
   * @param ipv6 the IPv6 address, where one was given
   */
  public record AddressAllocation(
      Optional<AllocatedAddress> ipv4, Optional<AllocatedAddress> ipv6) {}

  /**
   * One address of an allocation, with the values that its user needs.
   *
   * @param address the address
   * @param pool the pool it comes from
   * @param gateway the gateway of its family, null where the node has none
   * @param cidrs the pool's prefixes of its family
   * @param expirationUuid the expiration timer, null where none runs
   */
  public record AllocatedAddress(
      IpAddress address,
      String pool,
      IpAddress gateway,
      List<Prefix> cidrs,
      String expirationUuid) {}
}
