package agent.state;

import agent.datapath.manager.guard.Faults;
import agent.service.Service;
import agent.service.ServiceStore;
import agent.types.OperationException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Stores each service in a file of its own, {@code services/<id>.json}, but those that are created
 * while another one is written: these have a file together ({@link ServiceBatches}) until they
 * change, since a file costs more than a record. A file of its own is newer than that record.
 */
final class ServiceFiles implements ServiceStore {
  private static final String NOUN = "service";
  private static final String CONSEQUENCE = "stays as the kernel has it";

  private final NumberedFiles<Service> files;
  private final ServiceBatches batches;
  private final Set<Integer> recorded = ConcurrentHashMap.newKeySet();
  private final ReentrantLock writing = new ReentrantLock();
  private final Queue<Creation> waiting = new ConcurrentLinkedQueue<>();

  /** A service without a record; written, or failed, once it has left the queue. */
  private static final class Creation {
    private final Service service;
    private boolean isDone;
    private RuntimeException failure;

    Creation(Service service) {
      this.service = service;
    }
  }

  ServiceFiles(StateFolder<Service> folder, StateFolder<List<Service>> together, Faults faults) {
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
  public void save(Service service) {
    if (recorded.contains(service.id())) {
      files.save(service);
      return;
    }
    final Creation own = new Creation(service);
    waiting.add(own);
    writing.lock();
    try {
      while (!own.isDone) { // more than one group can be before it
        writeWaiting();
      }
    } finally {
      writing.unlock();
    }
    if (own.failure != null) {
      throw new OperationException(own.failure.getMessage(), own.failure);
    }
  }

  /** Writes the first of those that wait, with one sync of the disk. */
  private void writeWaiting() {
    final List<Creation> group = new ArrayList<>();
    while (group.size() < ServiceBatches.MOST_TOGETHER && !waiting.isEmpty()) {
      group.add(waiting.poll());
    }
    try {
      if (group.size() == 1) {
        files.save(group.getFirst().service);
      } else {
        batches.save(group.stream().map(one -> one.service).toList());
      }
      group.forEach(one -> recorded.add(one.service.id()));
    } catch (RuntimeException failure) {
      group.forEach(one -> one.failure = failure);
    }
    group.forEach(one -> one.isDone = true);
  }

  /** Removes the older record first: a file of its own that is left has the service as it was. */
  @Override
  public void remove(int id) {
    batches.remove(id);
    files.remove(id);
    recorded.remove(id);
  }
}
