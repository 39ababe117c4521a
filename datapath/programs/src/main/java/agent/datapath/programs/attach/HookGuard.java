package agent.datapath.programs.attach;

import agent.bindings.BindingsException;
import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.HookProbe;
import agent.bindings.net.FilterPriorities;
import agent.conductor.ConductorAgent;
import agent.conductor.Repairs;
import agent.conductor.Repairs.Kind;
import agent.conductor.StepSequence;
import agent.datapath.guard.Check;
import agent.datapath.guard.KernelFaults;
import agent.datapath.spec.EndpointFaults.Part;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Compares every hook of the agent with the kernel and repairs it: a removed pin, a detached or
 * replaced program, and a foreign program that runs before the agent's. Since the link stays open,
 * the removal of its pin detaches nothing. A detached program is attached again by the step that
 * finds it. A program that must be loaded again is loaded on {@code dp-loader}: the kernel refuses
 * to attach one program twice to a hook, so that a second one is put first before the present one
 * is detached, and no packet is without either. One creation of a link waits for one RCU grace
 * period; where another tool detaches 1,000 endpoints at once, the last is attached again after
 * 1,000 grace periods. For the conductor's thread.
 */
public final class HookGuard implements Check {
  private static final Logger LOGGER = LogManager.getLogger(HookGuard.class);
  private static final int HOOKS_PER_STEP = 16;

  private final ConductorAgent conductor;
  private final KernelFaults faults;
  private final Repairs repairs;
  private final HookProbe probe = new HookProbe();
  private final FilterPriorities priorities = new FilterPriorities();
  private final List<Watch> watches = new ArrayList<>();
  private int next;

  private static final class Watch {
    final int endpointId;
    final String subject;
    final WatchedHook hook;
    final Supplier<CompletableFuture<BpfObject>> loader;
    final String program;
    WatchedHook.State last = WatchedHook.State.RIGHT;
    String failure;
    ProgramMoves moves = new ProgramMoves();
    boolean isLoading;
    boolean isClosed;

    Watch(
        int endpointId,
        String subject,
        WatchedHook hook,
        Supplier<CompletableFuture<BpfObject>> loader,
        String program) {
      this.endpointId = endpointId;
      this.subject = subject;
      this.hook = hook;
      this.loader = loader;
      this.program = program;
    }
  }

  /** Creates a guard that watches no hook. */
  public HookGuard(ConductorAgent conductor, KernelFaults faults, Repairs repairs) {
    this.conductor = conductor;
    this.faults = faults;
    this.repairs = repairs;
  }

  /**
   * Watches an attachment, in place of the one with the same subject.
   *
   * @param endpointId the endpoint, or 0 for a device of the node
   * @param subject name for messages, such as {@code endpoint 12 to_endpoint}
   * @param attachment to which the agent has attached its program
   * @param loader loads an object with the program again
   * @param program name of the program in that object
   */
  public void watch(
      int endpointId,
      String subject,
      Attachment attachment,
      Supplier<CompletableFuture<BpfObject>> loader,
      String program) {
    final Watch before = find(subject);
    final Watch watch;
    try {
      watch = new Watch(endpointId, subject, attachment.watch(), loader, program);
    } catch (RuntimeException failure) {
      LOGGER.warn("{}: watching the hook failed: {}", subject, failure.getMessage());
      faults.failed(endpointId, Part.PROGRAMS, subject, failure.getMessage());
      return;
    }
    if (before == null) {
      watches.add(watch);
    } else {
      watch.moves = before.moves;
      before.isClosed = true;
      before.hook.close();
      watches.set(watches.indexOf(before), watch);
      faults.clear(subject);
    }
  }

  private Watch find(String subject) {
    for (final Watch watch : watches) {
      if (watch.subject.equals(subject)) {
        return watch;
      }
    }
    return null;
  }

  /** Ends the watch of a hook before the agent detaches its program; clears its fault. */
  void forget(String subject) {
    final Watch watch = find(subject);
    faults.clear(subject);
    if (watch != null) {
      final int index = watches.indexOf(watch);
      watches.remove(index);
      next -= index < next ? 1 : 0;
      watch.isClosed = true;
      watch.hook.close();
    }
  }

  @Override
  public Progress step(long nowNs) {
    for (int i = 0; i < HOOKS_PER_STEP && next < watches.size(); i++) {
      final Watch watch = watches.get(next++);
      final WatchedHook.State state = watch.hook.check(probe, priorities);
      if (state != WatchedHook.State.RIGHT) {
        if (!watch.isLoading && repair(watch, state, nowNs)) {
          return Progress.REPAIRED;
        }
        continue;
      }
      if (watch.endpointId == 0) {
        watch.hook.confirm(); // an endpoint with another address is attached and watched again
      }
      if (watch.last != WatchedHook.State.RIGHT) {
        watch.last = state;
        watch.failure = null;
        faults.clear(watch.subject);
      }
    }
    if (next < watches.size()) {
      return Progress.COMPARED;
    }
    next = 0;
    return Progress.DONE;
  }

  /** Repairs a hook or starts to; returns whether the kernel was changed. */
  private boolean repair(Watch watch, WatchedHook.State state, long nowNs) {
    if (watch.last != state) {
      watch.last = state;
      watch.failure = null;
    }
    if (watch.failure == null) {
      faults.degraded(watch.endpointId, Part.PROGRAMS, watch.subject, found(watch, state));
    }
    final String gone = watch.hook.interfaceGone();
    final String refusal = gone == null ? watch.hook.refusal(state) : gone;
    if (refusal != null) {
      failed(watch, state, refusal);
      return false;
    }
    if (state == WatchedHook.State.BEHIND
        && watch.moves.isExhausted(watch.failure != null, nowNs)) {
      failed(
          watch, state, "moved %d times within a minute, giving up".formatted(ProgramMoves.MOST));
      return false;
    }
    if (state == WatchedHook.State.BEHIND || state == WatchedHook.State.REPLACED) {
      load(watch, state);
      return false;
    }
    try {
      watch.hook.repair(state);
    } catch (AttachException | BindingsException failure) {
      failed(watch, state, failure.getMessage());
      return false;
    }
    repaired(watch, state, Kind.LINK);
    return true;
  }

  private void load(Watch watch, WatchedHook.State state) {
    final CompletableFuture<BpfObject> loading = watch.loader.get();
    watch.isLoading = true;
    conductor.beginHere(
        new StepSequence(conductor::wake)
            .thenAwait(() -> loading)
            .then(() -> onLoaded(watch, state, loading.join()))
            .onFailure(
                failure -> {
                  watch.isLoading = false;
                  loading.thenAccept(BpfObject::close);
                  if (!watch.isClosed) {
                    failed(watch, state, failure.getMessage());
                  }
                }));
  }

  private void onLoaded(Watch watch, WatchedHook.State state, BpfObject loaded) {
    watch.isLoading = false;
    try (BpfObject object = loaded) {
      if (watch.isClosed || watch.hook.check(probe, priorities) != state) {
        return;
      }
      watch.hook.repair(state, ClosedPrograms.in(object, watch.program));
    }
    if (state == WatchedHook.State.BEHIND) {
      watch.moves.count();
      repaired(watch, state, Kind.PROGRAM_ORDER);
    } else {
      repaired(watch, state, Kind.LINK);
    }
  }

  private void repaired(Watch watch, WatchedHook.State state, Kind kind) {
    watch.failure = null;
    repairs.count(kind, 1);
    LOGGER.warn(
        "{}: {}; {}",
        watch.subject,
        found(watch, state),
        switch (state) {
          case UNPINNED -> "pinned again";
          case BEHIND -> "moved before it again";
          default -> "attached again";
        });
  }

  private void failed(Watch watch, WatchedHook.State state, String reason) {
    if (!reason.equals(watch.failure)) {
      watch.failure = reason;
      LOGGER.error("{}: {}; repair failed: {}", watch.subject, found(watch, state), reason);
    }
    faults.failed(
        watch.endpointId,
        Part.PROGRAMS,
        watch.subject,
        found(watch, state) + "; repair failed: " + reason);
  }

  /** Returns what was found; names what is foreign. */
  private static String found(Watch watch, WatchedHook.State state) {
    final String place = state.found() + " (" + watch.hook + ")";
    if (state != WatchedHook.State.BEHIND && state != WatchedHook.State.REPLACED) {
      return place;
    }
    return place + ": " + watch.hook.foreign();
  }

  /** Closes the descriptors; hooks and pins stay as they are. */
  @Override
  public void close() {
    for (final Watch watch : watches) {
      watch.isClosed = true;
      watch.hook.close();
    }
    watches.clear();
    priorities.close();
  }

  @Override
  public String toString() {
    return "links";
  }
}
