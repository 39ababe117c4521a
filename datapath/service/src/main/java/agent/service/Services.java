package agent.service;

import agent.datapath.manager.spec.ServiceEntries;
import agent.datapath.manager.spec.ServiceProxy;
import agent.maps.layout.BackendState;
import agent.maps.layout.ServiceForwarding;
import agent.maps.layout.ServiceScope;
import agent.types.EntrySource;
import agent.types.IpAddress;
import agent.types.Refusal;
import agent.types.ServiceName;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The services of this node. A change is in force and on the disk when its call returns; a change
 * that is refused or fails leaves all as it was. Changes of different services do not wait for each
 * other's disk writes. A service is changed and removed by its source alone. Thread-safe.
 */
public final class Services {
  private static final Logger LOGGER = LogManager.getLogger(Services.class);

  /** Changes of services whose ids are equal modulo this wait for each other. */
  private static final int LOCKS = 64;

  /**
   * The least number of a service that its source does not number. The API may have services from
   * here on, too; what one of both has the other does not get.
   */
  static final int FIRST_ALLOCATED = 1 << 30;

  private static final Set<ServiceScope> INSIDE = Set.of(ServiceScope.INSIDE);
  private static final Set<ServiceScope> OUTSIDE = Set.of(ServiceScope.OUTSIDE);
  private static final Set<ServiceScope> BOTH = Set.of(ServiceScope.values());

  private final ServiceProxy datapath;
  private final ServiceStore store;
  private final String nodeName;
  private final ServiceForwarding usualForwarding;
  private final Map<Integer, Service> services = new ConcurrentSkipListMap<>();
  private final Map<Integer, String> unreadable = new ConcurrentHashMap<>();
  private final Map<Listener, Integer> listeners = new ConcurrentHashMap<>();
  private final NamedBackends named = new NamedBackends();
  private final AtomicInteger backends = new AtomicInteger();
  private volatile int mostBackends = Integer.MAX_VALUE;
  private volatile Observer observer = (id, before, after) -> {};
  private final List<ReentrantLock> locks =
      Stream.generate(ReentrantLock::new).limit(LOCKS).toList();

  /** Learns of changes when they are in force; those of one service come in their order. */
  @FunctionalInterface
  public interface Observer {
    /**
     * Learns of one change, on the thread that makes it.
     *
     * @param before null where the service is created, or its record could not be read
     * @param after null where it is removed
     */
    void onChange(int id, Service before, Service after);
  }

  /**
   * Uses the addresses of the backends of services by their names. It has those of a new backend
   * before the datapath sends to it, and those of a former one until the datapath does not.
   */
  @FunctionalInterface
  public interface Follower {
    /**
     * Applies changes in their order.
     *
     * @param changed names with all addresses that their backends have now; none for a name that no
     *     service has
     * @return completes when they are in use
     */
    CompletableFuture<Void> follow(Map<ServiceName, Set<IpAddress>> changed);
  }

  /**
   * The outcome of a change.
   *
   * @param service the service as it is held, with its number
   * @param isCreated whether there was none before
   */
  public record Put(Service service, boolean isCreated) {}

  /** An address, port and protocol number that a service has taken. */
  private record Listener(IpAddress address, int port, int protocol) {}

  private Services(
      ServiceProxy datapath,
      ServiceStore store,
      String nodeName,
      ServiceForwarding usualForwarding) {
    this.datapath = datapath;
    this.store = store;
    this.nodeName = nodeName;
    this.usualForwarding = usualForwarding;
  }

  /**
   * Restores the services of the previous run: the datapath has them and no others when this
   * returns. A service whose record cannot be read stays as the kernel has it, and keeps the
   * frontends that it has there.
   *
   * @param nodeName the name of this node in {@link Backend#nodeName()}
   * @param usualForwarding of services for clients outside that do not say it
   * @throws Refusal where the kernel refuses
   */
  public static Services restore(
      ServiceProxy datapath,
      ServiceStore store,
      String nodeName,
      ServiceForwarding usualForwarding) {
    final Services restored = new Services(datapath, store, nodeName, usualForwarding);
    final ServiceStore.Stored stored = store.load();
    restored.unreadable.putAll(stored.unreadable());
    if (datapath.hooks() != ServiceProxy.Hooks.OFF) {
      restored.unreadable.putAll(store.missed(() -> known(datapath)));
    }
    final List<ServiceEntries> entries = new ArrayList<>();
    for (final Service service : stored.services()) {
      restored.take(service);
      restored.backends.addAndGet(service.backends().size());
      restored.services.put(service.id(), service);
      restored.named.set(service.id(), service);
      entries.addAll(restored.entriesOf(service));
    }
    final Set<Integer> kept = new HashSet<>();
    restored.unreadable.keySet().forEach(id -> kept.addAll(List.of(id, outside(id))));
    await(datapath.restore(entries, kept))
        .forEach(
            found ->
                restored.listeners.putIfAbsent(
                    new Listener(found.address(), found.port(), found.protocol()),
                    found.serviceId() & ~ServiceEntries.OUTSIDE_ID));
    if (!entries.isEmpty()) {
      LOGGER.info("restored {} services", entries.size());
    }
    return restored;
  }

  /** Returns the ids of the services that the maps hold. */
  private static Set<Integer> known(ServiceProxy datapath) {
    final Set<Integer> ids = new HashSet<>();
    await(datapath.known()).forEach(id -> ids.add(id & ~ServiceEntries.OUTSIDE_ID));
    return ids;
  }

  /** Sets who learns of changes. */
  public void observe(Observer value) {
    observer = value;
  }

  /** Sets how many backends all services may have together; those that are restored stay. */
  public void limit(int most) {
    mostBackends = most;
  }

  /** Sets who follows the backends from now on. */
  public void follow(Follower value) {
    named.follow(value);
  }

  /** Returns the addresses of the backends of all services that have a name. */
  public Map<ServiceName, Set<IpAddress>> namedBackends() {
    return named.all();
  }

  /** Returns all services by id. */
  public List<Service> list() {
    return List.copyOf(services.values());
  }

  /**
   * Returns a service.
   *
   * @throws Refusal NOT_FOUND where there is none, UNAVAILABLE where its record cannot be read
   */
  public Service get(int id) {
    return find(id).orElseThrow(() -> Refusal.notFound("id", "service " + id + " does not exist"));
  }

  private Optional<Service> find(int id) {
    checkReadable(id);
    return Optional.ofNullable(services.get(id));
  }

  private void checkReadable(int id) {
    final String reason = unreadable.get(id);
    if (reason != null) {
      throw Refusal.unavailable("id", "service " + id + ": " + reason);
    }
  }

  /**
   * Creates a service, or replaces the one with its id. A service without a number replaces that of
   * its source with its frontend, or gets a number that no other service has; it keeps the number
   * until it is removed, also over a restart.
   *
   * @throws Refusal INVALID for a negative id, CONFLICT where the service with this id is of
   *     another source or another service has the frontend, UNAVAILABLE where the record of this id
   *     cannot be read, EXHAUSTED where the datapath or the follower is full, or all services would
   *     have too many backends
   */
  public Put put(Service service) {
    if (service.id() < 0) {
      throw Refusal.invalid("id", service.id() + " is not a valid service number");
    }
    if (service.id() == Service.UNNUMBERED) {
      return putUnnumbered(service);
    }
    final ReentrantLock lock = lockOf(service.id());
    lock.lock();
    try {
      return change(service);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Tries the numbers that follow from the frontend, so that callers with one frontend try the same
   * ones and wait for each other.
   */
  private Put putUnnumbered(Service service) {
    int id = numberOf(service);
    while (true) {
      final ReentrantLock lock = lockOf(id);
      lock.lock();
      try {
        if (mayHave(id, service)) {
          return change(service.numbered(id));
        }
      } finally {
        lock.unlock();
      }
      id = allocatable(id + 1);
    }
  }

  /** Returns the number that a service without one has already, or the first to try. */
  private int numberOf(Service service) {
    final Integer owner = listeners.get(listenersOf(service).getFirst());
    return owner != null && isSame(services.get(owner), service)
        ? owner
        : firstNumber(service.frontend());
  }

  static int firstNumber(Frontend frontend) {
    return allocatable(frontend.toString().hashCode());
  }

  private static int allocatable(int number) {
    return FIRST_ALLOCATED | number & FIRST_ALLOCATED - 1;
  }

  private boolean mayHave(int id, Service service) {
    final Service held = services.get(id);
    return held == null
        ? id >= FIRST_ALLOCATED && !unreadable.containsKey(id)
        : isSame(held, service);
  }

  private static boolean isSame(Service heldOrNull, Service service) {
    return heldOrNull != null
        && heldOrNull.source().equals(service.source())
        && heldOrNull.frontend().equals(service.frontend());
  }

  private static void requireOwn(Service held, EntrySource source) {
    if (!held.source().equals(source)) {
      throw Refusal.conflict(
          "id",
          "service %d (%s) belongs to source '%s'"
              .formatted(held.id(), held.frontend(), held.source()));
    }
  }

  private Put change(Service service) {
    final Service before = find(service.id()).orElse(null);
    if (before != null) {
      requireOwn(before, service.source());
    }
    if (service.equals(before)) {
      return new Put(service, false);
    }
    final int more = service.backends().size() - (before == null ? 0 : before.backends().size());
    reserve(more);
    final List<Listener> taken = new ArrayList<>();
    try {
      taken.addAll(take(service));
      enforceAndStore(named.set(service.id(), before, service), before, service);
    } catch (RuntimeException failure) {
      backends.addAndGet(-more);
      taken.forEach(listeners::remove);
      unfollow(before, service);
      throw failure;
    }
    services.put(service.id(), service);
    release(before, service);
    LOGGER.info(
        "service {}: {} {} with {} backends",
        service.id(),
        before == null ? "created," : "changed,",
        service.frontend(),
        service.backends().size());
    observer.onChange(service.id(), before, service);
    if (before != null) {
      await(named.set(service.id(), service)); // those of the former backends are no longer needed
    }
    return new Put(service, before == null);
  }

  private void reserve(int more) {
    if (backends.addAndGet(more) > mostBackends && more > 0) {
      backends.addAndGet(-more);
      throw Refusal.exhausted(
          "backend-addresses",
          "more than " + mostBackends + " backends in all services (--max-service-backends)");
    }
  }

  /** Undoes the names of a change that failed. */
  private void unfollow(Service before, Service service) {
    try {
      await(named.set(service.id(), before));
    } catch (RuntimeException another) {
      LOGGER.warn("service {}: undoing its name failed: {}", service.id(), another.getMessage());
    }
  }

  /** Enforces first: a record that cannot be written is taken back out of the kernel. */
  private void enforceAndStore(CompletableFuture<Void> followed, Service before, Service service) {
    enforce(followed, before, service);
    try {
      store.save(service);
    } catch (RuntimeException failure) {
      if (before == null) {
        withdraw(service);
      } else {
        enforce(CompletableFuture.completedFuture(null), service, before);
      }
      throw failure;
    }
  }

  /**
   * Puts a service in the place of another or of none; where that fails, all is as it was.
   *
   * @param followed completes when the addresses of its backends are in use
   */
  private void enforce(CompletableFuture<Void> followed, Service before, Service service) {
    final List<ServiceEntries> wanted = entriesOf(service);
    await(followed.thenCompose(done -> datapath.put(wanted.getFirst())));
    if (wanted.size() > 1) {
      try {
        await(datapath.put(wanted.getLast()));
      } catch (RuntimeException failure) {
        await(
            before == null
                ? datapath.remove(service.id())
                : datapath.put(entriesOf(before).getFirst()));
        throw failure;
      }
    } else if (before != null && hasOthersOutside(before)) {
      await(datapath.remove(outside(service.id())));
    }
  }

  private void withdraw(Service service) {
    if (hasOthersOutside(service)) {
      await(datapath.remove(outside(service.id())));
    }
    await(datapath.remove(service.id()));
  }

  /** Returns whether other backends serve clients outside than those of the node. */
  private boolean hasOthersOutside(Service service) {
    return service.type().isOutside() && !inside(service).equals(offered(service));
  }

  private List<Backend> inside(Service service) {
    return service.isLocal() ? served(service, nodeName::equals) : service.backends();
  }

  /** Returns the backends for clients outside. */
  private List<Backend> offered(Service service) {
    return service.isLocalOutside() ? served(service, nodeName::equals) : service.backends();
  }

  private static List<Backend> served(Service service, Predicate<String> node) {
    return service.backends().stream().filter(backend -> node.test(backend.nodeName())).toList();
  }

  private static int outside(int id) {
    return id | ServiceEntries.OUTSIDE_ID;
  }

  /**
   * Removes a service of the API, also one of any source whose record cannot be read.
   *
   * @throws Refusal NOT_FOUND where there is none, CONFLICT where it is of another source
   */
  public void remove(int id) {
    remove(id, EntrySource.API);
  }

  /**
   * Removes a service of a source.
   *
   * @throws Refusal NOT_FOUND where there is none, CONFLICT where it is of another source,
   *     UNAVAILABLE where its record cannot be read and the source is not the API
   */
  public void remove(int id, EntrySource source) {
    final ReentrantLock lock = lockOf(id);
    lock.lock();
    try {
      if (!source.equals(EntrySource.API)) {
        checkReadable(id);
      }
      removeAll(id, source);
    } finally {
      lock.unlock();
    }
  }

  private void removeAll(int id, EntrySource source) {
    final Service service = services.get(id);
    if (service == null && !unreadable.containsKey(id)) {
      throw Refusal.notFound("id", "service " + id + " does not exist");
    }
    if (service != null) {
      requireOwn(service, source);
    }
    store.remove(id);
    unreadable.remove(id);
    services.remove(id);
    backends.addAndGet(service == null ? 0 : -service.backends().size());
    final CompletableFuture<Void> unnamed;
    try {
      if (service == null) {
        await(datapath.remove(outside(id)));
        await(datapath.remove(id));
      } else {
        withdraw(service);
      }
    } finally {
      releaseAll(id, service); // not before: another service's entry would be removed
      unnamed = named.set(id);
    }
    LOGGER.info("service {}: removed", id);
    observer.onChange(id, service, null);
    await(unnamed);
  }

  private ReentrantLock lockOf(int id) {
    return locks.get(id % LOCKS);
  }

  /** Returns the listeners that this call has taken; those that the service has already stay. */
  private List<Listener> take(Service service) {
    final List<Listener> taken = new ArrayList<>();
    for (final Listener listener : listenersOf(service)) {
      final Integer owner = listeners.putIfAbsent(listener, service.id());
      if (owner == null) {
        taken.add(listener);
      } else if (owner != service.id()) {
        taken.forEach(listeners::remove);
        throw Refusal.conflict(
            "frontend-address",
            service.frontend()
                + " is already the frontend of service "
                + owner
                + otherSource(services.get(owner), service.source()));
      }
    }
    return taken;
  }

  private static String otherSource(Service heldOrNull, EntrySource source) {
    return heldOrNull == null || heldOrNull.source().equals(source)
        ? ""
        : " of source '" + heldOrNull.source() + "'";
  }

  private void release(Service before, Service after) {
    if (before != null) {
      final List<Listener> kept = after == null ? List.of() : listenersOf(after);
      listenersOf(before).stream()
          .filter(listener -> !kept.contains(listener))
          .forEach(listeners::remove);
    }
  }

  /** Releases what a service has; of one whose record cannot be read only the number is known. */
  private void releaseAll(int id, Service service) {
    if (service == null) {
      listeners.values().removeIf(owner -> owner == id);
    } else {
      release(service, null);
    }
  }

  private static List<Listener> listenersOf(Service service) {
    final Frontend frontend = service.frontend();
    return frontend.protocol().numbers().stream()
        .map(number -> new Listener(frontend.address(), frontend.port(), number))
        .toList();
  }

  /** Returns a service as the datapath has it: two where other backends serve clients outside. */
  private List<ServiceEntries> entriesOf(Service service) {
    final int id = service.id();
    if (!service.type().isOutside()) {
      return List.of(entriesOf(service, id, INSIDE, inside(service)));
    }
    if (!hasOthersOutside(service)) {
      return List.of(entriesOf(service, id, BOTH, inside(service)));
    }
    return List.of(
        entriesOf(service, id, INSIDE, inside(service)),
        entriesOf(service, outside(id), OUTSIDE, offered(service)));
  }

  private ServiceEntries entriesOf(
      Service service, int id, Set<ServiceScope> scopes, List<Backend> backends) {
    return new ServiceEntries(
        id,
        service.frontend().address(),
        service.frontend().port(),
        service.frontend().protocol().numbers(),
        service.affinitySec(),
        scopes,
        scopes.contains(ServiceScope.OUTSIDE) ? forwarding(service) : ServiceForwarding.DEFAULT,
        backends.stream()
            .map(
                backend ->
                    new ServiceEntries.Backend(
                        backend.address(),
                        backend.port(),
                        BackendState.valueOf(backend.state().name()),
                        backend.weight()))
            .toList());
  }

  /**
   * Returns how new flows of clients outside reach backends on other hosts: the modes of the
   * services for such clients, or that which a service has that does not say it.
   */
  public Set<ServiceForwarding> forwardingModes() {
    final Set<ServiceForwarding> modes = EnumSet.noneOf(ServiceForwarding.class);
    for (final Service service : services.values()) {
      if (service.type().isOutside()) {
        modes.add(forwarding(service));
      }
    }
    if (modes.isEmpty()) {
      modes.add(usualForwarding);
    }
    if (modes.remove(ServiceForwarding.DEFAULT)) {
      modes.add(ServiceForwarding.SNAT);
    }
    return modes;
  }

  private ServiceForwarding forwarding(Service service) {
    return service.forwarding() == null ? usualForwarding : service.forwarding().forwarding();
  }

  /** Waits for the datapath, and throws its refusal as it is. */
  private static <T> T await(CompletableFuture<T> call) {
    try {
      return call.join();
    } catch (CompletionException failure) {
      if (failure.getCause() instanceof final RuntimeException cause) {
        throw cause;
      }
      throw failure;
    }
  }
}
