package agent.state;

import agent.conductor.Faults;
import agent.service.Service;
import agent.service.ServiceStore;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Supplier;

/**
 * Stores each service in a file of its own, {@code services/<id>.json}, but those whose creations
 * wait for the disk at the same time: these have a file together ({@link ServiceBatches}) until
 * they change, since a file costs more than a record. A file of its own is newer than that record.
 */
final class ServiceFiles implements ServiceStore {
  private static final String NOUN = "service";
  private static final String CONSEQUENCE = "stays as the kernel has it";

  private final NumberedFiles<Service> files;
  private final ServiceBatches batches;
  private final StoreConductor store;
  private final Set<Integer> recorded = ConcurrentHashMap.newKeySet();
  private final Queue<Creation> waiting = new ConcurrentLinkedQueue<>();

  /** A service without a record. */
  private static final class Creation {
    private final Service service;
    private final CompletableFuture<Void> durable = new CompletableFuture<>();
    private boolean isTaken; // of the thread of the disk

    Creation(Service service) {
      this.service = service;
    }
  }

  /**
   * Creates a store of two folders.
   *
   * @param store makes their changes
   */
  ServiceFiles(
      StateFolder<Service> folder,
      StateFolder<List<Service>> together,
      Faults faults,
      StoreConductor store) {
    this.store = store;
    files = new NumberedFiles<>(folder, faults, Service::id, Integer.MAX_VALUE, NOUN, CONSEQUENCE);
    batches = new ServiceBatches(together, faults);
    recorded.addAll(files.numbers());
    recorded.addAll(batches.ids());
  }

  /** Returns the message about a file that cannot be read. */
  static String unreadable(Path file, String reason) {
    return NumberedFiles.unreadable(file, reason, NOUN, CONSEQUENCE);
  }

  @Override
  public Stored load() {
    final NumberedFiles.Loaded<Service> own = files.load();
    final NumberedFiles.Loaded<Service> together = batches.load(files.numbers());
    final List<Service> services = new ArrayList<>(own.documents());
    services.addAll(together.documents());
    final Map<Integer, String> unreadable = new TreeMap<>(own.unreadable());
    unreadable.putAll(together.unreadable());
    return new Stored(services, unreadable);
  }

  @Override
  public Map<Integer, String> missed(Supplier<Set<Integer>> others) {
    if (!files.isIncomplete()) {
      return Map.of();
    }
    final Set<Integer> alone = new TreeSet<>(others.get());
    alone.removeAll(batches.ids());
    final Map<Integer, String> missed = files.missed(alone);
    recorded.addAll(missed.keySet());
    return missed;
  }

  @Override
  public CompletableFuture<Void> save(Service service) {
    if (recorded.contains(service.id())) {
      return store.store(() -> files.save(service));
    }
    final Creation own = new Creation(service);
    waiting.add(own);
    final List<Creation> group = new ArrayList<>();
    store
        .storeTogether(() -> write(own, group))
        .whenComplete(
            (done, failure) -> {
              if (failure != null && group.isEmpty() && waiting.remove(own)) {
                group.add(own); // the store has ended, and has not begun the write
              }
              end(group, failure);
            });
    return own.durable;
  }

  /**
   * Writes a service, together with others that wait. Each has such a write of its own, so that the
   * store counts them; the first of a group writes them all, and who comes later is for the next.
   */
  private void write(Creation own, List<Creation> group) {
    if (own.isTaken) {
      return;
    }
    waiting.remove(own);
    for (Creation next = own; next != null; next = waiting.poll()) {
      next.isTaken = true;
      group.add(next);
      if (group.size() == ServiceBatches.MOST_TOGETHER) {
        break;
      }
    }
    if (group.size() == 1) {
      files.save(own.service);
    } else {
      batches.save(group.stream().map(one -> one.service).toList());
    }
  }

  private void end(List<Creation> group, Throwable failure) {
    if (failure == null) {
      group.forEach(one -> recorded.add(one.service.id()));
      group.forEach(one -> one.durable.complete(null));
    } else {
      group.forEach(one -> one.durable.completeExceptionally(failure));
    }
  }

  /**
   * Removes the older record first: a file of its own that is left has the service as it was. The
   * records of services that were created together are in the name of a file, which changes of one
   * group cannot change twice.
   */
  @Override
  public CompletableFuture<Void> remove(int id) {
    return batches.has(id)
        ? store.storeAlone(
            () -> {
              batches.remove(id);
              removeOwn(id);
            })
        : store.store(() -> removeOwn(id));
  }

  private void removeOwn(int id) {
    files.remove(id, () -> recorded.remove(id));
  }
}
