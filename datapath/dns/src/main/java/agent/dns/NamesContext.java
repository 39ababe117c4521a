package agent.dns;

import agent.conductor.AgentThreads;
import agent.conductor.HealthBoard;
import agent.datapath.spec.AddressUse;
import agent.types.NumberOption;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Objects;
import java.util.function.LongSupplier;
import java.util.function.Predicate;

/** The configuration of {@link Names} until {@link #conclude()}; immutable after it. */
public final class NamesContext {
  /** Addresses of one name that are kept. */
  public static final NumberOption ADDRESSES =
      new NumberOption("tofqdns-endpoint-max-ip-per-hostname", 50, 1, 65_535);

  /** Seconds that an address is kept at least. */
  public static final NumberOption LEAST_TTL =
      new NumberOption("tofqdns-min-ttl", 7 * 24 * 3600, 0);

  private boolean isConcluded;
  private NameStore store = NameStore.inMemory();
  private Duration leastTtl = Duration.ofSeconds(LEAST_TTL.standard());
  private int mostAddresses = ADDRESSES.standard();
  private NameCache.Limits limits;
  private int mostHeld;
  private Predicate<String> selected = name -> true;
  private NameResolver resolver;
  private NamePoller.Pauses pauses = NamePoller.Pauses.DEFAULT;
  private List<NameLookup> preloaded = List.of();
  private AgentThreads threads =
      new AgentThreads(
          Thread.ofPlatform().daemon().factory(),
          System::nanoTime,
          new HealthBoard(System::currentTimeMillis));
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

  /** Sets how many names are kept; {@link #conclude} has a default. */
  NamesContext limits(NameCache.Limits value) {
    limits = changing(value);
    return this;
  }

  /**
   * Sets how many addresses stay when their time is over, since they are in use, which {@link
   * Names#addressUse} is to hear; without it none does.
   */
  public NamesContext mostHeld(int value) {
    mostHeld = changing(value);
    return this;
  }

  /**
   * Sets which names rules select, by name with a dot at the end; any thread asks, without waiting.
   * The answers for others do not wait for the rules. Without it, every answer waits.
   */
  public NamesContext selected(Predicate<String> value) {
    selected = changing(value);
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

  /**
   * Sets what starts the thread, on whose board the module of the names is; without it no board
   * that a client reads has it.
   */
  public NamesContext threads(AgentThreads value) {
    threads = changing(value);
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
    Objects.requireNonNull(selected, "selected");
    Objects.requireNonNull(threads, "threads");
    ADDRESSES.check(mostAddresses);
    LEAST_TTL.check(leastTtl.toSeconds());
    final int mostAsked = AddressUse.MOST_ADDRESSES - HeldAddresses.MOST_WAITING;
    if (mostHeld < 0 || mostHeld > mostAsked) {
      throw new IllegalArgumentException(
          "names: %d expired addresses in use: not between 0 and %d"
              .formatted(mostHeld, mostAsked));
    }
    if (limits == null) {
      limits = new NameCache.Limits(leastTtl.toSeconds(), mostAddresses, mostHeld);
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

  NameCache.Limits limits() {
    return limits;
  }

  Predicate<String> selected() {
    return selected;
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

  AgentThreads threads() {
    return threads;
  }

  InstantSource clock() {
    return clock;
  }

  LongSupplier nanoClock() {
    return nanoClock;
  }
}
