package agent.state;

import agent.conductor.Faults;
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
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * Stores each service in a file of its own, {@code services/<id>.json}, but those that are created
 * while another one is written: these have a file together ({@link ServiceBatches}) until they
 * change, since a file costs more than a record. A file of its own is newer than that record.
 *
 * <p>Who writes a group waits a moment for as many as were there the last time: clients that create
 * one service after the other come back while the next group gathers.
 */
final class ServiceFiles implements ServiceStore {
  private static final String NOUN = "service";
  private static final String CONSEQUENCE = "stays as the kernel has it";

  /** How long a group waits at most for those who were there the last time. */
  private static final long GATHERING_NS = TimeUnit.MILLISECONDS.toNanos(5);

  private final NumberedFiles<Service> files;
  private final ServiceBatches batches;
  private final Set<Integer> recorded = ConcurrentHashMap.newKeySet();
  private final ReentrantLock writing = new ReentrantLock();
  private final Queue<Creation> waiting = new ConcurrentLinkedQueue<>();
  private final AtomicInteger arrived = new AtomicInteger(); // those in the queue
  private final long gatheringNs;
  private volatile Thread gathering;
  private volatile int expected = 1;

  /** A service without a record, and the thread that waits until it is written or has failed. */
  private static final class Creation {
    private final Service service;
    private final Thread caller = Thread.currentThread();
    private RuntimeException failure;
    private volatile boolean isDone;

    Creation(Service service) {
      this.service = service;
    }

    void done() {
      isDone = true;
      LockSupport.unpark(caller);
    }
  }

  ServiceFiles(StateFolder<Service> folder, StateFolder<List<Service>> together, Faults faults) {
    this(folder, together, faults, GATHERING_NS);
  }

  /**
   * Creates a store of two folders.
   *
   * @param gatheringNs how long a group waits at most; a test has another time
   */
  ServiceFiles(
      StateFolder<Service> folder,
      StateFolder<List<Service>> together,
      Faults faults,
      long gatheringNs) {
    this.gatheringNs = gatheringNs;
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
  public void save(Service service) {
    if (recorded.contains(service.id())) {
      files.save(service);
      return;
    }
    final Creation own = new Creation(service);
    waiting.add(own);
    if (arrived.incrementAndGet() >= expected) {
      LockSupport.unpark(gathering);
    }
    while (!own.isDone) {
      if (writing.tryLock()) {
        try {
          writeUnless(own);
        } finally {
          writing.unlock();
          wakeNext();
        }
      } else {
        LockSupport.park(this);
      }
    }
    if (own.failure != null) {
      throw new OperationException(own.failure.getMessage(), own.failure);
    }
  }

  private void writeUnless(Creation own) {
    if (!own.isDone) {
      gather();
      writeWaiting();
    }
  }

  /** One that came while the files were written writes the next group. */
  private void wakeNext() {
    final Creation next = waiting.peek();
    if (next != null) {
      LockSupport.unpark(next.caller);
    }
  }

  /** Waits until as many are there as the last time, or there is no time left. */
  private void gather() {
    final long startNs = System.nanoTime();
    gathering = Thread.currentThread();
    while (arrived.get() < expected) {
      final long leftNs = gatheringNs - (System.nanoTime() - startNs);
      if (leftNs <= 0) {
        break;
      }
      LockSupport.parkNanos(this, leftNs);
    }
    gathering = null;
  }

  /** Writes the first of those that wait, with one sync of the disk. */
  private void writeWaiting() {
    final List<Creation> group = new ArrayList<>();
    while (group.size() < ServiceBatches.MOST_TOGETHER && !waiting.isEmpty()) {
      group.add(waiting.poll());
    }
    arrived.addAndGet(-group.size());
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
    expected = Math.min(ServiceBatches.MOST_TOGETHER, group.size() + arrived.get());
    group.forEach(Creation::done);
  }

  /** Removes the older record first: a file of its own that is left has the service as it was. */
  @Override
  public void remove(int id) {
    batches.remove(id);
    files.remove(id, () -> recorded.remove(id));
  }
}
