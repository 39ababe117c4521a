package agent.endpoint;

import agent.conductor.ConductorAgent;
import agent.conductor.Work;
import agent.endpoint.build.Answers;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointOptions;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointRegistry;
import agent.endpoint.state.EndpointState;
import agent.types.Refusal;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntFunction;

/**
 * Sets options on all endpoints, a few at a time, so that other requests pass. An endpoint that was
 * not-ready before is built later; each other one has the options when the future completes. Runs
 * on the conductor's thread.
 *
 * @param conductor executes the steps
 * @param registry the live endpoints
 * @param endpoints changes one of them
 */
record OptionOverride(
    ConductorAgent conductor, EndpointRegistry registry, EndpointRequestProxy endpoints) {
  private static final int ENDPOINTS_PER_STEP = 8;

  /** Fewer than the operations that run at a time, so that another request finds a free one. */
  private static final int MAX_ACTIVE = 4;

  /**
   * Begins to set options; nothing is set yet.
   *
   * @param defaults the options of new endpoints before
   * @param options option name to value
   */
  Run begin(EndpointOptions defaults, Map<String, String> options) {
    return new Run(defaults.toMap(), options);
  }

  /** Returns the ids, ascending, of the endpoints that exist or are being stored. */
  private int[] ids() {
    return registry.records().stream().mapToInt(EndpointRecord::id).sorted().toArray();
  }

  /** One change of the options of all endpoints, and its undoing. */
  final class Run {
    private final Map<String, String> defaults;
    private final Map<String, String> options;
    private final int[] present = ids();
    private final Map<Integer, Map<String, String>> former = new HashMap<>();

    private Run(Map<String, String> defaults, Map<String, String> options) {
      this.defaults = defaults;
      this.options = options;
    }

    private Map<String, String> ofOptions(Map<String, String> all) {
      final Map<String, String> values = new LinkedHashMap<>(all);
      values.keySet().retainAll(options.keySet());
      return values;
    }

    /**
     * Sets the options. After the first failure of an endpoint no further ones are changed; it
     * fails when those that were begun have ended.
     */
    CompletableFuture<Void> set() {
      return options.isEmpty()
          ? CompletableFuture.completedFuture(null)
          : begun(new Pass(present, id -> options, true));
    }

    /** Sets the former options; endpoints that came meanwhile get the former defaults. */
    CompletableFuture<Void> undo() {
      return options.isEmpty()
          ? CompletableFuture.completedFuture(null)
          : begun(new Pass(ids(), this::former, false));
    }

    /** Returns the options before the change; null for an endpoint that was not reached. */
    private Map<String, String> former(int id) {
      final boolean isNew = Arrays.binarySearch(present, id) < 0;
      return isNew ? ofOptions(defaults) : former.get(id);
    }

    private CompletableFuture<Void> begun(Pass pass) {
      conductor.beginHere(pass);
      return pass.done;
    }

    /** Changes one endpoint after the other, several at a time. */
    private final class Pass implements Work {
      private final int[] ids;
      private final IntFunction<Map<String, String>> wanted;
      private final boolean isSetting;
      private final CompletableFuture<Void> done = new CompletableFuture<>();
      private int next;
      private int active;
      private RuntimeException failure;

      Pass(int[] ids, IntFunction<Map<String, String>> wanted, boolean isSetting) {
        this.ids = ids;
        this.wanted = wanted;
        this.isSetting = isSetting;
      }

      @Override
      public Progress step() {
        final int first = next;
        while (mayGoOn() && next - first < ENDPOINTS_PER_STEP) {
          visit(ids[next++]);
        }
        if (next > first) {
          return Progress.WORKED;
        }
        if (active > 0 || mayFollow()) {
          return Progress.WAITING;
        }
        if (failure == null) {
          done.complete(null);
        } else {
          done.completeExceptionally(failure);
        }
        return Progress.DONE;
      }

      private boolean mayFollow() {
        return next < ids.length && (failure == null || !isSetting);
      }

      private boolean mayGoOn() {
        return mayFollow() && active < MAX_ACTIVE && !isBeingStored(ids[next]);
      }

      /** Such an endpoint has the defaults before the change, and can be changed when it exists. */
      private boolean isBeingStored(int id) {
        return registry.find(id) == null && registry.isTaken(id);
      }

      private void visit(int id) {
        final Endpoint endpoint = registry.find(id);
        if (endpoint == null || !endpoint.isLive() || endpoint.is(EndpointState.INVALID)) {
          return;
        }
        final Map<String, String> now = ofOptions(endpoint.options().toMap());
        final Map<String, String> values = wanted.apply(id);
        if (isSetting) {
          former.put(id, now);
        }
        if (values != null && !values.equals(now)) {
          active++;
          endpoints
              .override(id, values, !endpoint.is(EndpointState.NOT_READY))
              .whenComplete((changed, cause) -> ended(id, cause));
        }
      }

      private void ended(int id, Throwable cause) {
        active--;
        if (cause != null && failure == null) {
          failure = named(id, Answers.unwrapped(cause));
        }
      }

      @Override
      public void failed(RuntimeException cause) {
        done.completeExceptionally(cause);
      }
    }

    /** Returns null for the failure of an endpoint that is gone, or goes: it needs no options. */
    private static RuntimeException named(int id, RuntimeException cause) {
      if (cause instanceof Refusal refusal
          && (refusal.kind() == Refusal.Kind.NOT_FOUND
              || refusal.kind() == Refusal.Kind.CONFLICT)) {
        return null;
      }
      final String subject = "endpoint " + id;
      return String.valueOf(cause.getMessage()).startsWith(subject + ":")
          ? cause
          : Answers.named(subject, cause);
    }
  }
}
