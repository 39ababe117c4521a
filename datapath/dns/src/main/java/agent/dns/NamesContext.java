package agent.dns;

import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Objects;
import java.util.function.LongSupplier;

/** The configuration of {@link Names} until {@link #conclude()}; immutable after it. */
public final class NamesContext {
  private boolean isConcluded;
  private NameStore store = NameStore.inMemory();
  private Duration leastTtl = Duration.ofDays(7);
  private int mostAddresses = 50;
  private NameResolver resolver;
  private NamePoller.Pauses pauses = NamePoller.Pauses.DEFAULT;
  private List<NameLookup> preloaded = List.of();
  private InstantSource clock = InstantSource.system();
  private LongSupplier nanoClock = System::nanoTime;

  /** Sets the store. */
  public NamesContext store(NameStore value) {
    store = changing(value);
    return this;
  }

  /** Sets how long an address is kept at least. */
  public NamesContext leastTtl(Duration value) {
    leastTtl = changing(value);
    return this;
  }

  /** Sets how many addresses of one name are kept. */
  public NamesContext mostAddresses(int value) {
    mostAddresses = changing(value);
    return this;
  }

  /** Sets what looks up the names of rules; without it they are not looked up. */
  public NamesContext resolver(NameResolver value) {
    resolver = changing(value);
    return this;
  }

  /** Sets the pauses between lookups of a name. */
  NamesContext pauses(NamePoller.Pauses value) {
    pauses = changing(value);
    return this;
  }

  /** Sets lookups that are in the cache from the start on; only names, addresses and TTL count. */
  public NamesContext preloaded(List<NameLookup> value) {
    preloaded = changing(value);
    return this;
  }

  /** Sets the clocks. */
  NamesContext clocks(InstantSource time, LongSupplier nanoseconds) {
    clock = changing(time);
    nanoClock = changing(nanoseconds);
    return this;
  }

  /**
   * Checks what was set; after it nothing can be set.
   *
   * @throws IllegalArgumentException where nothing could be kept
   */
  public NamesContext conclude() {
    Objects.requireNonNull(store, "store");
    if (mostAddresses < 1 || leastTtl.isNegative()) {
      throw new IllegalArgumentException(
          "names: %d addresses, kept for at least %s".formatted(mostAddresses, leastTtl));
    }
    isConcluded = true;
    return this;
  }

  private <T> T changing(T value) {
    if (isConcluded) {
      throw new IllegalStateException("the context of names is concluded");
    }
    return value;
  }

  NameStore store() {
    return store;
  }

  Duration leastTtl() {
    return leastTtl;
  }

  int mostAddresses() {
    return mostAddresses;
  }

  NameResolver resolver() {
    return resolver;
  }

  NamePoller.Pauses pauses() {
    return pauses;
  }

  List<NameLookup> preloaded() {
    return preloaded;
  }

  InstantSource clock() {
    return clock;
  }

  LongSupplier nanoClock() {
    return nanoClock;
  }
}
