package agent.ipam;

import agent.types.IpAddress;
import agent.types.Prefix;
import agent.types.Refusal;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Supplier;

/** The configuration of {@link Ipam} until {@link #conclude()}; immutable after it. */
public final class IpamContext {
  private boolean isConcluded;
  private final List<AddressPool> pools = new ArrayList<>();
  private final Set<IpAddress> reserved = new HashSet<>();
  private boolean ipv4Enabled = true;
  private boolean ipv6Enabled = true;
  private IpAddress gateway4;
  private IpAddress gateway6;
  private Duration expiration = Duration.ofMinutes(10);
  private InstantSource clock = InstantSource.system();
  private Supplier<String> uuids = () -> UUID.randomUUID().toString();
  private LeaseStore store = LeaseStore.inMemory();
  private Function<Runnable, CompletableFuture<Void>> storing =
      write -> CompletableFuture.runAsync(write, Runnable::run);

  /** Adds a pool. */
  public IpamContext pool(AddressPool pool) {
    pools.add(changing(pool));
    return this;
  }

  /** Adds an address that is never allocated, for example one of the node. */
  public IpamContext reserve(IpAddress address) {
    reserved.add(changing(address));
    return this;
  }

  /** Sets the enabled families; both by default. */
  public IpamContext families(boolean ipv4, boolean ipv6) {
    ipv4Enabled = changing(ipv4);
    ipv6Enabled = ipv6;
    return this;
  }

  /** Sets the gateways of the workloads, null for none; they are reserved. */
  public IpamContext gateways(IpAddress ipv4, IpAddress ipv6) {
    gateway4 = changing(ipv4);
    gateway6 = ipv6;
    return this;
  }

  /**
   * Sets the time after which a lease with a timer expires unless an endpoint claims it; 10 minutes
   * by default.
   */
  public IpamContext expiration(Duration value) {
    expiration = changing(value);
    return this;
  }

  /** Sets the clock of the timers. */
  public IpamContext clock(InstantSource value) {
    clock = changing(value);
    return this;
  }

  /** Sets the generator of timer ids. */
  public IpamContext uuids(Supplier<String> value) {
    uuids = changing(value);
    return this;
  }

  /** Sets the store of the leases. */
  public IpamContext store(LeaseStore value) {
    store = changing(value);
    return this;
  }

  /**
   * Sets what runs writes to the store, one at a time, so that no caller waits for the disk under
   * the lock; the future completes after the write. By default the thread of the change runs them.
   */
  public IpamContext storing(Function<Runnable, CompletableFuture<Void>> value) {
    storing = changing(value);
    return this;
  }

  /**
   * Checks what was set; after it nothing can be set.
   *
   * @return this
   * @throws Refusal INVALID where there is no default pool, a name is used twice or pools overlap
   */
  public IpamContext conclude() {
    Objects.requireNonNull(clock, "clock");
    Objects.requireNonNull(uuids, "uuids");
    Objects.requireNonNull(store, "store");
    Objects.requireNonNull(storing, "storing");
    if (expiration.isNegative() || expiration.isZero()) {
      throw Refusal.invalid("expiration", expiration + " is not greater than 0");
    }
    if (pools.stream().noneMatch(pool -> pool.name().equals(AddressPool.DEFAULT))) {
      throw Refusal.invalid("pools", "pool '" + AddressPool.DEFAULT + "' does not exist");
    }
    for (int i = 0; i < pools.size(); i++) {
      checkName(i);
      checkOverlap(i);
    }
    checkFamily("ipv4 gateway", gateway4, true);
    checkFamily("ipv6 gateway", gateway6, false);
    isConcluded = true;
    return this;
  }

  private <T> T changing(T value) {
    if (isConcluded) {
      throw new IllegalStateException("the IPAM context is concluded");
    }
    return value;
  }

  private void checkName(int index) {
    final String name = pools.get(index).name();
    if (name.isEmpty()) {
      throw Refusal.invalid("pools", "a pool has no name");
    }
    for (int i = 0; i < index; i++) {
      if (pools.get(i).name().equals(name)) {
        throw Refusal.invalid("pools", "'" + name + "': duplicate name");
      }
    }
  }

  private void checkOverlap(int index) {
    final List<Prefix> before = new ArrayList<>();
    for (int i = 0; i < index; i++) {
      before.addAll(pools.get(i).cidrs());
    }
    for (final Prefix cidr : pools.get(index).cidrs()) {
      for (final Prefix other : before) {
        if (cidr.overlaps(other)) {
          throw Refusal.invalid("pools", cidr + " overlaps " + other);
        }
      }
      before.add(cidr);
    }
  }

  private static void checkFamily(String field, IpAddress address, boolean ipv4) {
    if (address != null && address.isIpv4() != ipv4) {
      throw Refusal.invalid(field, "'" + address + "' belongs to the other address family");
    }
  }

  List<AddressPool> pools() {
    return pools;
  }

  Set<IpAddress> reserved() {
    final Set<IpAddress> all = new HashSet<>(reserved);
    if (gateway4 != null) {
      all.add(gateway4);
    }
    if (gateway6 != null) {
      all.add(gateway6);
    }
    return all;
  }

  boolean isEnabled(boolean ipv4) {
    return ipv4 ? ipv4Enabled : ipv6Enabled;
  }

  IpAddress gateway(boolean ipv4) {
    return ipv4 ? gateway4 : gateway6;
  }

  Duration expiration() {
    return expiration;
  }

  InstantSource clock() {
    return clock;
  }

  Supplier<String> uuids() {
    return uuids;
  }

  LeaseStore store() {
    return store;
  }

  Function<Runnable, CompletableFuture<Void>> storing() {
    return storing;
  }
}
