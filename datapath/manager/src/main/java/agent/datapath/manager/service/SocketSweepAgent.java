package agent.datapath.manager.service;

import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.BpfProgram;
import agent.bindings.net.NetworkNamespaceHandle;
import agent.conductor.ConductorAgent;
import agent.conductor.HealthBoard;
import agent.datapath.programs.compile.ProgramFile;
import agent.types.Refusal;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.agrona.concurrent.NanoClock;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The agent {@code dp-sockets}: after a backend has gone it has the sockets that are connected to
 * it leave it ({@link SocketSweep}). It may wait for the kernel.
 */
public final class SocketSweepAgent extends ConductorAgent implements HealthBoard.Probe {
  private static final Logger LOGGER = LogManager.getLogger(SocketSweepAgent.class);
  private static final long LEAST_REST_NS = TimeUnit.MILLISECONDS.toNanos(100);
  private static final long LONGEST_REST_NS = TimeUnit.SECONDS.toNanos(2);

  /** The agent rests this many times as long as a search took. */
  private static final int REST = 10;

  /** A socket that has just been given a backend may not be connected yet. */
  private static final int SEARCHES = 2;

  private static final int MOST_SEARCHES = 20;
  private static final String ENDS =
      "sockets of a removed backend: UDP sockets are moved to another backend, TCP connections are closed";
  private static final String ENDS_DATAGRAMS =
      "sockets of a removed backend: UDP sockets are moved to another backend, TCP connections stay"
          + " until the backend closes them: the kernel has no bpf_sock_destroy (Linux 6.5)";
  private static final String NOT_LOADED = "waiting for the first service";

  private final NanoClock clock;
  private final Function<ProgramFile, CompletableFuture<BpfObject>> loader;
  private final BooleanSupplier isAttached;
  private final Arena arena = Arena.ofAuto();
  private final AtomicBoolean isRequested = new AtomicBoolean();
  private final MemorySegment buffer = arena.allocate(SocketSweep.bufferBytes(), Long.BYTES);
  private NetworkNamespaceHandle own;
  private BpfObject finding;
  private BpfObject ending;
  private boolean isLoading;
  private boolean isBusy;
  private int searches;
  private int searched;
  private volatile HealthBoard.Reading reading = HealthBoard.Reading.ok(NOT_LOADED);

  /**
   * Creates the agent without starting its thread.
   *
   * @param loader loads an object
   * @param isAttached whether the hooks at sockets are attached
   */
  public SocketSweepAgent(
      NanoClock clock,
      Function<ProgramFile, CompletableFuture<BpfObject>> loader,
      BooleanSupplier isAttached) {
    super("dp-sockets", clock);
    this.clock = clock;
    this.loader = loader;
    this.isAttached = isAttached;
  }

  /** Searches for sockets whose backend has gone; for any thread, after the maps are changed. */
  void request() {
    if (isRequested.compareAndSet(false, true)) {
      run(this::requested);
    }
  }

  private void requested() {
    isRequested.set(false); // a later change is searched for anew
    searches = SEARCHES;
    searched = 0;
    load();
    search();
  }

  @Override
  public HealthBoard.Reading read() {
    return reading;
  }

  private void load() {
    if (finding != null || isLoading) {
      return;
    }
    isLoading = true;
    loader
        .apply(ProgramFile.SOCKET_FIND)
        .whenComplete((object, failure) -> hand(object, failure, this::findingLoaded));
  }

  /** Receives an object from the loader's thread. */
  private void hand(
      BpfObject object, Throwable failure, BiConsumer<BpfObject, Throwable> receiver) {
    run(() -> receiver.accept(object, failure))
        .exceptionally(
            closed -> {
              if (object != null) {
                object.close();
              }
              return null;
            });
  }

  private void findingLoaded(BpfObject object, Throwable failure) {
    if (failure != null) {
      isLoading = false;
      degraded("sockets keep a removed backend: " + failure.getMessage());
      return;
    }
    finding = object;
    loader
        .apply(ProgramFile.SOCKET_END)
        .whenComplete((other, refused) -> hand(other, refused, this::endingLoaded));
  }

  private void endingLoaded(BpfObject object, Throwable failure) {
    isLoading = false;
    ending = object;
    reading = HealthBoard.Reading.ok(able());
    if (failure != null) {
      LOGGER.info("services: {}: {}", ENDS_DATAGRAMS, failure.getMessage());
    }
    search();
  }

  private String able() {
    return ending == null ? ENDS_DATAGRAMS : ENDS;
  }

  private void degraded(String message) {
    if (!reading.message().equals(message)) {
      LOGGER.warn("services: {}", message);
    }
    reading = HealthBoard.Reading.degraded(message);
  }

  private void search() {
    if (finding == null || isLoading || isBusy || searches == 0) {
      return;
    }
    isBusy = true;
    searches--;
    searched++;
    try {
      if (own == null) {
        own = NetworkNamespaceHandle.ofThisThread();
      }
      final List<BpfProgram> endings =
          ending == null
              ? List.of()
              : List.of(ending.program("socket_end_tcp"), ending.program("socket_end_udp"));
      beginHere(
          new SocketSweep(
              own,
              finding.program("socket_find"),
              endings,
              isAttached.getAsBoolean(),
              buffer,
              new Search(clock.nanoTime())));
    } catch (RuntimeException failure) {
      new Search(clock.nanoTime()).failed(failure);
    }
  }

  private final class Search implements SocketSweep.Listener {
    private final long beganNs;

    Search(long beganNs) {
      this.beganNs = beganNs;
    }

    @Override
    public void swept(long moved, long ended, String left) {
      if (moved + ended > 0) {
        LOGGER.info("services: {} sockets moved to another backend, {} closed", moved, ended);
      }
      if (left == null) {
        reading = HealthBoard.Reading.ok(able());
      } else {
        degraded("sockets keep a removed backend (is CAP_SYS_PTRACE missing?): " + left);
      }
      rest(moved + ended > 0);
    }

    @Override
    public void failed(RuntimeException failure) {
      if (!(failure instanceof Refusal)) { // that of an agent that is closed
        degraded("searching for sockets failed: " + failure.getMessage());
        rest(true);
      }
    }

    private void rest(boolean searchesAgain) {
      if (searchesAgain && searched < MOST_SEARCHES) {
        searches = Math.max(searches, 1);
      }
      final long tookNs = clock.nanoTime() - beganNs;
      LOGGER.debug("searching for sockets took {} µs", TimeUnit.NANOSECONDS.toMicros(tookNs));
      final long restNs = Math.clamp(REST * tookNs, LEAST_REST_NS, LONGEST_REST_NS);
      schedule(
          restNs,
          () -> {
            isBusy = false;
            search();
          });
    }
  }

  @Override
  protected void closed() {
    if (finding != null) {
      finding.close();
    }
    if (ending != null) {
      ending.close();
    }
    if (own != null) {
      own.close();
    }
  }
}
