package agent.datapath.manager.conductor;

import agent.bindings.BpfObject;
import agent.datapath.manager.compile.ProgramFile;
import agent.datapath.manager.load.NodeConstants;
import agent.datapath.manager.load.ProgramLoader;
import agent.datapath.manager.spec.EndpointSpec;
import agent.types.Refusal;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.agrona.collections.Int2ObjectHashMap;

/**
 * What a new endpoint waits for, begun ahead and beside the conductor: on {@code dp-loader} the
 * verifier reads its programs, on {@code dp-hooks} the kernel waits until a first link may carry
 * packets. The methods are the conductor's; the loader is used on {@code dp-loader} alone.
 */
public final class Preparations implements AutoCloseable {
  private static final long LONGEST_SEC = 60;

  private final ProgramLoader loader;
  private final NodeConstants node;
  private final EndpointAttachments attachments;
  private final ExecutorService loading;
  private final ExecutorService hooks;
  private final Int2ObjectHashMap<Preparation> begun = new Int2ObjectHashMap<>();
  private CompletableFuture<BpfObject> closed;

  /** Threads start with the first endpoint. */
  public Preparations(
      ProgramLoader loader,
      NodeConstants node,
      EndpointAttachments attachments,
      ThreadFactory threads) {
    this.loader = loader;
    this.node = node;
    this.attachments = attachments;
    loading = Executors.newSingleThreadExecutor(work -> named("dp-loader", threads, work));
    hooks = Executors.newSingleThreadExecutor(work -> named("dp-hooks", threads, work));
  }

  private static Thread named(String name, ThreadFactory threads, Runnable work) {
    final Thread thread = threads.newThread(work);
    thread.setName(name);
    return thread;
  }

  /**
   * Begins.
   *
   * @param isNew whether nothing runs for the endpoint: its hooks are closed until it is attached
   */
  void begin(EndpointSpec endpoint, boolean isNew) {
    final Preparation before = begun.get(endpoint.id());
    if (before != null && before.endpoint().equals(endpoint)) {
      return;
    }
    discard(endpoint.id());
    CompletableFuture<Boolean> shut = CompletableFuture.completedFuture(false);
    if (isNew && attachments.waitForFirstLink()) {
      if (closed == null) {
        closed = supply(() -> loader.load(ProgramFile.CLOSED, node::write));
      }
      shut = closed.thenApplyAsync(programs -> attachments.shut(endpoint, programs), hooks);
    }
    begun.put(endpoint.id(), new Preparation(endpoint, load(endpoint), shut));
  }

  /** Waits for what was begun for this endpoint as it is here, or begins and waits. */
  Prepared take(EndpointSpec endpoint) {
    Preparation preparation = begun.remove(endpoint.id());
    boolean isShut = false;
    if (preparation != null) {
      isShut = isShut(preparation);
      if (!preparation.endpoint().equals(endpoint)) {
        drop(preparation);
        preparation = null;
      }
    }
    try {
      return new Prepared(
          await(preparation == null ? load(endpoint) : preparation.programs()), isShut);
    } catch (RuntimeException failure) {
      if (isShut) {
        attachments.open(endpoint);
      }
      throw failure;
    }
  }

  /** Forgets what was begun; its hooks stay as they are. */
  void discard(int endpointId) {
    final Preparation preparation = begun.remove(endpointId);
    if (preparation != null) {
      isShut(preparation);
      drop(preparation);
    }
  }

  private CompletableFuture<BpfObject> load(EndpointSpec endpoint) {
    return supply(
        () ->
            loader.load(
                ProgramFile.ENDPOINT,
                constants -> {
                  node.write(constants);
                  constants.endpoint(endpoint);
                }));
  }

  private CompletableFuture<BpfObject> supply(Supplier<BpfObject> load) {
    return CompletableFuture.supplyAsync(load, loading);
  }

  /** Where the hooks could not be closed, attaching says why. */
  private static boolean isShut(Preparation preparation) {
    try {
      return await(preparation.shut());
    } catch (RuntimeException failure) {
      return false;
    }
  }

  private static void drop(Preparation preparation) {
    closeLater(preparation.programs());
  }

  private static void closeLater(CompletableFuture<BpfObject> object) {
    final Consumer<BpfObject> close = BpfObject::close;
    object.thenAccept(close);
  }

  private static <T> T await(CompletableFuture<T> answer) {
    try {
      return answer.get(LONGEST_SEC, TimeUnit.SECONDS);
    } catch (ExecutionException failure) {
      throw failure.getCause() instanceof RuntimeException cause
          ? cause
          : new CompletionException(failure.getCause());
    } catch (InterruptedException failure) {
      Thread.currentThread().interrupt();
      throw Refusal.of(Refusal.Kind.UNAVAILABLE, "", "interrupted", failure);
    } catch (TimeoutException failure) {
      throw Refusal.of(Refusal.Kind.FAILED, "", "not loaded within " + LONGEST_SEC + " s", failure);
    }
  }

  @Override
  public void close() {
    for (final Preparation preparation : begun.values()) {
      drop(preparation);
    }
    begun.clear();
    if (closed != null) {
      closeLater(closed);
    }
    end(hooks);
    end(loading);
  }

  private static void end(ExecutorService executor) {
    executor.shutdown();
    try {
      if (!executor.awaitTermination(LONGEST_SEC, TimeUnit.SECONDS)) {
        executor.shutdownNow();
      }
    } catch (InterruptedException interrupted) {
      executor.shutdownNow();
      Thread.currentThread().interrupt();
    }
  }

  private record Preparation(
      EndpointSpec endpoint,
      CompletableFuture<BpfObject> programs,
      CompletableFuture<Boolean> shut) {}

  /**
   * Programs that are verified.
   *
   * @param programs closed by who takes them
   * @param isShut whether the hooks were closed for this endpoint
   */
  record Prepared(BpfObject programs, boolean isShut) {}
}
