package agent.service;

import static agent.service.ServiceForms.outside;

import agent.datapath.spec.ServiceEntries;
import agent.datapath.spec.ServiceProxy;
import agent.maps.layout.ServiceForwarding;
import agent.types.EntrySource;
import agent.types.IpAddress;
import agent.types.Refusal;
import agent.types.ServiceName;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The services of this node: any thread reads them and asks for changes, which are commands of the
 * thread that changes the maps. A change is in force and on the disk when what its call returns
 * completes; one that is refused or fails leaves all as it was. Changes of one service are made one
 * after the other, and do not wait for those of others. A service is changed and removed by its
 * source alone.
 *
 * <p>A new service is handed over three times: to the thread of the maps, which checks it and
 * writes its entries, from there to that of the disk, and from there to who waits for the answer.
 */
public final class Services {
  private static final Logger LOGGER = LogManager.getLogger(Services.class);

  private final HeldServices services = new HeldServices();
  private final NamedBackends named = new NamedBackends();
  private final ServiceForms forms;
  private final ServiceChanges changes;

  /** Learns of changes when they are in force; those of one service come in their order. */
  @FunctionalInterface
  public interface Observer {
    /**
     * Learns of one change, on the thread that completes it, before it is answered; does not wait.
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
     * Applies changes in their order; does not wait.
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

  /** Restores as {@link #restore} does. */
  private Services(ServiceProxy datapath, ServiceStore store, ServiceForms forms) {
    this.forms = forms;
    final TakenFrontends frontends = new TakenFrontends();
    final ServiceStore.Stored stored = store.load();
    final Map<Integer, String> unreadable = services.unreadable();
    unreadable.putAll(stored.unreadable());
    if (datapath.hooks() != ServiceProxy.Hooks.OFF) {
      unreadable.putAll(store.missed(() -> known(datapath)));
    }
    final List<ServiceEntries> entries = new ArrayList<>();
    for (final Service service : stored.services()) {
      frontends.take(service, services::at);
      services.put(service);
      named.set(service.id(), service);
      entries.addAll(forms.entriesOf(service));
    }
    final Set<Integer> kept = new HashSet<>();
    unreadable.keySet().forEach(id -> kept.addAll(List.of(id, outside(id))));
    await(datapath.restore(entries, kept))
        .forEach(found -> frontends.keep(found.serviceId() & ~ServiceEntries.OUTSIDE_ID, found));
    if (!entries.isEmpty()) {
      LOGGER.info("restored {} services", entries.size());
    }
    changes = new ServiceChanges(datapath, store, forms, services, named, frontends);
  }

  /**
   * Restores the services of the previous run: the datapath has them and no others when this
   * returns. A service whose record cannot be read stays as the kernel has it, and keeps the
   * frontends that it has there. For the start, which waits for it.
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
    return new Services(datapath, store, new ServiceForms(nodeName, usualForwarding));
  }

  /** Returns the ids of the services that the maps hold. */
  private static Set<Integer> known(ServiceProxy datapath) {
    final Set<Integer> ids = new HashSet<>();
    await(datapath.known()).forEach(id -> ids.add(id & ~ServiceEntries.OUTSIDE_ID));
    return ids;
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

  /** Sets who learns of changes. */
  public void observe(Observer value) {
    changes.observe(value);
  }

  /** Sets how many backends all services may have together; those that are restored stay. */
  public void limit(int most) {
    changes.limit(most);
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
    return List.copyOf(services.all());
  }

  /**
   * Returns a service.
   *
   * @throws Refusal NOT_FOUND where there is none, UNAVAILABLE where its record cannot be read
   */
  public Service get(int id) {
    return services.find(id).orElseThrow(() -> HeldServices.missing(id));
  }

  /**
   * Returns how new flows of clients outside reach backends on other hosts: the modes of the
   * services for such clients, or that which a service has that does not say it.
   */
  public Set<ServiceForwarding> forwardingModes() {
    final Set<ServiceForwarding> modes = EnumSet.noneOf(ServiceForwarding.class);
    for (final Service service : services.all()) {
      if (service.type().isOutside()) {
        modes.add(forms.forwarding(service));
      }
    }
    if (modes.isEmpty()) {
      modes.add(forms.usualForwarding());
    }
    if (modes.remove(ServiceForwarding.DEFAULT)) {
      modes.add(ServiceForwarding.SNAT);
    }
    return modes;
  }

  /**
   * Creates a service, or replaces the one with its id. A service without a number replaces that of
   * its source with its frontend, or gets a number that no other service has; it keeps the number
   * until it is removed, also over a restart.
   *
   * @return the outcome; fails with a Refusal INVALID for a negative id, CONFLICT where the service
   *     with this id is of another source or another service has the frontend, UNAVAILABLE where
   *     the record of this id cannot be read, EXHAUSTED where the datapath or the follower is full,
   *     or all services would have too many backends
   */
  public CompletableFuture<Put> put(Service service) {
    if (service.id() < 0) {
      return CompletableFuture.failedFuture(
          Refusal.invalid("id", service.id() + " is not a valid service number"));
    }
    return changes.put(service);
  }

  /**
   * Removes a service of the API, also one of any source whose record cannot be read.
   *
   * @return fails with a Refusal NOT_FOUND where there is none, CONFLICT where it is of another
   *     source
   */
  public CompletableFuture<Void> remove(int id) {
    return remove(id, EntrySource.API);
  }

  /**
   * Removes a service of a source.
   *
   * @return fails with a Refusal NOT_FOUND where there is none, CONFLICT where it is of another
   *     source, UNAVAILABLE where its record cannot be read and the source is not the API
   */
  public CompletableFuture<Void> remove(int id, EntrySource source) {
    return changes.remove(id, source);
  }
}
